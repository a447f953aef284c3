"""What does a plan come to, in one sentence? Step time and memory with their ranges, and whether it fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from monitor.predict.outcome import Outcome
from monitor.review.planning import Plan
from monitor.words import count, percent, step_seconds, usd

MODELLED = "Model-based, not measured."
#: A change of less than this, in percent, is hardly one.
LITTLE_PCT = 2.0
_FITS = {
    "yes": "fits",
    "borderline": "borderline: whether it fits, nobody can tell before a run",
    "no": "does not fit",
    "unknown": "whether it fits is not known",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """How loud, in which words, and what there is to say besides."""

    level: str
    """error, warning, success or info."""
    title: str
    body: str


def answer(plan: Plan, usd_per_hour: float | None = None) -> Answer:
    """The answer to a plan; ``usd_per_hour`` is what the job costs."""
    found = plan.outcome
    fits = found.memory.fits
    refused = plan.is_rejected
    title = "; ".join(part for part in (_refused(plan), _time(plan), _memory(found)) if part)
    body = " ".join(
        part for part in (MODELLED, _basis(found), _seconds(found), _bubble(found), _money(found, usd_per_hour)) if part
    )
    if refused or fits == "no":
        return Answer("error", title, body)
    if fits == "borderline":
        return Answer("warning", title, body)
    change = found.step_time_change_pct
    if plan.asked and fits == "yes" and change is not None and change[1] < 0:
        return Answer("success", title, body)
    return Answer("info", title, body)


def _refused(plan: Plan) -> str:
    return "The library refuses this" if plan.is_rejected else ""


def _time(plan: Plan) -> str:
    """``Step time -35 % (-35 to -31)``."""
    change = plan.outcome.step_time_change_pct
    if not plan.asked:
        return "Nothing changed yet"
    if change is None:
        return "How the step time changes is not known"
    low, middle, high = (_signed(each) for each in change)
    if max(abs(each) for each in change) < 0.05:
        return "Step time unchanged: this does nothing to it"
    words = f"Step time {middle} % ({low} to {high})"
    return f"{words}: almost nothing" if max(abs(change[0]), abs(change[2])) < LITTLE_PCT else words


def _signed(value: float) -> str:
    """With its sign; no minus in front of nothing."""
    return "0" if abs(value) < 0.5 else f"{value:+.0f}".replace("-", "−")


def _memory(found: Outcome) -> str:
    """``GPU memory 28.4 -> 35.3 of 40 GiB: borderline``."""
    memory = found.memory
    words, limit = _FITS[memory.fits], memory.limit_gib
    expected = memory.expected_gib
    if expected is None:
        return f"GPU memory: {words}" if memory.fits == "no" else "GPU memory is not known"
    start = memory.start_gib
    figures = f"{expected:.1f}"
    if memory.bound:
        figures = f"at most {figures}"
    if start is not None and (abs(expected - start) >= 0.05):
        figures = f"{start:.1f} → {figures}"
    return f"GPU memory {figures} of {limit:,.0f} GiB: {words}" if limit else f"GPU memory {figures} GiB: {words}"


def _basis(found: Outcome) -> str:
    return "The memory of the start was measured." if found.memory.measured else ""


def _seconds(found: Outcome) -> str:
    """``4.10 s a step become 2.65 s (2.65 to 2.83) for the same samples.``"""
    now, change = found.start.real("step_time_s"), found.step_time_change_pct
    if not now or change is None or max(abs(each) for each in change) < 0.05:
        return ""
    low, middle, high = (step_seconds(now * (1 + each / 100)) for each in change)
    return f"{step_seconds(now)} a step become {middle} ({low} to {high}) for the same samples."


def _bubble(found: Outcome) -> str:
    before, after = found.bubble_start, found.bubble_change
    stages = max(found.start.pipeline_degree or 1, found.change.pipeline_degree or 1)
    if after is None or stages == 1:
        return ""
    if before is None or abs(before - after) < 0.005:
        return f"Stages wait {percent(100 * after)} of the time."
    return f"Stages wait {percent(100 * after)} of the time, {percent(100 * before)} at the start."


def _money(found: Outcome, usd_per_hour: float | None) -> str:
    change = found.step_time_change_pct
    if not usd_per_hour or change is None or abs(change[1]) < LITTLE_PCT:
        return ""
    # Other instances cost otherwise.
    if {"instance_count", "instance_type"} & found.changes:
        return ""
    worth = usd_per_hour * abs(change[1]) / 100
    return f"For the same work {usd(worth)} {'less' if change[1] < 0 else 'more'} an hour of today's."


def changed_words(plan: Plan) -> str:
    """``active_microbatches 2 -> 4, microbatches 4 -> 8``; what was asked, with what it was."""
    parts = []
    for name, value in plan.asked.items():
        known = plan.start.known(name)
        parts.append(f"{name} {'not known' if known is None else _value(known.value)} → {_value(value)}")
    return ", ".join(parts)


def _value(value: Any) -> str:
    return ("off", "on")[value] if isinstance(value, bool) else str(value)


def curve_words(plan: Plan) -> str:
    """What the curve says: where it ends being steep, or that it is flat."""
    known = [point for point in plan.curve if point.step_time_relative is not None]
    if not known or plan.knob is None:
        return "How this parameter changes the step time is not known."
    times = [point.step_time_relative for point in known if point.step_time_relative is not None]
    spread = max(times) - min(times)
    if spread < 0.005:
        return f"Flat: {plan.knob} does nothing to the step time here."
    best = min(known, key=lambda point: point.step_time_relative or 0.0)
    lowest = next(
        point for point in known if (point.step_time_relative or 0.0) <= 1.005 * (best.step_time_relative or 0.0)
    )
    words = (
        f"Shortest from {plan.knob} {_value(lowest.value)} on"
        if _flat_after(plan, lowest.value)
        else f"Shortest at {plan.knob} {_value(lowest.value)}"
    )
    words += f", {100 * (lowest.step_time_relative or 0.0):.0f} % of the start."
    if plan.advised is not None:
        words += f" Advised: {_value(plan.advised.value)} ({plan.advised.source})."
    return words


def _flat_after(plan: Plan, value: Any) -> bool:
    later = [
        point.step_time_relative for point in plan.curve if point.step_time_relative and _after(point.value, value)
    ]
    if isinstance(value, bool) or len(later) < 2:
        return False
    return max(later) - min(later) < 0.005


def _after(one: Any, other: Any) -> bool:
    return isinstance(one, int | float) and isinstance(other, int | float) and one >= other


def memory_words(plan: Plan) -> str:
    """What the bars are made of, or what is missing for them."""
    found = plan.outcome.memory
    expected = found.expected_gib
    if expected is None:
        return plan.outcome.method
    parts = [f"{expected:.1f} GiB are {expected * 2**30 / 1e9:.1f} GB."]
    if found.measured and found.bound:
        parts.append(
            "The shape of the model is not known: at most all that was measured grows with the microbatches in flight."
        )
    elif found.measured:
        parts.append("Bars: by the equations. Diamond: measured, and with the difference by the equations.")
    parts.append("Dashed: 85 and 110 % of the limit; between them published runs went both ways.")
    return " ".join(parts)


def gantt_words(plan: Plan, until_pct: float | None) -> str:
    """What the lanes show."""
    words = "Equal stages, no hop cost; a number is a microbatch, grey is waiting."
    if until_pct is not None:
        words += f" The first {until_pct:.0f} % are drawn."
    return words


def head_words(name: str, length_pct: float | None, bubble: float | None, stages: int) -> str:
    """Above a schedule: ``change: 65 % of the start's time, stages wait 15 %``."""
    length = "time not known, drawn as long" if length_pct is None else f"{length_pct:.0f} % of the start's time"
    waits = "" if bubble is None else f", stages wait {percent(100 * bubble)} of it"
    return f"{name}: {count(stages, 'stage')}, {length}{waits}"
