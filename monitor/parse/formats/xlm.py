"""XLM and the trainers made from it.

``INFO - 03/09/21 10:22:31 - 0:02:41 -      85 -   20.13 sent/s -  5153.02 words/s - MLM-en:  7.9000 -  - model LR: 1e-4``:
the clock counts whole seconds since the process began, the rates are of this process over the last iterations. The
loss is taken where there is one objective; several stand side by side between "||".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import clock_s, count, number
from monitor.parse.rows import Reading

FORMAT = "xlm"
GATES = (" sent/s - ",)

_LINE = re.compile(
    r"\b(?P<clock>(?:\d{1,4} days?, )?\d{1,2}:\d\d:\d\d) -\s+(?P<step>\d{1,12}) -\s+[\d.]+ sent/s -\s+"
    r"(?P<words>[\d.]+) words/s - (?P<losses>[^\n]{0,600})"
)
_LOSS = re.compile(r"[\w-]+:\s+(?P<loss>[\d.eE+-]+|nan|inf)(?=\s+-|\s*$)")


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    match = _LINE.search(text)
    if match is None:
        return
    losses = match["losses"]
    loss = _LOSS.match(losses) if "||" not in losses else None
    words = number(match["words"])
    yield Reading(
        format=FORMAT,
        step=count(match["step"]),
        meaning="interval",
        clock_s=clock_s(match["clock"]),
        clock_tick_s=1.0,
        throughput=words,
        throughput_unit="" if words is None else "words/s",
        loss=number(loss["loss"]) if loss else None,
    )
