"""nanochat and build-nanogpt.

``step 00120/21400 (0.56%) | loss: 4.81 | lrm: 1.00 | dt: 512.30ms | tok/sec: 1,023,400 | mfu: 47.1``, build-nanogpt's as
``step   120 | loss: 4.81 | lr 6e-04 | norm: 1.1 | dt: 338.52ms | tok/sec: 1548700.10`` or with commas between. dt is of
that step, its micro-batches together; the tokens are those of all processes. Validation lines have no dt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import NO_STEP, Reading

FORMAT = "nanochat"
GATES = ("dt: ", "| Validation bpb: ")

_LINE = re.compile(
    r"\bstep\s+(?P<step>\d{1,12})(?:/(?P<total>\d{1,12}))?(?:\s+\([\d.]+%\))?\s*[|,]\s*loss: (?P<loss>[-+\d.eEnainf]+)"
    r"[^\n]{0,200}?\bdt: (?P<time>[\d.]+)\s?ms(?:[ |,]{1,4}tok/sec: (?P<rate>[\d.,]+))?"
)


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    match = _LINE.search(text)
    if match is None:
        if "| Validation bpb: " in text:
            yield NO_STEP
        return
    time, rate = number(match["time"]), number(match["rate"])
    yield Reading(
        format=FORMAT,
        step=count(match["step"]),
        total=count(match["total"]),
        time_s=None if time is None else duration_s(time * 0.001),
        throughput=rate,
        throughput_unit="" if rate is None else "tokens/s",
        loss=number(match["loss"]),
    )
