"""What does an option that takes a duration say? ``30s``, ``10 min``, ``1 h``: as in a threshold."""

from __future__ import annotations

import re

from monitor.alert.grammar import seconds_in
from monitor.errors import BadCall


def seconds_of(option: str, text: str) -> float:
    """The seconds of a duration such as 30s, 5m, 2 h. BadCall names the option."""
    match = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?)\s*([a-z]+)", text.strip().lower())
    seconds = seconds_in(match[2]) if match else None
    if match is None or seconds is None or seconds < 1:
        raise BadCall(f"{option} {text} is not a duration.", "Write a number and a unit: 30s, 5m or 2h.")
    return float(match[1]) * seconds
