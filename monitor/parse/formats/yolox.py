"""YOLOX.

``epoch: 1/300, iter: 10/1250, gpu mem: 5000Mb, mem: 10.1Gb, iter_time: 0.512s, data_time: 0.010s, total_loss: 10.1, …``:
the time is the mean of an iteration since the last report, in seconds; the iteration counts from 1 and begins again with
each epoch; gpu mem (older: mem) is MiB. Trap: ETA.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import Reading

FORMAT = "yolox"
GATES = ("iter_time: ",)

_NUMBER = r"(?:\d{1,15}(?:\.\d{0,20})?(?:e[-+]?\d{1,3})?)"
_LINE = re.compile(r"\bepoch: (?P<epoch>\d{1,9})/\d{1,9}, iter: (?P<step>\d{1,15})/\d{1,15}, (?P<rest>.*)")
_TIME = re.compile(rf"\biter_time: (?P<time>{_NUMBER})s")
_LOSS = re.compile(rf"\btotal_loss: (?P<loss>-?{_NUMBER}|nan|-?inf)")
_MEMORY = re.compile(rf"\b(?:gpu )?mem: (?P<mib>{_NUMBER})Mb")


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    match = _LINE.search(text)
    if match is None or (time := _TIME.search(rest := match["rest"])) is None:
        return
    loss, memory = _LOSS.search(rest), _MEMORY.search(rest)
    mib = number(memory["mib"]) if memory else None
    yield Reading(
        format=FORMAT,
        step=count(match["step"]),
        epoch=count(match["epoch"]),
        time_s=duration_s(number(time["time"])),
        meaning="interval",
        loss=number(loss["loss"]) if loss else None,
        gpu_memory_gib=mib / 1024 if mib else None,
    )
