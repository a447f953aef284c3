"""The line of PyTorch's CIFAR-10 tutorial, which very many own scripts and SageMaker's examples have copied.

``[2,  4000] loss: 1.843``: epoch and batch of the epoch, both from 1, and the mean loss since the last line; no time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, number
from monitor.parse.rows import Reading

FORMAT = "pytorch-cifar"
GATES = ("] loss: ", "] train loss: ")

_LINE = re.compile(
    r"(?:^|(?<=[\s:>]))\[(?P<epoch>\d{1,6}),\s{1,8}(?P<step>\d{1,9})(?:/\d{1,9})?\] (?:train )?loss: "
    r"(?P<loss>-?\d{1,15}(?:\.\d{0,20})?(?:e[-+]?\d{1,3})?|nan|-?inf)(?=[\s,;|]|$)"
)


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    match = _LINE.search(text)
    if match is not None:
        yield Reading(format=FORMAT, step=count(match["step"]), epoch=count(match["epoch"]), loss=number(match["loss"]))
