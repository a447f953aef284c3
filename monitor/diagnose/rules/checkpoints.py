"""Rules about checkpoints: what they cost, and what is at risk without them."""

from __future__ import annotations

from datetime import datetime, timedelta
from math import sqrt

from monitor.analyze.checkpoints import Cadence, Save, cadence, checkpoint_pauses, saves
from monitor.analyze.utilization import training_spans
from monitor.diagnose.hints import when_saving
from monitor.diagnose.rulebook import Case, rule
from monitor.diagnose.words.report import saved_words
from monitor.model import Evidence, Finding, Recommendation, Saving
from monitor.words import count, duration, percent, step_seconds, usd

WORTH_A_CHANGE = 0.05
FEWEST_STALLS = 2
# Below a minute of work nothing is worth a change.
LEAST_S = 60.0
# This many of the job's own intervals without a checkpoint; and longer than the longest one that it had before.
OVERDUE_INTERVALS = 2.0
OVER_LONGEST = 1.5
SPOT_S = 3600.0
FULL_DISK_PCT = 95.0
# Points of disk space that the training added: there may be checkpoints that no line tells of.
_DISK_GREW = 1.0
_A_DAY_S = 86_400.0


@rule(
    "checkpoint-stall",
    needs="steps",
    silenced_by=("stall",),
    explains=("slow-steps", "fluctuating-gpu-utilization"),
    whole_log=True,
)
def checkpoint_stall(case: Case) -> Finding | None:
    """Training waits for its checkpoints.

    What it means: between the first and the last step, 5 % or more of the time went into checkpoints during which no
    step was done; a checkpoint that is written while steps continue does not count. If no log line mentions
    checkpoints, regular pauses with idle GPUs that leave more disk space in use are assumed to be checkpoints, with
    less confidence.

    Why it matters: all nodes wait while a checkpoint is written.

    What to do: save asynchronously, or sharded (each rank saves its part), to a local disk or FSx; and not more often
    than the job's failures require: every sqrt(2 x the seconds one takes x the mean time between failures).

    Source: the interval is that of Young and Daly; the threshold is this project's.
    """
    spans = [(span.start, span.end) for span in case.activities if span.kind == "checkpoint"]
    unlogged = None
    if not spans and (unlogged := checkpoint_pauses(case.journal, case.run.metrics)) is not None:
        spans = list(unlogged.spans)
    if len(spans) < FEWEST_STALLS:
        return None
    times = case.journal["at"]
    total_s = (times.iloc[-1] - times.iloc[0]).total_seconds()
    seconds = sorted((end - start).total_seconds() for start, end in spans)
    share = sum(seconds) / total_s if total_s > 0 else 0.0
    if share < WORTH_A_CHANGE or total_s < LEAST_S:
        return None
    one_s = seconds[len(seconds) // 2]
    every_s = (spans[-1][0] - spans[0][0]).total_seconds() / (len(spans) - 1)
    savings = (Saving(("checkpoint",) if unlogged is None else ("slow-excess",), most_s=sum(seconds)),)
    cost = f", {money}" if (money := saved_words(case.bill, savings)) else ""
    guess = (
        ""
        if unlogged is None
        else f" The log does not mention them: they are regular pauses with idle GPUs, and each leaves the disk "
        f"{unlogged.disk_points:.1f} points fuller."
    )
    advice, failures = _interval(case, one_s, every_s, total_s)
    advice += when_saving(case)
    return Finding(
        "checkpoint-stall",
        "warning",
        "high" if unlogged is None else "medium",
        f"Checkpoints take {percent(100 * share)} of the time",
        f"{'Likely checkpoints' if unlogged else 'Checkpoints'} take {percent(100 * share)} of the time since the "
        f"first step{cost}: {count(len(spans), 'checkpoint')} of {_short(one_s)} each, every {duration(every_s)}, "
        f"with no step done meanwhile.{guess}",
        (
            Evidence("time in checkpoints", sum(seconds), "s", None, spans[0][0], spans[-1][1]),
            Evidence("one checkpoint, median", one_s, "s"),
            Evidence("interval, mean", every_s, "s"),
            *failures,
            Evidence("longest checkpoint", seconds[-1], "s", None, *max(spans, key=lambda span: span[1] - span[0])),
        ),
        Recommendation(advice, source="Young and Daly's interval"),
        not_checked=("where the time goes: gathering, serializing or writing",),
        savings=savings,
    )


def _short(seconds: float) -> str:
    """Seconds as they are below three minutes: a checkpoint of 90 s is not one of a minute."""
    return step_seconds(seconds) if seconds < 180 else duration(seconds)


def _interval(case: Case, one_s: float, every_s: float, total_s: float) -> tuple[str, tuple[Evidence, ...]]:
    """The advice with the best interval put in, and the rate of failures as evidence where it is known."""
    way = "Save asynchronously, or sharded (each rank saves its part), to a local disk or FSx"
    failures = len(case.lost.losses) if case.lost else 0
    failures = max(failures, sum(1 for t in case.run.job.transitions if t.status in {"Interrupted", "Restarting"}))
    if failures:
        between_s = total_s / failures
        best_s = sqrt(2 * one_s * between_s)
        rarer = "" if best_s <= every_s else f" and every {duration(best_s)} instead of {duration(every_s)}"
        why = f"sqrt(2 x {_short(one_s)} x {duration(between_s)} between failures) = {duration(best_s)}"
        return f"{way}{rarer} ({why}).", (Evidence("mean time between failures", between_s, "s"),)
    a_day_s = sqrt(2 * one_s * _A_DAY_S)
    why = f"every sqrt(2 x {_short(one_s)} x mean time between failures)"
    if a_day_s > every_s:
        return f"{way}; or save less often: {why} is enough ({duration(a_day_s)} at one failure a day).", ()
    return f"{way}. {why[0].upper()}{why[1:]} would be enough; no failure was seen in this job.", ()


@rule("checkpoint-overdue", needs="steps", silenced_by=("stall",), about="risk", whole_log=True)
def checkpoint_overdue(case: Case) -> Finding | None:
    """No checkpoint for far longer than this job's own interval, or none at all on a spot job.

    What it means: at least three checkpoints were seen at a regular interval, and twice that interval (and one and a
    half times the longest so far) has passed since the newest one, in steps and in time; or a managed spot job has
    trained for an hour, no log line mentions a checkpoint, and disk usage has not grown. Finished jobs are judged as
    of their end.

    Why it matters: what was done since the last checkpoint is lost at the next interruption or failure.

    What to do: find out why the last save did not finish (disk space, the upload, the writing process); on spot, save
    to the folder that checkpoint_s3_uri names, and load from there at the start.

    Source: twice the job's own interval is this project's; a spot job without checkpoints starts over (SageMaker
    developer guide).
    """
    run = case.run
    end = _end(case)
    if end is None or run.steps.empty or not run.logs.lines:
        return None
    known = saves(case.journal, run.events)
    if known:
        usual = cadence(known)
        if usual is None or not _overdue(case, known, usual, end):
            return None
        return _late(case, known, usual, end)
    return _never(case, end)


def _end(case: Case) -> datetime | None:
    """Up to when work was done: now, or the last step of a job that is over."""
    if case.run.job.is_running:
        spans = training_spans(case.run.job, case.now)
        return case.now if spans and case.run.job.secondary_status in {None, "Training"} else None
    last = case.run.steps["timestamp"].max() if len(case.run.steps) else None
    return None if last is None or last != last or case.run.job.source == "logs" else last.to_pydatetime()


def _overdue(case: Case, known: tuple[Save, ...], usual: Cadence, end: datetime) -> bool:
    since_s = (end - known[-1].at).total_seconds()
    if since_s <= max(OVERDUE_INTERVALS * usual.seconds, OVER_LONGEST * usual.longest_s):
        return False
    steps = _steps_since(case, known[-1])
    if usual.steps is None or usual.longest_steps is None or steps is None:
        return True
    return steps > max(OVERDUE_INTERVALS * usual.steps, OVER_LONGEST * usual.longest_steps)


def _steps_since(case: Case, save: Save) -> int | None:
    return None if save.step is None or case.journal.empty else int(case.journal["step"].iloc[-1]) - save.step


def _late(case: Case, known: tuple[Save, ...], usual: Cadence, end: datetime) -> Finding:
    last = known[-1]
    since_s = (end - last.at).total_seconds()
    steps = _steps_since(case, last)
    after = "" if last.step is None else f" after step {last.step:,}"
    moved = "" if steps is None else f" and {count(steps, 'step')}"
    running = case.run.job.is_running
    risk, lost = _at_risk(case, since_s)
    disk = case.run.metrics[case.run.metrics["metric"] == "disk_utilization"]
    disk = disk[disk["timestamp"].between(last.at, end)]
    full = [str(node) for node in disk.loc[disk["value_pct"] >= FULL_DISK_PCT, "node"].unique()]
    cause = f" The disk of {full[0]} is {percent(disk['value_pct'].max())} full." if full else ""
    every = duration(usual.seconds) if usual.steps is None else f"{usual.steps:,.0f} steps ({duration(usual.seconds)})"
    return Finding(
        "checkpoint-overdue",
        "warning",
        "high" if usual.steps is not None else "medium",
        f"No checkpoint for {duration(since_s)}, usually every {duration(usual.seconds)}",
        f"The last of {count(len(known), 'checkpoint')} was at {case.clock(last.at)}{after}; "
        f"{duration(since_s)}{moved} {'have' if running else 'had'} passed "
        f"since{'' if running else ' when the job ended'}, and the job usually saves every {every}.{risk}{cause}",
        (
            Evidence("since the last checkpoint", since_s, "s", None, last.at, end),
            Evidence("interval before, median", usual.seconds, "s", None, known[0].at, last.at),
            *(
                ()
                if steps is None
                else (Evidence("steps since the last checkpoint", float(steps), "steps", view="steps"),)
            ),
            *lost,
            *(
                Evidence("disk space in use", float(disk["value_pct"].max()), "%", node, view="disk_utilization")
                for node in full[:1]
            ),
        ),
        Recommendation(
            "Free disk space, then save."
            if full
            else "Read what the saving process has logged since "
            f"{case.clock(last.at)}: a failed save, a hung upload, or a changed interval.",
            source="rule checkpoint-overdue",
        ),
        not_checked=("checkpoints the log does not mention",),
    )


def _never(case: Case, end: datetime) -> Finding | None:
    job = case.run.job
    first = case.run.steps["timestamp"].min()
    if not job.spot or first != first or job.status == "Completed":
        return None
    trained_s = (end - first.to_pydatetime()).total_seconds()
    if trained_s < SPOT_S or _disk_grew(case, first.to_pydatetime(), end):
        return None
    risk, lost = _at_risk(case, trained_s)
    return Finding(
        "checkpoint-overdue",
        "warning",
        "medium",
        f"Spot job without a checkpoint for {duration(trained_s)}",
        f"This job runs on spot instances, has trained for {duration(trained_s)}, and its log shows no "
        f"checkpoint: an interruption would lose all of it.{risk}",
        (Evidence("training time without a checkpoint", trained_s, "s", None, first.to_pydatetime(), end), *lost),
        Recommendation(
            "Save to the folder that checkpoint_s3_uri copies (/opt/ml/checkpoints), and load from there at the start.",
            source="SageMaker developer guide, managed spot training",
        ),
        not_checked=("checkpoints the log does not mention",),
    )


def _at_risk(case: Case, seconds: float) -> tuple[str, list[Evidence]]:
    price = case.usd_per_hour
    if price is None:
        return "", []
    lost = price * seconds / 3600
    verb = "is" if case.run.job.is_running else "was"
    words = f" {usd(lost)} of work {verb} not yet in a checkpoint."
    return words, [Evidence("work since then", lost, "USD")]


def _disk_grew(case: Case, start: datetime, end: datetime) -> bool:
    """Whether a node's disk holds more than at the first steps: then something was saved."""
    disk = case.run.metrics[case.run.metrics["metric"] == "disk_utilization"]
    disk = disk[disk["timestamp"].between(start + timedelta(minutes=2), end)]
    by_node = disk.groupby("node", observed=True)["value_pct"]
    return bool(((by_node.max() - by_node.first()) >= _DISK_GREW).any())
