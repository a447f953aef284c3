"""The progress bar of pytorch-cifar, copied into many scripts.

`` [=====>....]  Step: 82ms | Tot: 1m23s | Loss: 1.806 | Acc: 32.240% (16120/50000)``, then, written over its middle,
`` 120/391 ``: what the LAST step took, what the epoch did so far (a unit and the next smaller one), and means of the epoch.
``Step:`` is a time and no counter. The bar of the test set looks alike. It is handed on as a tqdm bar.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import Reading

FORMAT = "tqdm"
GATES = (" | Tot: ",)

_TIME = r"(?:\d{1,9}(?:ms|[Dhms])){1,2}"
_BAR = re.compile(rf"\[=*[>.]{{1,200}}\]\s+Step: (?P<step>{_TIME}) \| Tot: (?P<sum>{_TIME})")
_BEHIND = re.compile(r" (?P<done>\d{1,9})/(?P<total>\d{1,9})\s*$")
_LOSS = re.compile(r"\bLoss: (?P<loss>-?\d{1,12}(?:\.\d{1,9})?|nan|inf)")
_PART = re.compile(r"(\d{1,9})(ms|[Dhms])")
_UNITS = {"D": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3}


def read(text: str) -> Iterator[Reading]:
    """The redraw in ``text``, if there is one."""
    bar = _BAR.search(text)
    if bar is None:
        return
    behind = _BEHIND.search(text, bar.end())
    if behind is None:
        return  # of a screen that was copied, where each epoch's last redraw is left
    loss = _LOSS.search(text, bar.end())
    yield Reading(
        FORMAT,
        count(behind["done"]),
        count(behind["total"]),
        time_s=duration_s(_seconds(bar["step"])),
        clock_s=_seconds(bar["sum"]),
        clock_tick_s=1.0,
        loss=number(loss["loss"]) if loss else None,
        bar="",
    )


def _seconds(text: str) -> float:
    return sum(int(amount) * _UNITS[unit] for amount, unit in _PART.findall(text))
