"""Trax, successor of Tensor2Tensor (whose own lines are the Estimator's, see ``tf_estimator``).

``Step    200: Ran 100 train steps in 12.34 secs``: the line names both the steps and the seconds since the last one. Trap:
metrics stand on lines of their own, ``Step    200: train CrossEntropyLoss |  9.1`` and ``eval`` alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import Reading

FORMAT = "trax"
GATES = (" train steps in ",)

_LINE = re.compile(
    r"\bStep\s{1,15}(?P<step>\d{1,15}): Ran (?P<done>\d{1,15}) train steps in (?P<seconds>\d{1,9}(?:\.\d{0,20})?) secs"
)


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    match = _LINE.search(text)
    if match is None:
        return
    seconds, done = number(match["seconds"]), count(match["done"])
    yield Reading(
        format=FORMAT,
        step=count(match["step"]),
        time_s=duration_s(seconds / done) if seconds and done else None,
        meaning="interval",
    )
