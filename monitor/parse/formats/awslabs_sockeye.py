"""Sockeye.

``[… INFO:sockeye.training] Epoch[0] Batch [150]	Speed: 512.1 samples/sec 13012.2 tokens/sec 2.31 updates/sec	ppl=31.0``,
since release 3 ``E=0 B=150	s/sec=512.10 tok/sec=13012.20 u/sec=2.31	ppl=31.0``: rates over the log interval. Updates
are optimizer steps; the batches counted within the epoch are micro-batches where gradients are accumulated.
``Checkpoint [1] Updates=…`` sums up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import NO_STEP, Reading

FORMAT = "sockeye"
GATES = (" updates/sec", " u/sec=", " Updates/sec=")

_LINE = re.compile(
    r"(?:\bEpoch\[(?P<epoch>\d{1,9})\] Batch \[(?P<step>\d{1,12})\]\s+Speed: [\d.]+ samples/sec [\d.]+ tokens/sec "
    r"(?P<rate>[\d.]+) updates/sec|\bE=(?P<epoch3>\d{1,9}) B=(?P<step3>\d{1,12})\s+s/sec=[\d.]+ tok/sec=[\d.]+ "
    r"u/sec=(?P<rate3>[\d.]+))(?P<rest>[^\n]{0,300})"
)
_CHECKPOINT = re.compile(r"\bCheckpoint \[\d{1,12}\]\s+Updates=")
_LOSS = re.compile(r"\b(?:cross-entropy|ce|loss)=(?P<loss>-?[\d.]+(?:[eE][-+]?\d+)?|nan|inf)")


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    match = _LINE.search(text)
    if match is None:
        if _CHECKPOINT.search(text):
            yield NO_STEP
        return
    rate = number(match["rate"] or match["rate3"])
    loss = _LOSS.search(match["rest"])
    yield Reading(
        format=FORMAT,
        step=count(match["step"] or match["step3"]),
        epoch=count(match["epoch"] or match["epoch3"]),
        time_s=duration_s(1.0 / rate) if rate else None,
        meaning="interval",
        throughput=rate or None,
        throughput_unit="it/s" if rate else "",
        loss=number(loss["loss"]) if loss else None,
    )
