"""DeepSpeed's own reports, every steps_per_print steps, from rank 0.

``… [timer.py:264:stop] epoch=0/micro_step=80/global_step=20, RunningAvgSamplesPerSec=51.2, CurrSamplesPerSec=50.7,
MemAllocated=6.01GB, MaxMemAllocated=19.52GB``: samples of all ranks per second in the last step (first releases:
``0/80, SamplesPerSec=51.2``, a mean since the start, its counter one of micro-batches); GB are 2^30 bytes. There is no
time in it. The pipeline engine prints ``steps: 20 loss: 2.31 iter time (s): 0.512 samples/sec: 31.2``, a mean over the
interval. ``step=20, skipped=0, lr=[…], mom=[…]`` says the same step a second time and nothing of its speed, and stands
at startup for step 0; ``time (ms) | fwd: … | bwd: …`` are parts of a step: none of them is a report.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import NO_STEP, Reading
from monitor.parse.said import Said

FORMAT = "deepspeed"
GATES = ("SamplesPerSec=", "iter time (s):", ", skipped=", "/global_step=")

_NUMBER = r"-?[\d.]+(?:[eE][-+]?\d+)?|-?nan|-?inf"
_TIMER = re.compile(
    r"(?:\bglobal_step=(?P<step>\d{1,12})|(?<![\w./])\d{1,9}/(?P<micro>\d{1,12})), "
    rf"(?:RunningAvgSamplesPerSec=(?:{_NUMBER}), CurrSamplesPerSec=(?P<now>{_NUMBER})|SamplesPerSec=(?P<mean>{_NUMBER}))"
)
_NOW = re.compile(
    r"\b(?:global_step=|\d{1,9}/)(?P<step>\d{1,12}), "
    rf"RunningAvgSamplesPerSec=(?:{_NUMBER}), CurrSamplesPerSec=(?P<rate>{_NUMBER})"
)
_MEAN = re.compile(rf"\b(?:global_step=|\d{{1,9}}/)(?P<step>\d{{1,12}}), SamplesPerSec=(?P<rate>{_NUMBER})")
_OTHER = re.compile(r"\bstep=\d{1,12}, skipped=\d|\bglobal_step=\d{1,12}, vm ")
_PEAK = re.compile(r"\bMaxMemAllocated=(?P<gib>[\d.]+)GB")
_PIPELINE = re.compile(
    rf"\bsteps: (?P<step>\d{{1,12}}) loss: (?P<loss>{_NUMBER}) [^\n]{{0,300}}?"
    rf"\biter time \(s\): (?P<time>{_NUMBER}) samples/sec: (?P<rate>{_NUMBER})"
)
INSIGHTS = tuple(Said(FORMAT, (line,)) for line in (_NOW, _MEAN, _PIPELINE))


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    if (match := _TIMER.search(text)) is not None:
        peak = _PEAK.search(text, match.end())
        rate = _positive(match["now"] or match["mean"])
        yield Reading(
            format=FORMAT,
            step=count(match["step"] or match["micro"]),
            meaning="step" if match["now"] else "running-mean",
            throughput=rate,
            throughput_unit="" if rate is None else "samples/s",
            gpu_memory_gib=_positive(peak["gib"]) if peak else None,
        )
    elif (match := _PIPELINE.search(text)) is not None:
        rate = _positive(match["rate"])
        yield Reading(
            format=FORMAT,
            step=count(match["step"]),
            time_s=duration_s(number(match["time"])),
            meaning="interval",
            throughput=rate,
            throughput_unit="" if rate is None else "samples/s",
            loss=number(match["loss"]),
        )
    elif _OTHER.search(text):
        yield NO_STEP


def _positive(text: str) -> float | None:
    """0, as of memory that the device does not count, and infinities are no measurements."""
    value = number(text)
    return value if value is not None and math.isfinite(value) and value > 0 else None
