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

from monitor.parse.columns import Columns, counts, numbers
from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import Reading

FORMAT = "smp"
GATES = ("Loss:", "step time is")

_NUMBER = r"[-+]?(?:\d[\d,]*\.?\d*(?:[eE][-+]?\d+)?|nan|inf)"
_BATCH = re.compile(
    rf"(?:\((?P<clock>\d+)s\),\s*)?\bBatch:?\s+(?P<step>\d+),?\s+Loss:\s*(?P<loss>{_NUMBER}),"
    rf"\s*Speed:\s*(?P<speed>{_NUMBER})?\s*samples/sec",
    re.IGNORECASE,
)
_VIT = re.compile(rf"\bstep:\s*(?P<step>\d+):\s*step time is\s*(?P<time>{_NUMBER})")


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


# The usual line; the rest of the spellings are read one by one.
_USUAL = re.compile(r"Batch (\d+) Loss: ([\d.eE+-]+), Speed: ([\d.eE+-]+) samples/sec")


def read_many(texts: Sequence[str]) -> Iterator[tuple[list[int], Columns]]:
    """The same of the usual lines of the SMP v1 and v2 samples, as columns."""
    found: dict[str, tuple[list[int], list[tuple[str, ...]]]] = {"smp-v1": ([], []), "smp-v2": ([], [])}
    match = _USUAL.match
    for place, text in enumerate(texts):
        start = text.find("Batch ")
        line = match(text, start) if start >= 0 else None
        # Two lines glued together hold two speeds.
        if line is None or text.find("Speed", line.end()) >= 0 or "step time is" in text:
            continue
        head = text[:start].rstrip()
        clock = head[head.rfind("(") + 1 : -3] if head.endswith("s),") else ""
        if clock.isdecimal() and head[-4 - len(clock)] == "(":
            at, rows = found["smp-v1"]
        elif head.endswith("),") or head[-1:].isalnum() or head[-1:] == "_":
            continue
        else:
            at, rows = found["smp-v2"]
        at.append(place)
        rows.append((clock, *line.groups()))
    for name, (at, rows) in found.items():
        if at:
            clocks, steps, losses, speeds = zip(*rows, strict=True)
            columns: Columns = {
                "format": name,
                "meaning": "step",
                "throughput_unit": "samples/s",
                "step": counts(steps),
                "loss": numbers(losses),
                "throughput": numbers(speeds),
                "clock_tick_s": np.ones(len(at)),
            }
            yield at, {**columns, "clock_s": numbers(clocks)} if name == "smp-v1" else columns
