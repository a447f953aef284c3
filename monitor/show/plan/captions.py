"""What do the pictures of a plan say, in words below them? And the SDK's arguments, as they are written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from monitor.predict.distribution import of_the_script, place_in_script
from monitor.predict.layout import SHAPE, missing_of_layout
from monitor.predict.outcome import what_if
from monitor.predict.spread import promise_words, weakest
from monitor.review.planning import Plan
from monitor.show.plan.words import in_the_way, value_words
from monitor.words import count, percent, sentence


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
        place = place_in_script(setup, name)
        plainly = f"{value:.4g}" if isinstance(value, float) else str(value)[:60]
        said.append(f"{name}={plainly}{f' ({place})' if place else ''}")
    return [*lines, f"In the script or as hyperparameters: {', '.join(said)}."] if said else lines
