"""Rules about data on the way: the input before the program begins, and the output after it has ended."""

from __future__ import annotations

from monitor.diagnose.rulebook import Case, rule
from monitor.diagnose.words.report import lost_words
from monitor.model import Evidence, Finding, Phase, Recommendation, Saving
from monitor.words import count, duration, percent

LEAST_S = 600.0
#: Of the billed time, and of what is still to come of it.
LEAST_SHARE = 0.15


# A download that was refused is no slow one.
@rule("long-download", needs="nothing", silenced_by=("access-denied",), about="waste")
def long_download(case: Case) -> Finding | None:
    """Copying the input took long.

    What it means: the status Downloading lasted ten minutes or more, and 15 % or more of the billed time (of a running job:
    of the time that it is expected to be billed). In File mode all of a channel is copied to every instance before the
    program starts.

    Why it matters: all instances are held during that time, at every start of the job, and no GPU has work.

    What to do: FastFile mode streams files while the program reads them; FSx for Lustre is mounted, not copied; ShardedByS3Key
    copies to each instance its part alone; few large files come faster than many small ones.

    Source: SageMaker developer guide, access to training data; the thresholds are this project's.
    """
    parts = [phase for phase in case.phases if phase.name == "downloading"]
    if (took := _taken(case, parts)) is None:
        return None
    seconds, share, parts = took
    running = case.run.job.is_running and case.run.job.secondary_status == "Downloading"
    modes = sorted({channel.mode for channel in case.run.job.channels if channel.mode})
    copied = [channel.name for channel in case.run.job.channels if channel.mode == "File"]
    savings = _savings(parts, seconds)
    cost = f", {money}" if (money := lost_words(case.bill, savings)) else ""
    how = f" Input mode: {', '.join(modes)}." if modes else ""
    if copied:
        how = f" {_named(copied)} copied in File mode: all of it, before the program starts."
    advice = (
        "Read the input in FastFile mode (input_mode='FastFile'), which streams files as they are read, or from FSx for "
        "Lustre, which is mounted; where each instance reads its own part, copy only that (ShardedByS3Key)."
    )
    if modes and not copied:
        advice = "Put many small files together into few large ones; or read from FSx for Lustre, which is mounted."
    title = f"{'Downloading for' if running else 'Download took'} {duration(seconds)}"
    return Finding(
        "long-download",
        "warning",
        "high",
        title,
        f"{_spent(seconds, share, cost)} went into copying the input before the program could start.{how}",
        (Evidence("status Downloading", seconds, "s", None, parts[0].start, parts[-1].end),),
        Recommendation(
            f"{advice} For runs that follow one another, a warm pool with a persistent cache keeps what was downloaded.",
            source="SageMaker developer guide, access to training data",
        ),
        not_checked=("how fast the program reads its input when it is streamed",),
        savings=savings,
    )


@rule("long-upload", needs="nothing", silenced_by=("access-denied",), about="waste")
def long_upload(case: Case) -> Finding | None:
    """Uploading the output took long.

    What it means: the status Uploading lasted ten minutes or more, and 15 % or more of the billed time. SageMaker packs what
    stands in /opt/ml/model into model.tar.gz, on one core, and uploads it with what stands in /opt/ml/output.

    Why it matters: all instances are held until the upload has ended, and no GPU has work.

    What to do: leave only what is needed in /opt/ml/model, once, from one node; write checkpoints to the folder of
    CheckpointConfig, which is copied while the job trains; switch off the compression of the output.

    Source: SageMaker developer guide, training output and OutputDataConfig.CompressionType; the thresholds are this
    project's.
    """
    parts = [phase for phase in case.phases if phase.name == "uploading"]
    if (took := _taken(case, parts)) is None:
        return None
    seconds, share, parts = took
    running = case.run.job.is_running
    savings = _savings(parts, seconds)
    cost = f", {money}" if (money := lost_words(case.bill, savings)) else ""
    title = f"{'Uploading for' if running else 'Upload took'} {duration(seconds)}"
    return Finding(
        "long-upload",
        "warning",
        "high",
        title,
        f"{_spent(seconds, share, cost)} went into the upload: SageMaker packs and copies what the program left in /opt/ml/model "
        "and /opt/ml/output.",
        (Evidence("status Uploading", seconds, "s", None, parts[0].start, parts[-1].end),),
        Recommendation(
            "Leave only the final weights in /opt/ml/model, once, from one node, and save checkpoints to the folder of "
            "CheckpointConfig, which is copied during training. Switch compression off (CompressionType=NONE in "
            "OutputDataConfig; disable_output_compression=True in the Python SDK): weights hardly shrink, and one core packs.",
            source="SageMaker developer guide, OutputDataConfig",
        ),
        not_checked=("how much was uploaded: DescribeTrainingJob does not say",),
        savings=savings,
    )


def _taken(case: Case, parts: list[Phase]) -> tuple[float, float | None, list[Phase]] | None:
    """(seconds, their share of the billed time where any is billed, the phases); None where that is usual."""
    seconds = sum(part.seconds for part in parts)
    if seconds < LEAST_S:
        return None
    billed = sum(case.bill.seconds.values())
    if case.run.job.is_running and case.steps is not None:
        billed += case.steps.seconds_to_finish[1] if case.steps.seconds_to_finish else 0.0
    share = seconds / billed if billed > 0 else None
    if share is not None and share < LEAST_SHARE:
        return None
    return seconds, share, parts


def _savings(parts: list[Phase], seconds: float) -> tuple[Saving, ...]:
    """None where nothing of it is billed."""
    return (Saving((parts[0].name,), most_s=seconds),) if any(part.billed for part in parts) else ()


def _spent(seconds: float, share: float | None, cost: str) -> str:
    """``40 % of the billed time, $12.40,``. Of time that is not billed itself the share may pass 100 %."""
    said = duration(seconds) if share is None or share > 1 else f"{percent(100 * share)} of the billed time"
    return f"{said}{cost}," if cost else said


def _named(channels: list[str]) -> str:
    if len(channels) > 3:
        return f"{count(len(channels), 'channel')} were"
    return f"{', '.join(channels)} {'was' if len(channels) == 1 else 'were'}"
