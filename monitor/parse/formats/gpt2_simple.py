"""The finetuning scripts of GPT-2's first year (nshepperd's fork, gpt-2-simple).

``[120 | 96.31] loss=2.91 avg=3.02``: the step, seconds since the loop began, the loss of the step and its moving average.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, number
from monitor.parse.rows import Reading

FORMAT = "gpt-2-simple"
GATES = ("] loss=",)

_LINE = re.compile(
    r"\[(?P<step>\d{1,12}) \| (?P<clock>\d{1,9}\.\d{1,3})\] loss=(?P<loss>-?\d{1,12}\.\d{1,6}|nan|-?inf) avg="
)


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    match = _LINE.search(text)
    if match is not None:
        yield Reading(
            format=FORMAT,
            step=count(match["step"]),
            time_s=number(match["clock"]),
            meaning="clock",
            loss=number(match["loss"]),
        )
