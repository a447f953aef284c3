"""llm.c, in C, CUDA and Python.

``step   40/9536 | loss 7.62 (+0.1z)| norm 1.2 | lr 4e-05 | 2714.20 ms | 54.4% bf16 MFU | 193100 tok/s``; also
``step 40/74: train loss 4.36 (acc 4.31) (29.5 ms, 138000 tok/s)``, ``step 40: train loss 4.36 (took 812.5 ms)`` and
``iteration 40, loss: 4.36, time: 130.1ms, tok/s: 31000``. Milliseconds of that step; tokens of all processes. ``val
loss 3.9`` stands on a line of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import Reading

FORMAT = "llm.c"
GATES = ("tok/s", "(took ")

_NUMBER = r"[-+]?[\d.]+(?:[eE][-+]?\d+)?|-?nan|inf"
_STEP = re.compile(
    rf"\bstep\s+(?P<step>\d{{1,12}})(?:/(?P<total>\d{{1,12}}))?\s*[|:]\s*(?:train )?loss\s+(?P<loss>{_NUMBER})"
    r"(?P<rest>[^\n]{0,240})"
)
_STEP_TIME = re.compile(r"[(| ](?P<time>[\d.]+) ms\b(?!/)(?:[^\n]{0,60}?[|,] (?P<rate>[\d.]+) tok/s)?")
_ITERATION = re.compile(
    rf"\biteration (?P<step>\d{{1,12}}), loss: (?P<loss>{_NUMBER}), time: (?P<time>[\d.]+)ms, tok/s: (?P<rate>[\d.]+)"
)


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    if "loss" not in text or "loss=" in text:
        return
    match = _STEP.search(text)
    if match is not None:
        timed, total = _STEP_TIME.search(match["rest"]), count(match["total"])
    else:
        match = timed = _ITERATION.search(text)
        total = None
    if match is None or timed is None:
        return
    time, rate = number(timed["time"]), number(timed["rate"])
    yield Reading(
        format=FORMAT,
        step=count(match["step"]),
        total=total,
        time_s=None if time is None else duration_s(time * 0.001),
        throughput=rate,
        throughput_unit="" if rate is None else "tokens/s",
        loss=number(match["loss"]),
    )
