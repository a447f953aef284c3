"""Deeplearning4j's ScoreIterationListener.

``… ScoreIterationListener - Score at iteration 100 is 1.3935213258387884``: the score is the loss of that iteration; no time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, number
from monitor.parse.rows import Reading

FORMAT = "dl4j"
GATES = ("Score at iteration ",)

_LINE = re.compile(r"\bScore at iteration (?P<step>\d{1,12}) is (?P<loss>-?\d{1,15}(?:\.\d{1,20})?(?:E-?\d{1,3})?|NaN)")


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    if (match := _LINE.search(text)) is not None:
        yield Reading(FORMAT, count(match["step"]), loss=number(match["loss"]))
