"""How is an end described that came from outside the program: no capacity, a reclaimed spot instance, a time limit, a
stop?"""

from __future__ import annotations

from datetime import datetime, timedelta

import pandas as pd

from monitor.analyze.ending import Ending
from monitor.analyze.failure_causes import has_status
from monitor.diagnose.endings import description as ended
from monitor.diagnose.rulebook import Case
from monitor.diagnose.words.report import lost_words, quoted
from monitor.model import Evidence, Finding, Recommendation, Saving, Transition
from monitor.words import count, duration, percent

_TIME_WORDS = {
    "MaxRuntimeExceeded": ("its time limit (MaxRuntimeInSeconds)", "MaxRuntimeInSeconds"),
    "MaxWaitTimeExceeded": ("its limit on waiting plus training (MaxWaitTimeInSeconds)", "MaxWaitTimeInSeconds"),
}
_WORKS = frozenset({"Training", "Downloading", "DownloadingTrainingImage"})


def no_capacity(case: Case, ending: Ending) -> Finding:
    """The finding ``capacity``."""
    job = case.run.job
    groups = " + ".join(f"{group.count} x {group.instance_type}" for group in job.instance_groups) or "the instances"
    waiting_s = (job.ended - job.created).total_seconds() if job.ended and job.created else None
    after = "" if waiting_s is None else f" after {duration(waiting_s)}"
    began = "No container ever started, so nothing was billed" if job.started is None else "It had trained earlier"
    said = ending.reason.quote if ending.reason is not None else ending.text
    return Finding(
        "capacity",
        "critical",
        ending.confidence,
        f"No capacity for {groups}" if len(groups) < 50 else "No capacity for the instances",
        f"AWS had no capacity for {groups}{after}. {began}; the job failed and this attempt did 0 steps.",
        (
            Evidence("what SageMaker says", None, "", None, job.created, job.ended, quoted(said), role="of SageMaker"),
            *(() if waiting_s is None else (Evidence("time from request to end", waiting_s, "s"),)),
        ),
        Recommendation(
            "Try another instance type or Region, fewer instances, or a later time; a training plan reserves capacity.",
            parameter="instance_type",
            from_value=job.instance_type,
            source="SageMaker developer guide, training plans",
        ),
        not_checked=("whether other types or Regions have capacity now",),
    )


def spot(case: Case) -> Finding | None:
    """The finding ``spot-interruption``, from the status changes or, without them, from the texts of the log."""
    job = case.run.job
    taken = [entry for entry in job.transitions if entry.status == "Interrupted"]
    if not taken and not case.run.events["kind"].isin(("interruption", "cancelled")).any():
        return None
    told = case.run.events[case.run.events["kind"] == "interruption"]
    preempted = case.run.events[(case.run.events["kind"] == "cancelled")]
    preempted = preempted[preempted["text"].str.contains("DUE TO PREEMPTION")]
    told = pd.concat([told, preempted]).sort_values(["timestamp", "stream", "line"], kind="stable")
    if not taken and (
        told.empty or (case.ending is not None and case.ending.id not in {"", "stopped-by-user", "max-runtime"})
    ):
        return None
    over = _ended_it(case, taken, told)
    times = len(taken) or 1
    at = (
        taken[-1].start
        if taken
        else None
        if pd.isna(told.iloc[-1]["timestamp"])
        else told.iloc[-1]["timestamp"].to_pydatetime()
    )
    waits = [(entry, back) for entry in taken if (back := _back(job.transitions, entry)) is not None]
    away_s = sum((back - entry.start).total_seconds() for entry, back in waits)
    lost, work = case.lost, ""
    savings = (Saving(("lost-work",), kind="void"),) if lost is not None else ended.not_saved(case, at) if over else ()
    if lost is not None:
        took = "" if lost.seconds is None else f" ({duration(lost.seconds)} of step time)"
        cost = f": {money}" if (money := lost_words(case.bill, savings)) else ""
        work = f" {count(lost.steps, 'step')}{took} were lost and done again{cost}."
    elif over:
        work = ended.from_checkpoint(case, at)
    elif taken:
        work = " How much work was lost is not known: " + (
            "no step was done again in the log." if case.run.logs.lines else "the logs were not read."
        )
    gone = f" The job was interrupted for {duration(away_s)} in all, which is not billed." if waits else ""
    end = " It never resumed." if over else ""
    title = f"{count(times, 'spot interruption')}" + (", job never resumed" if over else "")
    first = "" if at is None else f"{', the last' if times > 1 else ''} at {case.clock(at)}"
    done = ended.steps_done(case.run, at)
    step = "" if done is None else f", after step {done:,}"
    place = {str(name) for name in told["node"]} - {""} if not taken else set()
    where = f" on {', '.join(sorted(place)[:3])}" if place else ""
    return Finding(
        "spot-interruption",
        "critical" if over else "warning",
        "high" if taken else "medium",
        title,
        f"Spot capacity was reclaimed {'once' if times == 1 else count(times, 'time')}{where}{first}{step}.{gone}{work}{end}",
        (
            *(
                Evidence("interrupted", None if back is None else (back - entry.start).total_seconds(), "s", None, entry.start,
                         back, quoted(entry.message) or None, role="of SageMaker")
                for entry in taken
                for back in (_back(job.transitions, entry),)
            ),
            *(
                Evidence("from the log", None, "", str(row.node) or None, None, None, quoted(str(row.text)))
                for row in told.head(3).itertuples()
            ),
            *(() if lost is None else (Evidence("steps done again", float(lost.steps), "steps", view="steps"),)),
            *(() if lost is None or lost.seconds is None else (Evidence("time they took", lost.seconds, "s"),)),
        ),
        Recommendation(
            "Save checkpoints more often, to the CheckpointConfig folder, and load the newest one at the start"
            + ("; restart the job from its last checkpoint, or on demand." if over else "."),
            source="managed spot training, SageMaker developer guide",
        ),
        not_checked=("whether the checkpoints reached S3",),
        savings=savings,
    )  # fmt: skip


def _back(transitions: tuple[Transition, ...], taken: Transition) -> datetime | None:
    """When the job was at work, and billed, again after an interruption."""
    return min(
        (entry.start for entry in transitions if entry.status in _WORKS and entry.start > taken.start), default=None
    )


def _ended_it(case: Case, taken: list[Transition], told: pd.DataFrame) -> bool:
    """Whether the job is over, and never worked again after it was interrupted."""
    job = case.run.job
    if job.is_running or job.status == "Completed":
        return False
    if taken:
        return not any(entry.status in _WORKS and entry.start > taken[-1].start for entry in job.transitions)
    last = told.iloc[-1]
    steps = case.run.steps
    if pd.isna(last["timestamp"]):
        later = steps[(steps["stream"].astype("str") == last["stream"]) & (steps["line"] > last["line"])]
    else:
        later = steps[steps["timestamp"] > last["timestamp"] + timedelta(minutes=3)]
    return bool(later["step"].nunique() < 3)


def out_of_time(case: Case, ending: Ending) -> Finding:
    """The finding ``max-runtime``."""
    job, steps = case.run.job, case.steps
    limit, parameter = _TIME_WORDS.get(ending.why, ("the scheduler's time limit", "time limit"))
    ran_s = (job.ended - job.started).total_seconds() if job.ended and job.started else None
    limit_s = job.max_runtime_s if parameter == "MaxRuntimeInSeconds" else None
    after = (
        f" after {duration(ran_s)} of training"
        if ran_s is not None
        else " before it got its instances"
        if job.source == "aws"
        else ""
    )
    done, total = (steps.done, steps.total) if steps else (None, None)
    never = job.started is None and has_status(job, "MaxWaitTimeExceeded")
    if never:
        spent_s = (job.ended - job.created).total_seconds() if job.ended and job.created else None
        far = f" It never trained: it waited for spot capacity{f' for {duration(spent_s)}' if spent_s else ''}."
    elif done is None:
        lines = case.run.logs.lines
        why = f"no step was recognized in {count(lines, 'log line')}" if lines else "its logs were not read"
        far = f" How far it got is not known: {why}."
    elif total:
        far = f" It had done {done:,} of {total:,} steps ({percent(100 * done / total)})."
    else:
        far = f" It had done {count(done, 'step')}; how many were planned is not known."
    need = _needed_s(ran_s, done, total)
    more = f" At that pace all of them would take about {duration(need)}." if need is not None else ""
    figures = (
        ("time from start to end", ran_s, "s"),
        (parameter, limit_s, "s"),
        ("steps done", done, "steps"),
        ("steps planned", total, "steps"),
    )
    line = None if ending.why in _TIME_WORDS or not ending.why else quoted(ending.why)
    return Finding(
        "max-runtime",
        "warning",
        "high",
        f"Time limit reached at step {done:,}{f' of {total:,}' if total else ''}"
        if done is not None
        else "Time limit reached",
        f"The job was stopped at {limit}{after}.{far}{more}{ended.from_checkpoint(case, job.ended)}",
        (
            *(
                Evidence(
                    what, float(value), unit, None, job.started, job.ended, view="steps" if unit == "steps" else None
                )
                for what, value, unit in figures
                if value is not None
            ),
            *((Evidence("from the log", None, "", None, None, None, line),) if line else ()),
            Evidence("secondary status", job.secondary_status, "", None, job.ended, job.ended),
        ),
        Recommendation(
            f"Raise {parameter}"
            + (f" to {duration(1.1 * need)} or more" if need is not None else " to cover the planned steps")
            + ", or resume from the last checkpoint.",
            parameter=parameter,
            from_value=limit_s,
            source="StoppingCondition of CreateTrainingJob",
        ),
        not_checked=("whether the program saved a checkpoint when it was asked to stop",),
        savings=ended.not_saved(case, job.ended),
    )


def _needed_s(ran_s: float | None, done: int | None, total: int | None) -> float | None:
    return None if ran_s is None or not done or not total or total <= done else ran_s * total / done


def stopped(case: Case) -> Finding:
    """The finding ``stopped-by-user``."""
    job, steps = case.run.job, case.steps
    ran_s = (job.ended - job.started).total_seconds() if job.ended and job.started else None
    after = f" after {duration(ran_s)}" if ran_s is not None else " before it had started"
    done = steps.done if steps else None
    total = steps.total if steps else None
    far = "" if done is None else f", at step {done:,}" + (f" of {total:,}" if total else "")
    request = next((entry.start for entry in job.transitions if entry.status == "Stopping"), job.ended)
    return Finding(
        "stopped-by-user",
        "info",
        "high",
        f"Stopped by request{far}",
        f"The job was stopped by request{after}{far}; it had not reached its time limit"
        f"{', and its log shows no error that stopped the training' if case.run.logs.lines else ''}."
        f"{ended.from_checkpoint(case, request)}",
        (Evidence("stopped", ran_s, "s since its start" if ran_s is not None else "", None, request, job.ended),),
        Recommendation(
            "Nothing to fix; resume from the last checkpoint if there is work left.", source="status Stopped"
        ),
        not_checked=("who stopped it: CloudTrail has StopTrainingJob",),
    )
