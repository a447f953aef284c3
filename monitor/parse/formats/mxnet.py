"""MXNet: the Speedometer callback, gluon's examples, GluonCV, and the MNIST and ImageNet examples with Horovod.

``Epoch[0] Batch [20-40]<TAB>Speed: 1234.56 samples/sec<TAB>accuracy=0.5`` (older: ``Batch [40]``),
``[Epoch 0][Batch 99], LR: 1E-3, Speed: 12.3 samples/sec, ObjLoss=…``, ``[Epoch 0 Batch 100] Training: accuracy=0.79,
4686.9 samples/s``: samples/s over the batches since the last report. ``Epoch[0]<TAB>Speed=44506.84 samples/s<TAB>Time
cost=5.39`` is the mean of a whole epoch over all ranks, its cost the seconds of that EPOCH; step is then the epoch's
number. No line tells how long a step took. Traps: batches without a speed are printed by every rank; GluonCV's
``[Epoch 0] speed: … time cost: …`` sums up what the batches said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, number
from monitor.parse.rows import Reading

FORMAT = "mxnet"
GATES = ("samples/s",)

_NUMBER = r"(?:\d{1,15}(?:\.\d{0,20})?(?:e[-+]?\d{1,3})?)"
_BATCH = re.compile(
    r"\[?(?:Epoch|Iter) ?\[?(?P<epoch>\d{1,9})\]?\s{0,3}(?:Rank ?\[(?P<rank>\d{1,6})\]\s{0,3})?"
    r"\[?Batch ?\[?(?:\d{1,15}-)?(?P<step>\d{1,15})\]"
    r"(?:/\[\d{1,15}\])?(?P<rest>[^\[]{0,600})"
)
_EPOCH = re.compile(rf"\bEpoch\[(?P<epoch>\d{{1,9}})\]\s{{1,9}}Speed[=:]\s{{0,3}}(?P<rate>{_NUMBER}) samples/s")
_SPEED = re.compile(rf"(?:\bSpeed: {{0,3}}|, )(?P<rate>{_NUMBER}) samples/s")
_LOSS = re.compile(rf"(?<![\w-])(?:loss|cross-entropy)=(?P<loss>-?{_NUMBER}|nan|-?inf)")


def read(text: str) -> Iterator[Reading]:
    """The reports in ``text``."""
    if "poch" not in text and "Iter" not in text:
        return
    found = False
    for match in _BATCH.finditer(text):
        if (speed := _SPEED.search(match["rest"])) is None:
            continue
        found = True
        loss = _LOSS.search(match["rest"])
        yield Reading(
            format=FORMAT,
            step=count(match["step"]),
            epoch=count(match["epoch"]),
            meaning="interval",
            throughput=number(speed["rate"]),
            throughput_unit="samples/s",
            loss=number(loss["loss"]) if loss else None,
            rank=count(match["rank"]),
        )
    if not found and (epoch := _EPOCH.search(text)):
        yield Reading(
            format=f"{FORMAT}-epoch",
            step=count(epoch["epoch"]),
            epoch=count(epoch["epoch"]),
            meaning="interval",
            throughput=number(epoch["rate"]),
            throughput_unit="samples/s",
        )
