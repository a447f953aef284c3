"""Tacotron 2 and the many speech models that started from it.

``Train loss 120 0.481233 Grad Norm 0.912304 1.05s/it``: the iteration, its loss, and the seconds that this iteration took.
``Validation loss 500: 0.52`` stands on a line of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import Reading

FORMAT = "tacotron2"
GATES = (" Grad Norm ",)

_NUMBER = r"-?\d{1,15}(?:\.\d{0,20})?(?:e[-+]?\d{1,3})?|nan|inf"
_LINE = re.compile(
    rf"\bTrain loss (?P<step>\d{{1,12}}) (?P<loss>{_NUMBER}) Grad Norm (?:{_NUMBER}) (?P<time>[\d.]{{1,20}})s/it"
)


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    match = _LINE.search(text)
    if match is not None:
        yield Reading(
            format=FORMAT,
            step=count(match["step"]),
            time_s=duration_s(number(match["time"])),
            loss=number(match["loss"]),
        )
