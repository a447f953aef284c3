"""Rules about jobs that do not move, or moved for nothing."""

from __future__ import annotations

from datetime import datetime, timedelta

from monitor.analyze.cascade import ERRORS
from monitor.analyze.phases import Beginning, beginning, working_since
from monitor.analyze.phases import gpus_at_work as at_work
from monitor.analyze.silence import Silence, gpu_pattern, is_standstill, silence, still_logs
from monitor.analyze.utilization import training_spans
from monitor.diagnose.endings.description import error, first_to_stop, gpu_evidence, pattern_words
from monitor.diagnose.endings.description import last_checkpoint_words as last_checkpoint
from monitor.diagnose.hints import when_building, when_ranks_wait
from monitor.diagnose.rulebook import Case, rule
from monitor.diagnose.words.report import lost_words
from monitor.model import Evidence, Finding, Recommendation, Saving
from monitor.words import count, duration, percent, step_seconds

# A silence at the end belongs to the failure that began it.
ENDED_BY_ERROR = (
    "cuda-out-of-memory",
    "host-out-of-memory",
    "nccl-timeout",
    "access-denied",
    "data-error",
    "script-error",
)
LATE_FIRST_STEP_S = 20 * 60.0
LOST_WORTH_A_CHANGE = 0.05
_MEANWHILE = {
    "checkpoint": "the start of a checkpoint",
    "evaluation": "the start of an evaluation",
    "restart": "a restart",
}


@rule("stall", needs="steps", silenced_by=ENDED_BY_ERROR, about="now", whole_log=True)
def stall(case: Case) -> Finding | None:
    """No step for far longer than is normal for this job.

    What it means: no process has done a step for longer than five of the job's usual gaps between reports, and for
    longer than five minutes. A pause that the log announces (checkpoint, evaluation, restart) may last one and a half
    times the longest earlier one of its kind; the first checkpoint may take 15 minutes, the first evaluation and the
    first step after a restart two hours. It is not a stall if the GPUs keep working, or if log lines keep arriving
    and GPU utilization is not flat.

    Why it matters: every instance keeps billing with no progress. A collective operation that never completes keeps
    GPUs at 100 % while they wait, so utilization looks perfect; NCCL gives up only after 10 to 30 minutes, if at all.

    What to do: stop the job and restart it from its last checkpoint; find the missing rank with
    TORCH_NCCL_TRACE_BUFFER_SIZE, or look for ranks with fewer batches than the others.

    Source: the limits relative to the job's own gaps are this project's, those for first pauses are from DLRover's
    hang detector; NCCL's default timeout is in the PyTorch documentation.
    """
    found = _silence(case)
    if found is None:
        return None
    held = gpu_pattern(case.run.metrics, found.since, found.until)
    last_line = case.run.logs.last_line_at or found.since
    if not is_standstill(found, held, last_line):
        return None
    still = still_logs(found, last_line)
    sure = held is not None and held.pattern in {"waiting", "split", "idle"} and held.changed is not False and not still
    pattern, why = pattern_words(case, held)
    after = f" The silence follows {_MEANWHILE[found.meanwhile]}." if found.meanwhile else ""
    lines = (
        f"; no process has logged anything since {case.clock(last_line)}" if not still else "; log lines still arrive"
    )
    running = case.run.job.is_running
    savings = (Saving(("stall", "unknown"), most_s=found.seconds, goes_on=1.0),)
    lost, spent = case.bill.saved_usd(savings), ""
    if money := lost_words(case.bill, savings):
        spent = f" The stall has cost {money} so far." if running else f" The stall cost {money}."
    step = "" if found.step is None else f" {found.step:,}"
    usual = "" if found.usual_s is None else f", usual gap {step_seconds(found.usual_s)}"
    longest = "" if found.longest_s is None else f", longest earlier pause {duration(found.longest_s)}"
    advice, saved = last_checkpoint(case, found)
    failed = error(case, found)
    return Finding(
        "stall",
        "critical",
        "high" if sure else "medium",
        f"No step for {duration(found.seconds)}{pattern if len(pattern) < 45 else ''}",
        f"No step for {duration(found.seconds)}{pattern}.{why} Last step{step} at {case.clock(found.since)}{usual}{longest}"
        f"{lines}.{after}{failed}{spent}",
        (
            Evidence("silence since the last step", found.seconds, "s", None, found.since, found.until, view="steps"),
            *(
                ()
                if found.usual_s is None
                else (Evidence("usual gap between step reports", found.usual_s, "s", view="steps"),)
            ),
            Evidence("longest silence that is normal for this job", found.allowed_s, "s", view="steps"),
            *gpu_evidence(held, found),
            *first_to_stop(case),
            *saved,
            *(() if lost is None else (Evidence("spent since the last step", lost, "USD", view="steps"),)),
        ),
        Recommendation(f"{advice}{when_ranks_wait(case)}", source="rule stall"),
        not_checked=(
            "which rank is missing (TORCH_NCCL_TRACE_BUFFER_SIZE records it)",
            *(("what the GPUs did during that time",) if held is None else ()),
        ),
        savings=savings,
    )


def _silence(case: Case) -> Silence | None:
    """The silence up to now, or up to the end of a job that ended badly; None where none can be a stall."""
    run = case.run
    job = run.job
    if run.logs.last_line_at is None:
        return None
    spans = training_spans(job, case.now)
    if not spans or not (job.is_running or job.status in {"Failed", "Stopped"}):
        return None
    if job.is_running and job.secondary_status not in {None, "Training"}:
        return None
    if _done(case):
        return None
    until = spans[-1][1]
    if not job.is_running:
        # What the error brought down with it is the error's.
        errors = run.events.loc[run.events["kind"].isin([*ERRORS, "traceback"]), "timestamp"]
        last = run.steps["timestamp"].max() if len(run.steps) else None
        after = errors[errors >= last - timedelta(minutes=1)] if last is not None else errors[:0]
        until = min([until, *(at.to_pydatetime() for at in after)])
    return silence(run.steps, case.journal, run.events, spans[-1][0], until)


def _done(case: Case) -> bool:
    """Whether the last step that is planned was done, or would be reported with the next ones: no further report comes."""
    if case.steps is None or case.steps.total is None or case.steps.done is None:
        return False
    a_report = case.journal["steps"].median() if len(case.journal) else 1.0
    return case.steps.total - case.steps.done < (1.0 if a_report != a_report else a_report)


_KEEP_COMPILED = (
    "Keep what is compiled for the next start: point TORCHINDUCTOR_CACHE_DIR (with TORCHINDUCTOR_FX_GRAPH_CACHE=1), "
    "NEURON_COMPILE_CACHE_URL or the XLA cache to S3 or FSx, or compile ahead; and avoid shapes that change, which "
    "compile anew."
)


@rule("long-initialization", needs="nothing", whole_log=True)
def long_initialization(case: Case) -> Finding | None:
    """The first step came late.

    What it means: more than 20 minutes passed between the start of the Training status and the end of the first step,
    and most of it was no ordinary step; or that much time has passed, there is no step yet, and the GPUs do next to
    nothing.

    Why it matters: all instances are billed during that time, at every start and restart of the job.

    What to do: shorten the part that takes longest, which the finding names: before the container's first log line, a
    smaller image or one in the same region; after it, data preparation, checkpoint loading and compilation, whose
    results can be kept. A warm pool keeps instances for the next start.

    Source: SageMaker Debugger's rule MaxInitializationTime, 20 minutes.
    """
    run = case.run
    found = beginning(run, case.journal, case.now)
    if found is None or found.seconds(case.now) <= LATE_FIRST_STEP_S:
        return None
    job = run.job
    end = found.first_step or case.now
    if found.first_step is None:
        waiting = job.is_running and job.secondary_status in {None, "Training"} and run.steps.empty and run.logs.lines
        if not waiting or at_work(run.metrics, end - timedelta(minutes=10), end) is not False:
            return None
    elif not found.sure and _worked_before(case, found.start, end):
        return None
    took_s = found.seconds(case.now)
    ordinary_s = min(took_s, found.usual_s or 0.0) if found.first_step else 0.0
    if ordinary_s > took_s / 2:
        return None
    image_s = (min(found.first_line, end) - found.start).total_seconds() if found.first_line else None
    savings = (Saving(("image", "initialization", "slow-excess"), most_s=took_s - ordinary_s),)
    cost = f", {money}" if (money := lost_words(case.bill, savings)) else ""
    parts, advice = _parts(case, found, end, image_s, took_s)
    title = (
        f"First step done after {duration(took_s)}"
        if found.first_step
        else f"No step yet, {duration(took_s)} after the start"
    )
    return Finding(
        "long-initialization",
        "warning",
        "high" if found.first_step else "medium",
        title,
        f"{title}: training began at {case.clock(found.start)}, the first step ended at {case.clock(end)}{cost}.{parts}"
        if found.first_step
        else f"{title}: training began at {case.clock(found.start)}, and the GPUs are nearly idle{cost}.{parts}",
        (
            Evidence(
                "from the start of training to the end of the first step",
                took_s,
                "s",
                None,
                found.start,
                end,
                view="steps",
            ),
            *(
                ()
                if image_s is None
                else (
                    Evidence(
                        "of which before the container's first log line",
                        image_s,
                        "s",
                        None,
                        found.start,
                        found.first_line,
                    ),
                )
            ),
        ),
        Recommendation(f"{advice}{when_building(case)}", source="SageMaker Debugger rule MaxInitializationTime"),
        not_checked=("what the processes did during that time: no trace is taken",),
        savings=savings,
    )


def _worked_before(case: Case, start: datetime, end: datetime) -> bool:
    """Whether the GPUs worked long before the first report: then steps were done before a line told of them."""
    since = working_since(case.run.metrics, end)
    return since is not None and (since - start).total_seconds() <= LATE_FIRST_STEP_S


def _parts(case: Case, found: Beginning, end: datetime, image_s: float | None, took_s: float) -> tuple[str, str]:
    """What the time was made of, as far as it is seen, and what to do about the largest part."""
    start, first_line = found.start, found.first_line
    own_s = took_s - (image_s or 0.0)
    if found.step_s > took_s / 2 and found.usual_s is not None:
        words = (
            f" The first step itself took {duration(found.step_s)} of that, and one usually takes "
            f"{step_seconds(found.usual_s)}: the model is traced or compiled in it."
        )
        return words, _KEEP_COMPILED
    if image_s is not None and image_s > own_s:
        words = (
            f" {duration(image_s)} of that passed before the container's first log line, while its image was pulled "
            "and started."
        )
        return words, "Make the image smaller, keep it in the job's region, or keep instances in a warm pool."
    head = (
        ""
        if image_s is None
        else f" The container's first log line came after {duration(image_s)}; the rest took {duration(own_s)}."
    )
    events = case.run.events
    inside = events[(events["kind"] == "resume") & (events["timestamp"] >= start) & (events["timestamp"] <= end)]
    rows = case.run.metrics[case.run.metrics["timestamp"].between(first_line or start, end)]
    cpu = rows.loc[rows["metric"] == "cpu_utilization", "value_pct"].mean()
    busy = "" if cpu != cpu else f" CPU during that time: {percent(cpu)}."
    if len(inside):
        return (
            f"{head}{busy} A checkpoint was loaded in that time.",
            "Load the checkpoint in parallel (sharded, each rank loads its part), from FSx or a local disk.",
        )
    return (
        f"{head}{busy} Likely causes: the script prepares or copies data, builds and traces the model, or compiles.",
        f"Read what was logged between {case.clock(first_line or start)} and {case.clock(end)}; prepare data before "
        "the job, read it from FSx or in FastFile mode, and cache the compiled model.",
    )


@rule("lost-work", needs="steps", silenced_by=("spot-interruption",), whole_log=True)
def lost_work(case: Case) -> Finding | None:
    """Steps were done, lost to a restart, and done again.

    What it means: the step counter fell back to an earlier checkpoint; the steps between it and the last one before
    the restart were done for nothing. A warning if they are 5 % or more of all steps done, otherwise information.

    Why it matters: every instance is billed for them twice; on average, a restart loses half the work between two
    checkpoints.

    What to do: save more often the more often a run is interrupted; keep checkpoints where a restarted job can find them.

    Source: the step counter and the restarts in the job's own log; the threshold is this project's.
    """
    lost, steps = case.lost, case.steps
    if lost is None or steps is None:
        return None
    restarts = len(lost.losses)
    share = lost.steps / ((steps.done or 0) + lost.steps)
    # As in the list of phases, where the money is from; without any, by the steps' own times.
    took_s = case.bill.seconds.get("lost-work") or lost.seconds
    took = "" if took_s is None else f", {duration(took_s)}"
    savings = (Saving(("lost-work",), kind="void"),)
    took += f", {money}" if (money := lost_words(case.bill, savings)) else ""
    worst = max(lost.losses, key=lambda loss: loss.steps)
    return Finding(
        "lost-work",
        "warning" if share >= LOST_WORTH_A_CHANGE else "info",
        "high",
        f"{count(lost.steps, 'step')} lost to {count(restarts, 'restart')}",
        f"{count(lost.steps, 'step')} were lost to {count(restarts, 'restart')} and done again{took}: "
        f"{percent(100 * share)} of the steps done. The largest loss went from step {worst.reached:,} back to step "
        f"{worst.kept:,}.",
        (
            Evidence("steps done again", float(lost.steps), "steps", view="steps"),
            *(() if lost.seconds is None else (Evidence("time they took", lost.seconds, "s"),)),
            *(
                Evidence(
                    f"back to step {loss.kept:,}",
                    float(loss.steps),
                    "steps",
                    loss.node or None,
                    loss.start,
                    loss.end,
                    view="steps",
                )
                for loss in lost.losses
            ),
        ),
        Recommendation(
            "Save checkpoints more often: on average, a restart loses half the work between two checkpoints.",
            source="rule lost-work",
        ),
        not_checked=("the time between the failure and the first step after it",),
        savings=savings,
    )
