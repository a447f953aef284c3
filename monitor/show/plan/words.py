"""What a plan comes to, in one sentence. Step time and memory with their ranges, and whether it fits; what its pictures say,
in words below them; and the SDK's arguments, as they are written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from monitor.choices import FRAMEWORK_NAMES
from monitor.model import Finding
from monitor.predict.distribution import name_in_script, of_the_script
from monitor.predict.layout import SHAPE, missing_of_layout
from monitor.predict.outcome import Outcome, what_if
from monitor.predict.setup import Setup
from monitor.predict.spread import promise_words, weakest
from monitor.review.planning import Plan
from monitor.words import DASH, count, percent, sentence, signed, step_seconds, usd

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
class PlanSummary:
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


def answer(plan: Plan, usd_per_hour: float | None = None) -> PlanSummary:
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
    return PlanSummary(level, outcome, body, waiting=not plan.asked and wrong is None)


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
    gain = "" if relative is None else f", step time {signed(100 * (relative - 1))} %"
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
    low, middle, high = (signed(each) for each in change)
    if max(abs(each) for each in change) < 0.05:
        return "Step time unchanged"
    if abs(change[1]) < LITTLE_PCT:
        return f"Step time about the same ({low} to {high} %)"
    return f"Step time {middle} % ({low} to {high})"


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


def curve_words(plan: Plan) -> str:
    """What the curve says: where it ends being steep, or that it is flat."""
    known = [point for point in plan.curve if point.step_time_relative is not None]
    if plan.knob is None or len(known) < 2:
        return sentence(f"The effect of {plan.knob} on step time is not known: {'; '.join(_why_unknown(plan))}")
    times = [point.step_time_relative for point in known if point.step_time_relative is not None]
    spread = max(times) - min(times)
    if spread < 0.005:
        return f"Flat: {plan.knob} does not change the step time here."
    best = min(known, key=lambda point: point.step_time_relative or 0.0)
    lowest = next(
        point for point in known if (point.step_time_relative or 0.0) <= 1.005 * (best.step_time_relative or 0.0)
    )
    words = (
        f"Shortest from {plan.knob} {value_words(lowest.value)} upward"
        if _flat_after(plan, lowest.value)
        else f"Shortest at {plan.knob} {value_words(lowest.value)}"
    )
    words += f", {100 * (lowest.step_time_relative or 0.0):.0f} % of the starting point."
    if plan.advised is not None and plan.advised.value == _now(plan):
        words += f" Advised: stay at {value_words(plan.advised.value)} ({plan.advised.source})."
    elif plan.advised is not None:
        words += f" Advised: {value_words(plan.advised.value)} ({plan.advised.source})."
    return words


def band_words(plan: Plan) -> str:
    """What the band around the curve promises; empty where none is drawn."""
    points = [point for point in plan.curve if None not in (point.low, point.high)]
    wide = [point for point in points if (point.high or 0.0) - (point.low or 0.0) >= 0.0005]
    return f"The band {promise_words(weakest(point.promise for point in wide))}." if wide else ""


def _why_unknown(plan: Plan) -> tuple[str, ...]:
    """What stands between the curve and its figures."""
    if (wrong := in_the_way(plan)) is not None:
        return (wrong.summary.rstrip("."),)
    if plan.knob in plan.asked and plan.outcome.time.unknown:
        return plan.outcome.time.unknown
    others = [point.value for point in plan.curve if point.value != _now(plan)]
    if not others or plan.knob is None:
        return ("there is no other value to try",)
    return what_if(plan.start, {**plan.asked, plan.knob: others[0]}).time.unknown


def _now(plan: Plan) -> Any:
    known = plan.start.known(plan.knob or "")
    return None if known is None else known.value


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
        wrong = in_the_way(plan)
        return plan.outcome.method if wrong is None else wrong.summary
    parts = [f"{expected:.1f} GiB are {expected * 2**30 / 1e9:.1f} GB."]
    if found.measured:
        parts.append("Measured (p95 of the fullest node)." if not plan.asked else "The start was measured.")
    missing = (*plan.change.missing(*SHAPE), *missing_of_layout(plan.change))
    if missing:
        parts.append(f"No breakdown without {', '.join(missing)}.")
    if found.bound:
        parts.append("Upper bound: as if all measured memory grew with the microbatches in flight.")
    if not missing and found.measured:
        parts.append("Bars: predicted. Diamond: measured, plus the predicted difference.")
    elif plan.asked:
        parts.append("Diamond and whisker: expected value and range.")
    if (
        plan.asked
        and found.change_gib is not None
        and not found.bound
        and found.change_gib[2] - found.change_gib[0] >= 0.05
    ):
        parts.append(f"The range {promise_words(plan.outcome.memory_promise)}.")
    parts.append("Dashed: 85 and 110 % of the limit; in between, some published runs fit and some did not.")
    return " ".join(parts)


def gantt_words(until_pct: float | None) -> str:
    """What the lanes show."""
    words = "Light: forward; dark: backward; gray: waiting; numbers are microbatches. Equal stages, no hop cost."
    if until_pct is not None:
        words += f" Only the first {until_pct:.0f} % is drawn."
    return words


def head_words(name: str, length_pct: float | None, bubble: float | None, stages: int) -> str:
    """Above a schedule: ``change: 65 % of the starting point's time, stages wait 15 %``."""
    length = (
        "time not known, drawn at equal length"
        if length_pct is None
        else f"{length_pct:.0f} % of the starting point's time"
    )
    waits = "" if bubble is None or stages == 1 else f", stages wait {percent(100 * bubble)} of it"
    return f"{name}: {count(stages, 'stage')}, {length}{waits}"


def literal(value: Any, indent: str = "") -> str:
    """A value as Python writes it, a line an entry."""
    if not isinstance(value, Mapping) or not value:
        return json.dumps(value) if isinstance(value, str) else repr(value)
    inner = f"{indent}    "
    lines = [f"{inner}{json.dumps(name)}: {literal(each, inner)},\n" for name, each in value.items()]
    return "{\n" + "".join(lines) + indent + "}"


def snippet(plan: Plan) -> list[str]:
    """The estimator's argument, as Python that can be copied."""
    return f"distribution={literal(dict(plan.distribution))}".split("\n")


def script_lines(plan: Plan) -> list[str]:
    """What has to be set elsewhere: machines, hyperparameters, the script."""
    lines = []
    setup = plan.change
    kind, number = setup.known("instance_type"), setup.known("instance_count")
    machines = [
        f"{each}={known.value!r}" for each, known in (("instance_type", kind), ("instance_count", number)) if known
    ]
    if machines:
        lines.append(f"Also for the estimator: {', '.join(machines)}.")
    if "mpi" in plan.distribution and "processes_per_host" not in plan.distribution["mpi"]:
        lines.append("Set processes_per_host to the number of GPUs of an instance, which is not known here.")
    said = []
    for name, value in of_the_script(setup, plan.outcome.changes).items():
        place = name_in_script(setup, name)
        plainly = f"{value:.4g}" if isinstance(value, float) else str(value)[:60]
        said.append(f"{name}={plainly}{f' ({place})' if place else ''}")
    return [*lines, f"In the script or as hyperparameters: {', '.join(said)}."] if said else lines
