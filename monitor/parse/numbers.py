"""Reads printed numbers, and refuses what cannot be one."""

from __future__ import annotations

import math

# A step of a month is no step; such values come from clocks, IDs and corrupted text.
LONGEST_STEP_S = 30 * 86400.0


def number(text: str | None) -> float | None:
    """The number a text prints ("6,785", "1.2E+01", "nan"), NaN and infinities included; None if it is none."""
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return float(text.replace(",", "").strip().strip("'\""))
    except ValueError:
        return None


def duration_s(value: float | None) -> float | None:
    """``value`` if it can be a duration of a step in seconds (positive, finite, under a month), else None."""
    return value if value is not None and math.isfinite(value) and 0 < value < LONGEST_STEP_S else None


def count(text: str | None) -> int | None:
    """A step number, or None where it is missing or has too many digits to be one."""
    return int(text) if text and text.isdecimal() and len(text) <= 15 else None


def clock_s(text: str) -> float | None:
    """Seconds of a printed clock: "36:27", "1:00:44", "2 days, 3:04:05", "1 day, 00:00:01"; None if it is none."""
    days = 0
    if "day" in text:
        head, _, text = text.partition(",")
        digits = head.split()[0] if head.split() else ""
        if not digits.isdecimal():
            return None
        days = int(digits)
    parts = text.strip().split(":")
    if not 2 <= len(parts) <= 3 or not all(part.isdecimal() for part in parts):
        return None
    seconds = 0
    for part in parts:
        seconds = seconds * 60 + int(part)
    return float(days * 86400 + seconds)
