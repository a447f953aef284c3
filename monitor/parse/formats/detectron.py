"""Detectron2's CommonMetricPrinter, and maskrcnn-benchmark before it.

``eta: 0:05:22  iter: 19  total_loss: 1.98  loss_cls: 0.6  time: 1.17  data_time: 0.02  lr: 1.6e-05  max_mem: 2725M``:
the time is the mean since the start, in seconds; newer versions print ``last_time:`` beside it, the last iteration
alone, which is what is taken where it stands. maskrcnn-benchmark prints ``time: 0.51 (0.60)``, the median of the last 20
and the mean. Detectron2's iter counts from 0; memory is MiB. Traps: no time in the first iterations; no eta where the
number of iterations is not known. FastReID prints ``epoch/iter: 0/19``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import Meaning, Reading

FORMAT = "detectron"
GATES = ("total_loss: ", "max_mem: ", "max mem: ")

_NUMBER = r"(?:\d{1,15}(?:\.\d{0,20})?(?:e[-+]?\d{1,3})?)"
_LINE = re.compile(r"\biter: (?:\d{1,9}/)?(?P<step>\d{1,15})\s(?P<rest>.*)")
_TIME = re.compile(rf"(?<![\w.])time: (?P<time>{_NUMBER})(?P<mean> \()?")
_LAST = re.compile(rf"(?<![\w.])last_time: (?P<time>{_NUMBER})")
_LOSS = re.compile(rf"(?<![\w.])(?:total_)?loss: (?P<loss>-?{_NUMBER}|nan|-?inf)")
_MEMORY = re.compile(rf"\bmax[_ ]mem: (?P<mib>{_NUMBER})")


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    if "iter: " not in text:
        return
    match = _LINE.search(text)
    if match is None:
        return
    rest = match["rest"]
    loss = _LOSS.search(rest)
    if loss is None:
        return
    mean, last, memory = _TIME.search(rest), _LAST.search(rest), _MEMORY.search(rest)
    meaning: Meaning = "step"
    if last is None and mean is not None:
        meaning = "interval" if mean["mean"] else "running-mean"
    time = last or mean
    mib = number(memory["mib"]) if memory else None
    yield Reading(
        format=FORMAT,
        step=count(match["step"]),
        time_s=duration_s(number(time["time"])) if time else None,
        meaning=meaning,
        loss=number(loss["loss"]),
        gpu_memory_gib=mib / 1024 if mib else None,
    )
