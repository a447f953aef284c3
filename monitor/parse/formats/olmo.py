"""OLMo and OLMo-core: the head of a block of metrics.

``[… rank=0] [step=150/2000,epoch=0]`` with the metrics in the lines below it (``train/CrossEntropyLoss=2.9``). A line
is read by itself, so the head gives the step and no more; where a log keeps the block together as one record, its loss
and its rate are read as well. The first releases leave the epoch out.
``[eval_step=3/10]`` is an evaluation; ``eta=…`` is an estimate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import NO_STEP, Reading

FORMAT = "olmo"
GATES = ("[step=", "[eval_step=")

_HEAD = re.compile(r"\[step=(?P<step>\d{1,12})/(?P<total>\d{1,12})(?:,epoch=\d{1,9})?(?:,eta=[^\]\n]{1,60})?\]")
_LOSS = re.compile(r"\btrain/(?:CrossEntropyLoss|CE loss)=(?P<loss>[-+\d.eEnainf,]+)")
_RATE = re.compile(r"\bthroughput/device/(?:batches_per_second|BPS)=(?P<rate>[\d.eE,+-]+)")


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    head = _HEAD.search(text)
    if head is None:
        if "[eval_step=" in text:
            yield NO_STEP
        return
    loss, found = _LOSS.search(text, head.end()), _RATE.search(text, head.end())
    rate = number(found["rate"]) if found else None
    time_s = duration_s(1.0 / rate) if rate else None
    yield Reading(
        format=FORMAT,
        step=count(head["step"]),
        total=count(head["total"]),
        time_s=time_s,
        meaning="interval",
        throughput=rate if time_s is not None else None,
        throughput_unit="it/s" if time_s is not None else "",
        loss=number(loss["loss"]) if loss else None,
    )
