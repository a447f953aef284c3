"""The rule about standstills that are shorter than a minute and recur, which a job's profiler alone shows."""

from __future__ import annotations

import pandas as pd

from monitor.analyze.stalls import Stalls, recurring_stalls
from monitor.diagnose.rulebook import Case, rule
from monitor.diagnose.stakes import STEPS
from monitor.diagnose.words.devices import money_of
from monitor.model import Evidence, Finding, Recommendation, Saving
from monitor.words import count, percent, step_seconds

_SURE = 8


@rule(
    "recurring-stalls",
    silenced_by=("stall", "nccl-timeout", "checkpoint-stall"),
    explains=("low-gpu-utilization", "fluctuating-gpu-utilization"),
)
def stalls_that_recur(case: Case) -> Finding | None:
    """All GPUs of a node stand still again and again, for less than a minute each time.

    What it means: in the samples of the job's profiler, all GPUs of a node are below 20 % for 1 to 60 seconds, at least five
    times at one period (or three times, each beside a checkpoint's line), in two of three of the minutes that were read, and
    3 % of the time or more. The period is compared with the step time: every step, or every so many.

    Why it matters: one-minute averages hide it. Two seconds in every ten look like "80 % busy", and cost a fifth of the bill.

    What to do: if it comes at every step, the input is late: more loader workers, prefetching, faster storage. If it comes
    with checkpoints, write them in the background or each rank its own part. If it comes every so many steps, look at
    what the script does then: logging, evaluation, clearing caches.

    Source: the profiler's GPUUtilization by GPU and its sampling times; the thresholds are this project's.
    """
    steps = case.steps
    told = case.run.events[case.run.events["kind"].str.startswith("checkpoint")]["timestamp"].dropna()
    saved_s = [at.timestamp() for at in told]
    with_saves = recurring_stalls(case.gpus_at_work, None, saved_s) if saved_s else ()
    with_saves = tuple(one for one in with_saves if one.goes_with == "checkpoint")
    others = recurring_stalls(case.gpus, steps.median_s if steps is not None else None)
    found = sorted((*with_saves, *others), key=lambda one: -one.share)
    if not found:
        return None
    worst = found[0]
    nodes = {one.node for one in found}
    # Checkpoints were read on purpose, so their share of what was read is not their share of the time.
    savings = () if worst.goes_with == "checkpoint" else (Saving(STEPS, min(1.0, worst.share)),)
    return Finding(
        "recurring-stalls",
        "warning",
        "high" if worst.count >= _SURE else "medium",
        f"GPUs stand still {worst.length_s:.1f} s {_rhythm(worst)}",
        f"All GPUs of {worst.node} stand still for {worst.length_s:.1f} s {_rhythm(worst)}{_with(worst, case)}: "
        f"{count(worst.count, 'time')} in the minutes that were read since {case.clock(worst.since)}"
        f"{_share(worst)}.{_others(len(nodes) - 1)} One-minute averages hide it."
        f"{money_of(case, savings, 'of waiting GPUs')}",
        tuple(item for one in found[:3] for item in _evidence(one)),
        Recommendation(_ADVICE[worst.goes_with], source="rule recurring-stalls"),
        not_checked=("minutes that were not read: a profiler's output is read in part",),
        savings=savings,
    )


_ADVICE = {
    "step": "Each step waits for its input: give the data loader more workers, let it prefetch, or cache the data. To check "
    "first: train for ten minutes on data cached in memory.",
    "steps": "Look at what the script does every so many steps: logging that reads values from the GPU, evaluation, garbage "
    "collection, clearing the allocator's cache. Do it less often, or in the background.",
    "checkpoint": "Write checkpoints in the background (torch.distributed.checkpoint.async_save), let each rank write its "
    "own part, or save less often.",
    "": "Find out what the script does at this period: a log line at the same distance, a loader that opens its next file, a "
    "thread that flushes. Samples of py-spy during a standstill show it.",
}


def _rhythm(one: Stalls) -> str:
    if one.goes_with == "step":
        return "in each step"
    if one.goes_with == "steps":
        return f"every {one.steps} steps"
    if one.goes_with == "checkpoint":
        return "at checkpoints" if one.period_s is None else f"at checkpoints, every {_time(one.period_s)}"
    return f"every {_time(one.period_s)}"


def _with(one: Stalls, case: Case) -> str:
    if one.goes_with in {"step", "steps"} and case.steps is not None and case.steps.median_s is not None:
        return f" (every {_time(one.period_s)}; a step takes {step_seconds(case.steps.median_s)})"
    return ""


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "so often"
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _share(one: Stalls) -> str:
    return "" if one.goes_with == "checkpoint" else f", {percent(100 * one.share)} of the time"


def _others(more: int) -> str:
    return f" So do those of {count(more, 'more node')}." if more else ""


def _evidence(one: Stalls) -> tuple[Evidence, ...]:
    since, until = pd.Timestamp(one.since), pd.Timestamp(one.until)
    period = (Evidence("standstills: period", one.period_s, "s", one.node, since, until),) if one.period_s else ()
    return (Evidence("standstills: length, p50", one.length_s, "s", one.node, since, until), *period)
