"""torchvision's MetricLogger and the many trainers that took it over (DETR, DeiT, MAE, DINO, BLIP, LAVIS …).

``Epoch: [0]  [  20/500]  eta: 1:49:41  loss: 0.9 (1.1)  time: 0.5415  data: 0.4872  max mem: 10412``: the time is the
mean of the last 20 iterations in seconds, whatever the print interval; of "value (mean)" the first is the recent one;
the index counts from 0 and begins again with each epoch; max mem is MiB. Traps: evaluation prints the same fields
under a header of its own, so only headers that speak of an epoch or of training count; the line "Total time" is a
summary.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import NO_STEP, Reading

FORMAT = "metriclogger"
GATES = ("]  eta: ", "] eta: ", "]\teta: ", "]#011eta: ")

_NUMBER = r"(?:\d{1,15}(?:\.\d{0,20})?(?:e[-+]?\d{1,3})?)"
_LINE = re.compile(r"\[\s{0,12}(?P<step>\d{1,15})/\d{1,15}\]\s{1,4}eta: (?P<rest>.*)")
# Headers are the trainer's own words; what is evaluated says so.
_TRAINING = re.compile(r"(?i)epoch|train")
_NOT_TRAINING = re.compile(r"(?i)\b(?:test|eval|valid|val\b|infer|generat|predict)")
_EPOCH = re.compile(r"(?i)epoch:?\s{0,3}\[?\s{0,6}(?P<epoch>\d{1,9})")
_TIME = re.compile(rf"(?<![\w.])time: (?P<time>{_NUMBER})")
_LOSS = re.compile(rf"(?<![\w.])(?:total_)?loss: (?P<loss>-?{_NUMBER}|nan|-?inf)")
_IMAGES = re.compile(rf"(?<![\w.])img/s: (?P<rate>{_NUMBER})")
_MEMORY = re.compile(rf"\bmax mem: (?P<mib>{_NUMBER})")


def read(text: str) -> Iterator[Reading]:
    """The report of training in ``text``, if there is one; NO_STEP for one of an evaluation."""
    match = _LINE.search(text)
    if match is None:
        return
    header = text[max(0, match.start() - 48) : match.start()]
    time = _TIME.search(rest := match["rest"])
    if time is None:
        return
    if _NOT_TRAINING.search(header):
        yield NO_STEP
        return
    if not _TRAINING.search(header):
        return
    epoch, loss, images, memory = _EPOCH.search(header), _LOSS.search(rest), _IMAGES.search(rest), _MEMORY.search(rest)
    mib = number(memory["mib"]) if memory else None
    yield Reading(
        format=FORMAT,
        step=count(match["step"]),
        epoch=count(epoch["epoch"]) if epoch else None,
        time_s=duration_s(number(time["time"])),
        meaning="smoothed",
        throughput=number(images["rate"]) if images else None,
        throughput_unit="images/s" if images else "",
        loss=number(loss["loss"]) if loss else None,
        gpu_memory_gib=mib / 1024 if mib else None,
    )
