"""Megatron-LM and its descendants (Megatron-DeepSpeed, the BLOOM fork, NeMo's older loop).

`` iteration  20/ 1000 | … | elapsed time per iteration (ms): 1572.7 | … | lm loss: 1.21E+01 | …``: the time is the mean
over the log interval, its unit stands in the key (ms or s); printed by the last rank only, and global.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import Reading

FORMAT = "megatron"
GATES = ("elapsed time per iteration",)

_RECORD = re.compile(
    r"\biteration\s+(?P<step>\d+)\s*/\s*(?P<total>\d+)\s*\|"
    r".*?elapsed time per iteration \((?P<unit>ms|s)\):\s*(?P<time>[\d.eE+-]+)",
    re.DOTALL,
)
_LOSS = re.compile(r"\blm[ -]loss:\s*(?P<loss>[-+\d.eEnainf]+)")
_TFLOPS = re.compile(r"throughput per GPU \((?P<unit>TFLOP/s/GPU)\):\s*(?P<rate>[\d.eE+]+)")
_SAMPLES = re.compile(r"\bsamples per second:\s*(?P<rate>[\d.eE+]+)")


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    match = _RECORD.search(text)
    if match is None:
        return
    printed = number(match["time"])
    time_s = None if printed is None else printed * (0.001 if match["unit"] == "ms" else 1.0)
    loss = _LOSS.search(text, match.start())
    samples = _SAMPLES.search(text) if "samples per second" in text else None
    throughput = samples or (_TFLOPS.search(text) if "throughput per GPU" in text else None)
    rate = number(throughput["rate"]) if throughput else None
    yield Reading(
        format=FORMAT,
        step=count(match["step"]),
        total=count(match["total"]),
        time_s=duration_s(time_s),
        meaning="interval",
        throughput=rate,
        throughput_unit="" if rate is None else "samples/s" if samples else "TFLOP/s/GPU",
        loss=number(loss["loss"]) if loss else None,
    )
