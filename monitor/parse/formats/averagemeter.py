"""The AverageMeter lines of PyTorch's ImageNet example and its kin (Apex, HRNet, Swin, torchreid).

``Epoch: [0][  10/5005]<TAB>Time  0.51 (  1.23)<TAB>Data  0.01 (  0.10)<TAB>Loss 6.9e+00 (7.0e+00)`` and Swin's
``Train: [0/300][10/1251]<TAB>eta 0:20:00 lr 0.0001<TAB>time 0.35 (0.45)<TAB>loss 6.9 (7.0)<TAB>mem 5000MB``: of
"value (mean)" the value is the last iteration alone, in seconds; the index counts from 0 and begins again with each
epoch. ``Speed 20.1 samples/s`` or ``Speed 500.1 (450.2)`` is in samples/s. Traps: ``Test: [ 10/196]`` has the same
fields; the time to load data stands in brackets, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import Reading

FORMAT = "averagemeter"
GATES = ("poch: [", "poch [", "Train: [")

_NUMBER = r"(?:\d{1,15}(?:\.\d{0,20})?(?:e[-+]?\d{1,3})?)"
_LINE = re.compile(
    r"\b(?:[Ee]poch:?|Train:) ?\[\s{0,9}(?P<epoch>\d{1,9})(?:/\d{1,9})?\],?\s?\[\s{0,9}(?P<step>\d{1,15})/\d{1,15}\]"
    r"(?P<rest>.*)"
)
_TIME = re.compile(
    rf"(?i)(?<!data )(?<!data_)(?<![\w.])(?:batch )?time:?\s{{1,9}}(?P<time>{_NUMBER})\s?s?\s?\(\s{{0,9}}\d"
)
_LOSS = re.compile(rf"(?i)(?<![\w.])loss:?\s{{1,9}}(?P<loss>-?{_NUMBER}|nan|-?inf)")
# The loss itself, not "cls loss": where another word stands before each, the first.
_WHOLE_LOSS = re.compile(rf"(?<![A-Za-z] ){_LOSS.pattern.removeprefix('(?i)')}", re.IGNORECASE)
_SPEED = re.compile(rf"(?i)(?<![\w.])speed:?\s{{1,9}}(?P<rate>{_NUMBER})\s?(?:\(|samples/s)")
_MEMORY = re.compile(r"(?i)(?<![\w.])mem(?:ory)?:?\s{1,9}(?P<mib>\d{1,9})\s?MB\b")


def read(text: str) -> Iterator[Reading]:
    """The report of training in ``text``, if there is one."""
    if "(" not in text:
        return  # torchvision's, and bars
    match = _LINE.search(text)
    if match is None or (time := _TIME.search(rest := match["rest"])) is None:
        return
    loss = _WHOLE_LOSS.search(rest) or _LOSS.search(rest)
    speed, memory = _SPEED.search(rest), _MEMORY.search(rest)
    mib = number(memory["mib"]) if memory else None
    yield Reading(
        format=FORMAT,
        step=count(match["step"]),
        epoch=count(match["epoch"]),
        time_s=duration_s(number(time["time"])),
        throughput=number(speed["rate"]) if speed else None,
        throughput_unit="samples/s" if speed else "",
        loss=number(loss["loss"]) if loss else None,
        gpu_memory_gib=mib / 1024 if mib else None,
    )
