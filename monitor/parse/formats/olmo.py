"""OLMo and OLMo-core: a block of metrics, its head and what stands in the lines below it.

``[… rank=0] [step=150/2000,epoch=0]`` and then ``train/CrossEntropyLoss=2.9``, ``throughput/device/batches_per_second=0.17``
(the mean of a window), ``System/Peak GPU Memory (MB)=12,410`` (10^6 bytes); in OLMo-core ``train/CE loss=2.9`` and
``throughput/device/BPS=0.17`` (of that step). The head gives the step, each line below it is one that says more of the
report before it; some logs keep the block together as one record. The first releases leave the epoch out.
``[eval_step=3/10]`` is an evaluation; ``eta=…`` is an estimate; ``BPS (actual avg)`` is the mean over the run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import NO_STEP, Reading

FORMAT = "olmo"
GATES = (
    *("[step=", "[eval_step=", "train/CrossEntropyLoss=", "train/CE loss=", "System/Peak GPU Memory (MB)="),
    *("throughput/device/batches_per_second=", "throughput/device/BPS="),
)

_HEAD = re.compile(r"\[step=(?P<step>\d{1,12})/(?P<total>\d{1,12})(?:,epoch=\d{1,9})?(?:,eta=[^\]\n]{1,60})?\]")
_LOSS = re.compile(r"\btrain/(?:CrossEntropyLoss|CE loss)=(?P<loss>[-+\d.eEnainf,]{1,40})")
_RATE = re.compile(r"\bthroughput/device/(?:batches_per_second|BPS)=(?P<rate>[\d.eE,+-]{1,40})")
_MEMORY = re.compile(r"\bSystem/Peak GPU Memory \(MB\)=(?P<mb>[\d.,eE+]{1,40})")
_OF_LAST = re.compile(r"\s*(?:train|throughput|System)/")
_GIB_OF_A_MB = 1e6 / 1024**3


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, or what it says of the report before it."""
    head = _HEAD.search(text)
    if head is not None:
        yield _reading(text, head.end())._replace(step=count(head["step"]), total=count(head["total"]))
    elif "[eval_step=" in text:
        yield NO_STEP
    elif _OF_LAST.match(text):
        yield _reading(text, 0)._replace(meaning="of-last")


def _reading(text: str, start: int) -> Reading:
    loss, found, memory = (pattern.search(text, start) for pattern in (_LOSS, _RATE, _MEMORY))
    rate, megabytes = number(found["rate"]) if found else None, number(memory["mb"]) if memory else None
    time_s = duration_s(1.0 / rate) if rate else None
    return Reading(
        format=FORMAT,
        time_s=time_s,
        meaning="interval",
        throughput=None if time_s is None else rate,
        throughput_unit="" if time_s is None else "it/s",
        loss=number(loss["loss"]) if loss else None,
        gpu_memory_gib=megabytes * _GIB_OF_A_MB if megabytes else None,
    )
