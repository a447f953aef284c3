"""CatBoost's iterations.

``200:<TAB>learn: 0.4512<TAB>test: 0.4705<TAB>best: 0.4705 (200)<TAB>total: 12.3s<TAB>remaining: 49s``: an iteration is a
step, counted from 0; total is the time since training began, to three digits below a minute and to the second above;
remaining is an estimate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, number
from monitor.parse.rows import Reading

FORMAT = "catboost"
GATES = ("remaining: ",)

_LINE = re.compile(
    r"(?<![\w.:])(?P<step>\d{1,15}):\s{1,12}(?:learn: (?P<loss>-?\d[\d.e+-]{0,30}|nan|-?inf)\s{1,12})?"
    r"(?=learn|test|best|total)[^\n]{0,120}?"
    r"\btotal: (?P<total>(?:\d{1,9}(?:\.\d{1,9})?(?:us|ms|d|h|m|s) ?){1,4})\s{1,12}remaining: "
)
_PART = re.compile(r"(?P<value>[\d.]+)(?P<unit>us|ms|d|h|m|s)")
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def read(text: str) -> Iterator[Reading]:
    """The iteration that ``text`` reports, if it does."""
    match = _LINE.search(text)
    if match is None:
        return
    clock_s = sum((number(part["value"]) or 0.0) * _SECONDS[part["unit"]] for part in _PART.finditer(match["total"]))
    yield Reading(
        format=FORMAT,
        step=count(match["step"]),
        meaning="clock",
        clock_s=clock_s,
        # From a minute on, and there it matters.
        clock_tick_s=1.0,
        loss=number(match["loss"]),
    )
