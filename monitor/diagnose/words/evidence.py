"""How is one fact behind a finding written: its value, and when it was so?"""

from __future__ import annotations

from datetime import UTC, tzinfo

from monitor.model import Evidence
from monitor.words import instant


def fact_value(fact: Evidence) -> str | None:
    """``46 %``, ``1,204 s``; None where the fact has no value."""
    if fact.value is None:
        return None
    value = _three_digits(fact.value) if isinstance(fact.value, float) else fact.value
    return f"{value} {fact.unit}".strip()


def when(fact: Evidence, zone: tzinfo = UTC) -> str | None:
    """``25 Sep 2026, 14:05 CEST to 15:35 CEST``; None where the fact has no time."""
    if fact.start is None and fact.end is None:
        return None
    if fact.start is None or fact.end is None:
        return f"{'from' if fact.start else 'until'} {instant(fact.start or fact.end, zone)}"
    start, end = instant(fact.start, zone), instant(fact.end, zone)
    same_day = start.split(",")[0] == end.split(",")[0]
    return f"{start} to {end.split(', ')[1] if same_day else end}"


def _three_digits(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
