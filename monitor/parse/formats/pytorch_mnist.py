"""The line of PyTorch's MNIST example, as copied into Horovod's, SageMaker's and very many own scripts.

``Train Epoch: 1 [10240/60000 (17%)]<TAB>Loss: 1.373``: the number counts samples of the epoch and begins again with
each; it says neither how many steps nor how long they took, so there is a loss and no time. Trap: several ranks write
into one line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, number
from monitor.parse.rows import Reading

FORMAT = "pytorch-mnist"
GATES = ("Train Epoch:",)

_LINE = re.compile(
    r"\bTrain Epoch:\s{0,9}(?P<epoch>\d{1,9})\s{1,9}\[\s{0,9}(?P<step>\d{1,15})/\d{1,15}\s{0,3}"
    r"\(\s{0,3}\d{1,3}(?:\.\d{1,9})?%\)\]"
    r"(?P<rest>[^\[]{0,200})"
)
_LOSS = re.compile(r"(?i)\bloss[:=]?\s{0,9}(?P<loss>-?(?:\d{1,15}(?:\.\d{0,20})?(?:e[-+]?\d{1,3})?|nan|inf))")


def read(text: str) -> Iterator[Reading]:
    """The reports in ``text``."""
    for match in _LINE.finditer(text):
        loss = _LOSS.search(match["rest"])
        yield Reading(
            format=FORMAT,
            step=count(match["step"]),
            epoch=count(match["epoch"]),
            loss=number(loss["loss"]) if loss else None,
        )
