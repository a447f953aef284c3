"""OpenMMLab's trainers: mmcv's TextLoggerHook and mmengine's LogProcessor (MMDetection, MMSegmentation, MMPose …).

``Epoch [1][20/80]<TAB>lr: 1.0e-02, eta: 1 day, 0:10:35, time: 0.61, data_time: 0.2, memory: 2962, loss: 1.4`` (mmcv),
``Epoch(train)  [1][20/80]  lr: 1.0e-02  eta: 0:10:35  time: 0.61  …`` (mmengine), ``Iter [50/20000]`` and
``Iter(train) [50/20000]`` where iterations are counted. The time is the mean of an iteration over the log interval, in
seconds; memory is MiB. Traps: an eta of more than a day holds a comma; the step of an Epoch line begins again with each
epoch; lines of ``(val)`` and ``(test)`` look alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import NO_STEP, Reading

FORMAT = "openmmlab"
GATES = ("data_time: ",)

_EPOCH = re.compile(
    r"\bEpoch(?:\(train\))?[ \t]{0,20}\[\s{0,9}(?P<epoch>\d{1,9})\]\[\s{0,9}(?P<step>\d{1,15})/\d{1,15}\](?P<rest>\s.*)"
)
_ITER = re.compile(r"\bIter(?:\(train\))?[ \t]{0,20}\[\s{0,9}(?P<step>\d{1,15})/(?P<total>\d{1,15})\](?P<rest>\s.*)")
_EVALUATION = re.compile(r"\b(?:Epoch|Iter)\((?:val|test)\)")
_TIME = re.compile(r"(?<![\w.])time: (?P<time>\d{1,9}(?:\.\d{0,20})?)(?=[,\s]|$)")
_MEMORY = re.compile(r"(?<![\w.])memory: (?P<mib>\d{1,9})(?=[,\s]|$)")
_LOSS = re.compile(r"(?<![\w.])loss: (?P<loss>[-+]?(?:\d[\d.eE+-]{0,30}|nan|inf))")


def read(text: str) -> Iterator[Reading]:
    """The report of training in ``text``, if there is one; NO_STEP for one of an evaluation."""
    if "poch" not in text and "Iter" not in text:
        return
    match = _EPOCH.search(text) or _ITER.search(text)
    if match is None or (time := _TIME.search(rest := match["rest"])) is None:
        if _EVALUATION.search(text):
            yield NO_STEP
        return
    found = match.groupdict()
    loss, memory = _LOSS.search(rest), _MEMORY.search(rest)
    mib = number(memory["mib"]) if memory else None
    yield Reading(
        format=FORMAT,
        step=count(found["step"]),
        total=count(found.get("total")),
        epoch=count(found.get("epoch")),
        time_s=duration_s(number(time["time"])),
        meaning="interval",
        loss=number(loss["loss"]) if loss else None,
        gpu_memory_gib=mib / 1024 if mib else None,
    )
