"""timm (pytorch-image-models), train.py.

``Train: 0 [  50/1251 (  4%)]  Loss: 6.91 (6.93)  Time: 0.512s, 2000.00/s  (0.530s, 1932.08/s)  LR: 1.000e-04  Data: …``:
the first time is the last update alone (gradient accumulation included), in seconds, with its samples/s over all
devices; in brackets are the means since the epoch's start. The index counts updates from 0, anew in each epoch.
Trap: ``Test: [   0/48]`` is validation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import Reading

FORMAT = "timm"
GATES = ("Train: ",)

_NUMBER = r"(?:\d{1,15}(?:\.\d{0,20})?(?:e[-+]?\d{1,3})?)"
_LINE = re.compile(
    r"\bTrain: (?P<epoch>\d{1,9}) \[\s{0,9}(?P<step>\d{1,15})/\d{1,15} \(\s{0,3}\d{1,3}%\)\](?P<rest>.*)"
)
_TIME = re.compile(rf"\bTime:\s{{0,9}}(?P<time>{_NUMBER})s,\s{{0,9}}(?P<rate>{_NUMBER})/s")
_LOSS = re.compile(rf"\bLoss:\s{{0,9}}(?P<loss>-?{_NUMBER}|nan|-?inf)")


def read(text: str) -> Iterator[Reading]:
    """The report of training in ``text``, if there is one."""
    match = _LINE.search(text)
    if match is None or (time := _TIME.search(rest := match["rest"])) is None:
        return
    loss = _LOSS.search(rest)
    yield Reading(
        format=FORMAT,
        step=count(match["step"]),
        epoch=count(match["epoch"]),
        time_s=duration_s(number(time["time"])),
        throughput=number(time["rate"]),
        throughput_unit="samples/s",
        loss=number(loss["loss"]) if loss else None,
    )
