"""tinygrad's training examples.

``  53  221.74 ms run,    2.22 ms python,  219.52 ms CL,  803.39 loss, 0.0008 LR, 4.66 GB used,   3042.49 GFLOPS``: the step
leads without a name; "run" is the whole step, what follows are parts of it. GB are 10^9 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import Reading

FORMAT = "tinygrad"
GATES = (" ms run, ",)

_LINE = re.compile(r"(?:^|\s)(?P<step>\d{1,12})\s{1,9}(?P<time>[\d.]{1,20}) ms run, (?P<rest>[^\n]{0,400})")
_LOSS = re.compile(r", {1,9}(?P<loss>-?[\d.]{1,20}(?:e[-+]?\d{1,3})?|nan|inf) loss\b")
_MEMORY = re.compile(r", {1,9}(?P<gb>[\d.]{1,20}) GB used\b")
_GIB_OF_A_GB = 1e9 / 1024**3


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    match = _LINE.search(text)
    if match is None:
        return
    time, loss, memory = number(match["time"]), _LOSS.search(match["rest"]), _MEMORY.search(match["rest"])
    gigabytes = number(memory["gb"]) if memory else None
    yield Reading(
        format=FORMAT,
        step=count(match["step"]),
        time_s=None if time is None else duration_s(time * 0.001),
        loss=number(loss["loss"]) if loss else None,
        gpu_memory_gib=gigabytes * _GIB_OF_A_GB if gigabytes else None,
    )
