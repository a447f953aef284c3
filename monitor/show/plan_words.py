"""What does a plan come to, in one sentence? Step time and memory with their ranges, and whether it fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from monitor.predict.outcome import NO_MEMORY, Outcome
from monitor.predict.setup_types import FRAMEWORK_NAMES, Setup
from monitor.review.planning import Plan
from monitor.words import DASH, percent, sentence, step_seconds, usd

MODELLED = "Model-based, not measured."
NOTHING_YET = "Nothing changed yet"
#: A change of less than this, in percent, is hardly one.
LITTLE_PCT = 1.0
_FITS = {
    "yes": "fits",
    "borderline": "borderline",
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
    basis = MODELLED
    if not plan.asked and found.memory.measured:
        basis = "Measured; what an input changes is model-based, not measured."
    # What is refused comes first among the problems.
    why = plan.problems[0].summary if refused else ""
    unknown = sentence(f"Not known: {'; '.join(found.time.unknown)}") if found.time.unknown else ""
    parts = (why, basis, unknown, _doubt(found), _seconds(found), _bubble(found), _money(found, usd_per_hour))
    body = " ".join(part for part in parts if part)
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
        return NOTHING_YET
    if change is None:
        return "How the step time changes is not known"
    low, middle, high = (_signed(each) for each in change)
    if max(abs(each) for each in change) < 0.05:
        return "Step time unchanged: this does nothing to it"
    if abs(change[1]) < LITTLE_PCT:
        return f"Step time about the same ({low} to {high} %)"
    return f"Step time {middle} % ({low} to {high})"


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


def _doubt(found: Outcome) -> str:
    """What is not sure of the memory, or what is missing for it."""
    memory = found.memory
    if memory.expected_gib is None:
        return "".join(f"{part}." for part in found.method.rstrip(".").split(". ") if part.startswith(NO_MEMORY))
    return "Between 85 and 110 % of the limit nobody can tell before a run." if memory.fits == "borderline" else ""


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
