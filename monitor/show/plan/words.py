"""What does a plan come to, in one sentence? Step time and memory with their ranges, and whether it fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from monitor.model import Finding
from monitor.predict.outcome import Outcome
from monitor.predict.setup import FRAMEWORK_NAMES, Setup
from monitor.predict.spread import promise_words
from monitor.review.planning import Plan
from monitor.words import DASH, count, percent, sentence, step_seconds, usd

Level = Literal["error", "warning", "success", "info"]

MODELLED = "Model-based, not measured."
#: A change of less than this, in percent, is hardly one.
LITTLE_PCT = 1.0
_FITS = {
    "yes": "fits",
    "borderline": "borderline",
    "no": "does not fit",
    "unknown": "unknown whether it fits",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """How loud, in which words, and what there is to say besides."""

    level: Level
    outcome: str
    """What comes of the change or, without one, how things stand."""
    body: str
    waiting: bool = False
    """No change was asked for yet."""

    @property
    def title(self) -> str:
        return f"Nothing changed yet; {self.outcome}" if self.waiting else self.outcome


def to_fit_rows(plan: Plan) -> list[tuple[str, str, str, str]]:
    """(change, what it adds to the step time, GPU memory with it, whether it fits), the cheapest first."""
    rows = []
    for each in plan.to_fit:
        cost, gib = each.cost_pct, each.memory.expected_gib
        if cost is not None:
            words = "none" if abs(cost[1]) < 0.5 else f"{cost[1]:+.0f} %"
        else:
            words = "not known" if each.order_pct is None or each.order_pct <= 0 else "longer"
        rows.append((each.words, words, DASH if gib is None else f"{gib:.1f} GiB", _FITS[each.memory.fits]))
    return rows


def answer(plan: Plan, usd_per_hour: float | None = None) -> Answer:
    """The answer to a plan; ``usd_per_hour`` is what the job costs."""
    found = plan.outcome
    fits, change = found.memory.fits, found.step_time_change_pct
    wrong = in_the_way(plan)
    # Why a figure is missing is said, where that is known, in place of the figure.
    known = [_time(found)] if plan.asked and (change is not None or wrong is None) else []
    known += [_memory(found)] if found.memory.expected_gib is not None or wrong is None else []
    head = "The library rejects this" if plan.is_rejected else wrong.title if wrong else ""
    outcome = "; ".join(part for part in (head, *known) if part)
    basis = MODELLED
    if not plan.asked and found.memory.measured:
        basis = "Measured; the effect of a change is model-based, not measured."
    parts = (
        basis,
        _promise(plan),
        _doubt(found),
        _seconds(found),
        _bubble(found),
        _money(found, usd_per_hour),
        _advised(plan),
        _warnings(plan, wrong),
    )
    body = " ".join(part for part in (wrong.summary if wrong else _unknown(found), *parts) if part)
    level: Level = "info"
    if plan.is_rejected or fits == "no":
        level = "error"
    elif wrong or fits == "borderline":
        level = "warning"
    # Green only where the whole range says less.
    elif plan.asked and fits == "yes" and change is not None and change[2] < 0:
        level = "success"
    return Answer(level, outcome, body, waiting=not plan.asked and wrong is None)


def in_the_way(plan: Plan) -> Finding | None:
    """The problem to speak of first: one that the library refuses, or that leaves nothing to work out."""
    serious = [each for each in plan.problems if each.severity != "info"]
    if plan.is_rejected:
        return serious[0]
    indivisible = next((each for each in serious if each.id == "batch-not-divisible"), None)
    found = plan.outcome
    if found.memory.expected_gib is not None or (plan.asked and found.step_time_change_pct is not None):
        return indivisible
    return indivisible or next((each for each in serious if each.id == "invalid-configuration"), None)


def _advised(plan: Plan) -> str:
    """``Advised: active_microbatches 4, step time -35 %.``, as long as nothing is changed."""
    advised = plan.advised
    if advised is None or plan.asked:
        return ""
    known = plan.start.known(advised.parameter)
    if known is not None and str(known.value) == str(advised.value):
        return ""
    relative = next((point.step_time_relative for point in plan.curve if point.value == advised.value), None)
    gain = "" if relative is None else f", step time {_signed(100 * (relative - 1))} %"
    return f"Advised: {advised.parameter} {value_words(advised.value)}{gain}."


def _warnings(plan: Plan, said: Finding | None) -> str:
    """How much more there is to read below."""
    more = sum(1 for each in plan.problems if each.severity != "info" and each is not said)
    return f"{count(more, 'warning')} below." if more else ""


def _time(found: Outcome) -> str:
    """``Step time -35 % (-35 to -31)``."""
    change = found.step_time_change_pct
    if change is None:
        return "The change in step time is not known"
    low, middle, high = (_signed(each) for each in change)
    if max(abs(each) for each in change) < 0.05:
        return "Step time unchanged"
    if abs(change[1]) < LITTLE_PCT:
        return f"Step time about the same ({low} to {high} %)"
    return f"Step time {middle} % ({low} to {high})"


def _signed(value: float) -> str:
    """With its sign; no minus in front of nothing."""
    return "0" if abs(value) < 0.5 else f"{value:+.0f}"


def _memory(found: Outcome) -> str:
    """``GPU memory 28.4 -> 35.3 of 40 GiB: borderline``."""
    memory = found.memory
    words, limit = _FITS[memory.fits], memory.limit_gib
    expected = memory.expected_gib
    if expected is None:
        return f"GPU memory: {words}" if memory.fits == "no" else "GPU memory is not known"
    start = memory.start_gib
    figures = f"{expected:,.1f}"
    if memory.bound:
        figures = f"at most {figures}"
    if start is not None and (abs(expected - start) >= 0.05):
        figures = f"{start:,.1f} → {figures}"
    return f"GPU memory {figures} of {limit:,.0f} GiB: {words}" if limit else f"GPU memory {figures} GiB: {words}"


def _unknown(found: Outcome) -> str:
    """What is missing for step time and memory."""
    parts = [sentence(f"Step time: {'; '.join(found.time.unknown)}")] if found.time.unknown else []
    if found.memory.expected_gib is None:
        parts += [found.memory_method] if found.memory.change_gib is None else []
    return " ".join(parts)


def _promise(plan: Plan) -> str:
    """Which share of changes the range of the step time is for."""
    change = plan.outcome.step_time_change_pct
    if not plan.asked or change is None or change[2] - change[0] < 0.05:
        return ""
    return f"The range {promise_words(plan.outcome.time.promise)}."


def _doubt(found: Outcome) -> str:
    """What is not sure of the memory."""
    borderline = found.memory.fits == "borderline"
    return "Between 85 and 110 % of the limit it is too close to call without a run." if borderline else ""


def _seconds(found: Outcome) -> str:
    """``4.10 s a step become 2.65 s (2.65 to 2.83) for the same samples.``"""
    now, change = found.start.real("step_time_s"), found.step_time_change_pct
    measured = found.start.known("step_time_s")
    came = measured.came_by if measured is not None else ""
    if not now or change is None or max(abs(each) for each in change) < 0.05:
        return f"The measured step time, {step_seconds(now)}, is {came}." if now and came else ""
    low, middle, high = (step_seconds(now * (1 + each / 100)) for each in change)
    return (
        f"A step of {step_seconds(now)}{came and f' ({came})'} becomes {middle} ({low} to {high}) for the same samples."
    )


def _bubble(found: Outcome) -> str:
    before, after = found.bubble_start, found.bubble_change
    stages = max(found.start.pipeline_degree or 1, found.change.pipeline_degree or 1)
    if after is None or stages == 1:
        return ""
    if before is None or abs(before - after) < 0.005:
        return f"According to the model, stages wait {percent(100 * after)} of the time."
    return (
        f"According to the model, stages wait {percent(100 * after)} of the time, {percent(100 * before)} at the start."
    )


def _money(found: Outcome, usd_per_hour: float | None) -> str:
    change = found.step_time_change_pct
    if not usd_per_hour or change is None or abs(change[1]) < LITTLE_PCT:
        return ""
    # Other instances cost otherwise.
    if {"instance_count", "instance_type"} & found.changes:
        return ""
    worth = usd_per_hour * abs(change[1]) / 100
    return f"{usd(worth)} an hour {'less' if change[1] < 0 else 'more'} for the same work."


def changed_words(plan: Plan) -> str:
    """``active_microbatches 2 -> 4, microbatches 4 -> 8``; what was asked, with what it was."""
    parts = []
    for name, value in plan.asked.items():
        known = plan.start.known(name)
        parts.append(f"{name} {'not known' if known is None else value_words(known.value)} → {value_words(value)}")
    return ", ".join(parts)


def value_words(value: Any) -> str:
    return ("off", "on")[value] if isinstance(value, bool) else str(value)


def start_words(start: Setup) -> str:
    """A start in one line: library, cluster, model, and how much of it is not known."""
    parts = [FRAMEWORK_NAMES.get(start.framework or "", "library not known")]
    kind, nodes = start.text("instance_type"), start.nodes
    parts.append(f"{nodes or DASH} x {kind}" if kind else "instances not known")
    layers, hidden = start.number("layers"), start.number("hidden_size")
    parts.append(f"{layers or DASH} layers of {hidden:,}" if hidden else "model not known")
    measured = start.real("gpu_memory_utilization")
    if measured is not None:
        parts.append(f"GPU memory {percent(measured)} measured")
    return " · ".join(parts)
