"""Which words for units of time, percent and money does a threshold understand, as people write them?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

TimeUnit = Literal["s", "m", "h"]

_TIMES: Mapping[TimeUnit, str] = {
    "s": "s sec secs second seconds",
    "m": "m min mins minute minutes",
    "h": "h hr hrs hour hours",
}
#: Of a value of percent, and of one of money.
PERCENT = frozenset({"%", "percent", "pct"})
USD = frozenset({"usd", "$", "dollar", "dollars"})
_UNIT_S: Mapping[TimeUnit, float] = {"s": 1.0, "m": 60.0, "h": 3600.0}
_MILLISECONDS, _MS = frozenset({"ms", "millisecond", "milliseconds"}), 0.001
#: A word -> the unit as it is written out again.
TIME_UNITS: Mapping[str, TimeUnit] = {word: unit for unit, words in _TIMES.items() for word in words.split()}


def seconds_in(word: str) -> float | None:
    """The seconds of one unit of time, by any of its words; None where it is none."""
    unit = TIME_UNITS.get(word)
    return _MS if word in _MILLISECONDS else None if unit is None else _UNIT_S[unit]
