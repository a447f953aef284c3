"""Can a condition be true at all, and can it be false? One that always or never is says nothing, and is most likely a
slip."""

from __future__ import annotations

import math

from monitor.alert.conditions import Condition, Found, Threshold, number
from monitor.alert.measures import MEASURES

_WORDS = {"<": "below", "<=": "at most", ">": "above", ">=": "at least"}


def senseless(when: Condition) -> str:
    """Why a condition tells nothing, as a sentence that says how it was understood and what would do; empty where it may."""
    if isinstance(when, Found) or when.relative:
        return ""  # a multiple may be anything: a median of 0 has none
    measure = MEASURES[when.metric]
    low, high = measure.span
    always, never = _outcomes(when, low, high)
    if not (always or never):
        return ""
    if math.isfinite(high):
        reach = f"percent of one {'GPU' if 'gpu' in when.metric else 'host'}, {low:g} to {high:g}"
    else:
        reach = f"never below {low:g}"
    nearest = str(when).replace(f"{when.op} {number(when.value)}", f"{when.op} {measure.example_of(when.op)}")
    return (
        f"Understood as {measure.words} {_WORDS[when.op]} {number(when.value)}{_unit(measure.unit)}, which is "
        f"{'always' if always else 'never'} true: it is {reach}. Write, for example, {nearest}."
    )


def _outcomes(when: Threshold, low: float, high: float) -> tuple[bool, bool]:
    """(whether it always holds, whether it never does)."""
    value = when.value
    match when.op:
        case "<":
            return value > high, value <= low
        case "<=":
            return value >= high, value < low
        case ">":
            return value < low, value >= high
        case ">=":
            return value <= low, value > high


def _unit(unit: str) -> str:
    return f" {unit}" if unit else ""
