"""DLRM (deep learning recommendation model) and the recommenders made from it.

``Finished training it 2048/30660 of epoch 0, 11.42 ms/it, loss 0.135201, accuracy 96.721 %``: a mean over the print interval;
the counter begins again with each epoch. ``Testing at - 2048/…`` is an evaluation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import NO_STEP, Reading

FORMAT = "dlrm"
GATES = ("Finished training it ", "Testing at - ")

_LINE = re.compile(
    r"\bFinished training it (?P<step>\d{1,12})/\d{1,12} of epoch (?P<epoch>\d{1,9}), (?P<time>[\d.]+) ms/it,"
    r"(?: loss (?P<loss>-?[\d.]+(?:[eE][-+]?\d+)?|nan|inf))?"
)


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    match = _LINE.search(text)
    if match is None:
        if "Testing at - " in text:
            yield NO_STEP
        return
    time = number(match["time"])
    yield Reading(
        format=FORMAT,
        step=count(match["step"]),
        epoch=count(match["epoch"]),
        time_s=None if time is None else duration_s(time * 0.001),
        meaning="interval",
        loss=number(match["loss"]),
    )
