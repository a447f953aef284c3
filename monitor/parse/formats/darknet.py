"""Darknet, its detector and its classifier.

`` 120: 2.310000, 2.450000 avg loss, 0.001000 rate, 3.912345 seconds, 7680 images, 10.2 hours left``: the iteration's loss and
their smoothed mean, the seconds of this iteration without the wait for its data. The first releases say ``avg,`` and no
hours; the classifier prints the epoch behind the iteration, ``120, 1.870: 0.67, …``. Traps: ``Loaded: 0.000032 seconds``
and the lines of each layer tell other things.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import Reading

FORMAT = "darknet"
GATES = (" rate, ",)

_NUMBER = r"-?(?:\d{1,15}(?:\.\d{0,12})?|nan|inf)"
_LINE = re.compile(
    rf"(?<![\w.,])(?P<step>\d{{1,12}})(?:, \d{{1,9}}\.\d{{1,6}})?: (?P<loss>{_NUMBER}), {_NUMBER} avg(?: loss)?, {_NUMBER} rate, "
    rf"(?P<seconds>{_NUMBER}) seconds, \d{{1,15}} images\b"
)


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    if (match := _LINE.search(text)) is not None:
        yield Reading(
            FORMAT, count(match["step"]), time_s=duration_s(number(match["seconds"])), loss=number(match["loss"])
        )
