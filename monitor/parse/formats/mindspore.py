"""MindSpore's LossMonitor and TimeMonitor, which its model zoo uses everywhere.

``epoch: 3 step: 100, loss is 2.31`` with the step within the epoch, and at an epoch's end
``epoch time: 5071.2 ms, per step time: 5.07 ms`` (``Train epoch time: …``; without units it is milliseconds, too): the mean
over the epoch, evaluation not included. It says more of the last report before it. Where data is sunk to the device
only the last step of each epoch is reported: then the step is the epoch, as with Keras.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import NO_STEP, Reading

FORMAT = "mindspore"
GATES = (", loss is ", "per step time: ")

_LINE = re.compile(
    r"\bepoch: (?P<epoch>\d{1,9}),? step: (?P<step>\d{1,12}), loss is:? (?P<loss>-?[\d.]{1,30}(?:e[-+]?\d{1,3})?|nan|inf)"
)
_TIME = re.compile(
    r"(?:^|(?P<kind>\b[A-Z][a-z]{1,9}) |\s)[Ee]poch time:\s{1,9}[\d.]{1,30}(?: m?s)?,"
    r" per step time:\s{1,9}(?P<time>[\d.]{1,30})(?P<unit> m?s)?"
)


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, or the time that belongs to the report before it."""
    match = _LINE.search(text)
    if match is not None:
        yield Reading(
            format=FORMAT,
            step=count(match["step"]),
            epoch=count(match["epoch"]),
            meaning="running-mean",
            loss=number(match["loss"]),
        )
    elif (match := _TIME.search(text)) is not None:
        if match["kind"] in {"Eval", "Evaluate", "Predict"}:
            yield NO_STEP
            return
        value = number(match["time"])
        factor = 1.0 if match["unit"] == " s" else 0.001
        yield Reading(format=FORMAT, meaning="of-last", time_s=None if value is None else duration_s(value * factor))
