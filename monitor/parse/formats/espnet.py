"""ESPnet2's trainer.

``2epoch:train:51-100batch: iter_time=0.01, forward_time=0.2, loss_ctc=90.1, loss=80.2, backward_time=0.3, train_time=1.05``:
train_time is the mean time of an optimizer step since the last report, in seconds, accumulated batches included; the number
counts batches of the epoch. Traps: ``valid`` lines of the same form; iter_time is the wait for data; the line ``2epoch
results:`` sums up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import Reading

FORMAT = "espnet"
GATES = ("epoch:train:",)

_NUMBER = r"(?:\d{1,15}(?:\.\d{0,20})?(?:e[-+]?\d{1,3})?)"
_LINE = re.compile(r"\b(?P<epoch>\d{1,9})epoch:train:\d{1,15}-(?P<step>\d{1,15})batch: (?P<rest>.*)")
_TIME = re.compile(rf"\btrain_time=(?P<time>{_NUMBER})")
_LOSS = re.compile(rf"(?<![\w.])loss=(?P<loss>-?{_NUMBER}|nan|-?inf)")


def read(text: str) -> Iterator[Reading]:
    """The report of training in ``text``, if there is one."""
    match = _LINE.search(text)
    if match is None:
        return
    time, loss = _TIME.search(match["rest"]), _LOSS.search(match["rest"])
    yield Reading(
        format=FORMAT,
        step=count(match["step"]),
        epoch=count(match["epoch"]),
        time_s=duration_s(number(time["time"])) if time else None,
        meaning="interval",
        loss=number(loss["loss"]) if loss else None,
    )
