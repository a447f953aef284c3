"""Keras 2's bar within an epoch, ``  3/102 [>.......] - ETA: 8:18 - loss: 0.6808``: the step, what is left, the loss.

It gives no time, but what is left of the epoch comes down with its steps. Where the bars of whole epochs stand in the same
log, which give their time a step, these are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import clock_s, count, number
from monitor.parse.rows import Reading

FORMAT = "keras"
GATES = ("] - ETA: ",)

_LINE = re.compile(
    r"(?<![\d/.])(?P<step>\d{1,12})/(?P<total>\d{1,12}) \[[=>.]{1,60}\] - ETA: "
    r"(?:(?P<clock>\d{1,3}(?::\d\d){1,2})|(?P<s>\d{1,6})s)"
    r" - (?:[a-z_]+: [-\d.e]+ - ){0,3}?loss: (?P<loss>-?\d{1,15}(?:\.\d{0,20})?(?:e[-+]?\d{1,3})?)"
)


def read(text: str) -> Iterator[Reading]:
    """The redraws in ``text``."""
    for match in _LINE.finditer(text):
        left = clock_s(match["clock"]) if match["clock"] else number(match["s"])
        yield Reading(
            FORMAT,
            count(match["step"]),
            count(match["total"]),
            meaning="remaining",
            clock_s=left,
            loss=number(match["loss"]),
            bar=match["total"],
        )
