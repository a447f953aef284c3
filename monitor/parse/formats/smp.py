"""The sample trainers of the SageMaker model parallel library, and the published ViT loop.

- SMP v1: ``(11s), Batch 2 Loss: 10.625, Speed: 46.85 samples/sec, TFLOPS/GPU: 4.3``. The clock in front counts whole
  seconds since the training loop began; Speed is of the last single step, global. Some trainers print no number
  after "Speed:".
- SMP v2: ``Batch 9 Loss: 4.1, Speed: 15.2 samples/sec, Model TFLOPS/GPU: 80.1, lr: …``: no clock.
- ViT loop: ``step: 7: step time is 12.5``: by its code seconds since t0, but corrected copies print the step's own
  time, so the series decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from monitor.parse.columns import NUMBER, Columns, counts, matched, numbers
from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import Reading
from monitor.parse.said import Said

FORMAT = "smp"
GATES = ("Loss:", "step time is")

# Bounded: digits that may belong to either side of a missing point would be tried in all ways.
_NUMBER = r"[-+]?(?:\d[\d,]{0,30}\.?\d{0,30}(?:[eE][-+]?\d{1,4})?|nan|inf)"
_BATCH = re.compile(
    rf"(?:\((?P<clock>\d+)s\),\s*)?\bBatch:?\s+(?P<step>\d+),?\s+Loss:\s*(?P<loss>{_NUMBER}),"
    rf"\s*Speed:\s*(?P<speed>{_NUMBER})?\s*samples/sec",
    re.IGNORECASE,
)
_VIT = re.compile(rf"\bstep:\s*(?P<step>\d+):\s*step time is\s*(?P<time>{_NUMBER})")
INSIGHTS = (
    Said("smp-v1", (_BATCH,), names=(("speed", "rate"),)),
    Said("smp-v2", (_BATCH,), names=(("speed", "rate"), ("clock", ""))),
    Said("smp-vit", (_VIT,)),
)


def read(text: str) -> Iterator[Reading]:
    """The reports in ``text``."""
    if "peed" in text or "SPEED" in text:
        for match in _BATCH.finditer(text):
            speed = number(match["speed"])
            clock = match["clock"]
            yield Reading(
                format="smp-v1" if clock else "smp-v2",
                step=count(match["step"]),
                clock_s=number(clock),
                clock_tick_s=1.0,
                throughput=speed,
                throughput_unit="samples/s" if speed is not None else "",
                loss=number(match["loss"]),
            )
    if "step time is" in text:
        for match in _VIT.finditer(text):
            time_s = number(match["time"])
            if duration_s(time_s) is not None:
                yield Reading(format="smp-vit", step=count(match["step"]), time_s=time_s, meaning="either")


# The usual line, with the clock right before it or a logger's head; other spellings are read one by one. Two lines
# glued together hold two speeds.
_USUAL = (
    rf"(?:\((\d{{1,9}})s\), |[^\n(]{{0,200}}[\s\]])?Batch (\d{{1,15}}) Loss: ({NUMBER}), Speed: ({NUMBER}) samples/sec"
    r"(?![^\n]*(?:[Ss]peed|SPEED|step time is))[^\n]*"
)


def read_many(texts: Sequence[str]) -> Iterator[tuple[list[int], Columns]]:
    """The same of the usual lines of the SMP v1 and v2 samples, as columns."""
    at, columns = matched(_USUAL, texts, sure=1)
    if not at:
        return
    clocks, steps, losses, speeds = columns
    yield (
        at,
        {
            "format": ["smp-v1" if clock else "smp-v2" for clock in clocks],
            "meaning": "step",
            "step": counts(steps),
            "clock_s": numbers(clocks),
            "clock_tick_s": np.ones(len(at)),
            "throughput": numbers(speeds),
            "throughput_unit": "samples/s",
            "loss": numbers(losses),
        },
    )
