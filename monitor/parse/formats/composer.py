"""MosaicML Composer and llm-foundry: the head of a block of metrics.

``[batch=1200/4800]:`` with the metrics in the lines below it (``Train loss/train/total: 2.31``). A line is read by
itself, so the head gives the step and no more; where a log keeps the block together as one record, the loss too.
``[epoch=2][batch=31/196]:`` counts within an epoch. ``time/batch`` inside the block is one behind its head, the other
``time/…`` are sums since the start; ``[Eval batch=…`` is an evaluation; heads that count tokens or samples,
``[token=…``, give no step. Releases of 2022 repeat the head before each metric: the line of the loss is the report.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, number
from monitor.parse.rows import NO_STEP, Reading

FORMAT = "composer"
GATES = ("[batch=", "[Eval batch=")

_HEAD = re.compile(r"(?:\[epoch=(?P<epoch>\d{1,9})\])?\[batch=(?P<step>\d{1,12})(?:/(?P<total>\d{1,12}))?\]:?[ \t]*")
_LOSS = re.compile(r'\bloss/train(?:/total)?"?:\s*(?P<loss>[-+\d.eEnainf]+)')


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    head = _HEAD.search(text)
    if head is None:
        if "[Eval batch=" in text:
            yield NO_STEP
        return
    loss = _LOSS.search(text, head.end())
    alone = head.end() == len(text) or text[head.end()] == "\n"
    if loss is None and not alone:
        yield NO_STEP
        return
    epoch = count(head["epoch"])
    yield Reading(
        format=FORMAT,
        step=count(head["step"]),
        # Within an epoch the number behind the slash is the epoch's length, not the plan.
        total=count(head["total"]) if epoch is None else None,
        epoch=epoch,
        loss=number(loss["loss"]) if loss else None,
    )
