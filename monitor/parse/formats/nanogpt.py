"""nanoGPT and its forks (DLRover's, lit-parrot, llama2.c).

``iter 250: loss 2.1407, time 61.83ms, mfu 17.20%``, DLRover's with ``cuda memory 0.479G`` and a total time behind it,
lit-parrot's as ``time: 61.83ms, speed: 8123 toks/s/device``; llama2.c's as ``250 | loss 2.14 | lr 5e-04 | 61.8ms | mfu
17%``. The time is of that iteration alone, its micro-batches together; at an evaluation it holds the evaluation.
``step 250: train loss 2.10, val loss 2.15`` is an evaluation. DLRover's memory is the peak in 10^9 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import NO_STEP, Reading
from monitor.parse.said import Said

FORMAT = "nanogpt"
GATES = (": loss ", "ms | mfu ", ", val loss ")

_LOSS = r"loss (?P<loss>[-+\d.eEnainf]+)"
_ITER = re.compile(rf"\biter (?P<step>\d{{1,12}}): {_LOSS}, time:? (?P<time>[\d.]+)(?P<unit>ms|s)\b")
_LLAMA2 = re.compile(
    rf"(?<!\S)(?P<step>\d{{1,12}}) \| {_LOSS} \| lr [\d.eE+-]{{1,40}} \| (?P<time>[\d.]+)(?P<unit>ms) \| mfu "
)
_EVALUATION = re.compile(r"\bstep \d{1,12}: train loss [-+\d.eEnainf]{1,40}, val loss ")
_MEMORY = re.compile(r"\bcuda memory (?P<gb>[\d.]+)G\b")
_SPEED = re.compile(r"\bspeed: (?P<rate>[\d.,]+) toks/s/device")
INSIGHTS = tuple(Said(FORMAT, (line,), rates=(("tokens/s/device", _SPEED),)) for line in (_ITER, _LLAMA2))
_GIB_IN_GB = 1e9 / 2**30


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    match = _ITER.search(text) or _LLAMA2.search(text)
    if match is None:
        if _EVALUATION.search(text):
            yield NO_STEP
        return
    time = number(match["time"])
    memory, speed = _MEMORY.search(text, match.end()), _SPEED.search(text, match.end())
    gb = number(memory["gb"]) if memory else None
    rate = number(speed["rate"]) if speed else None
    yield Reading(
        format=FORMAT,
        step=count(match["step"]),
        time_s=None if time is None else duration_s(time * (0.001 if match["unit"] == "ms" else 1.0)),
        throughput=rate,
        throughput_unit="" if rate is None else "tokens/s/device",
        loss=number(match["loss"]),
        gpu_memory_gib=gb * _GIB_IN_GB if gb else None,
    )
