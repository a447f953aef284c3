"""MosaicML Composer and llm-foundry: a block of metrics, its head and what stands in the lines below it.

``[batch=1200/4800]:`` and then ``Train loss/train/total: 2.31``, ``Train throughput/batches_per_sec: 0.41`` (the mean of the
last 100 batches), ``Train memory/peak_reserved_mem: 51.3`` (10^9 bytes): the head gives the step, each line below it is
one that says more of the report before it; some logs keep the block together as one record. ``[epoch=2][batch=31/196]:``
counts within an epoch. ``time/batch`` inside the block is one behind its head, the other ``time/…`` are sums since the
start; ``[Eval batch=…`` is an evaluation; heads that count tokens or samples, ``[token=…``, give no step. Releases of 2022
repeat the head before each metric: the line of the loss is the report.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import NO_STEP, Reading

FORMAT = "composer"
GATES = (
    *("[batch=", "[Eval batch=", "Train loss/train/total:", "Train loss/train:"),
    *("Train throughput/batches_per_sec:", "Train memory/peak_reserved_mem:"),
)

_HEAD = re.compile(r"(?:\[epoch=(?P<epoch>\d{1,9})\])?\[batch=(?P<step>\d{1,12})(?:/(?P<total>\d{1,12}))?\]:?[ \t]*")
_NUMBER = r"[-+\d.eEnainf]{1,40}"
_LOSS = re.compile(rf'\bloss/train(?:/total)?"?:\s*(?P<loss>{_NUMBER})')
_RATE = re.compile(rf"\bTrain throughput/batches_per_sec:\s*(?P<rate>{_NUMBER})")
_MEMORY = re.compile(rf"\bTrain memory/peak_reserved_mem:\s*(?P<gb>{_NUMBER})")
_OF_LAST = re.compile(r"\s*Train (?:loss|throughput|memory)/")
_GIB_OF_A_GB = 1e9 / 1024**3


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, or what it says of the report before it."""
    head = _HEAD.search(text)
    if head is None:
        if _OF_LAST.match(text):
            yield _reading(text, 0)._replace(meaning="of-last")
        elif "[Eval batch=" in text:
            yield NO_STEP
        return
    found = _reading(text, head.end())
    alone = head.end() == len(text) or text[head.end()] == "\n"
    if found.loss is None and not alone:
        yield NO_STEP
        return
    epoch = count(head["epoch"])
    yield found._replace(
        step=count(head["step"]),
        # Within an epoch the number behind the slash is the epoch's length, not the plan.
        total=count(head["total"]) if epoch is None else None,
        epoch=epoch,
    )


def _reading(text: str, start: int) -> Reading:
    loss, found, memory = (pattern.search(text, start) for pattern in (_LOSS, _RATE, _MEMORY))
    rate, gigabytes = number(found["rate"]) if found else None, number(memory["gb"]) if memory else None
    time_s = duration_s(1.0 / rate) if rate else None
    return Reading(
        format=FORMAT,
        time_s=time_s,
        meaning="smoothed",
        throughput=None if time_s is None else rate,
        throughput_unit="" if time_s is None else "it/s",
        loss=number(loss["loss"]) if loss else None,
        gpu_memory_gib=gigabytes * _GIB_OF_A_GB if gigabytes else None,
    )
