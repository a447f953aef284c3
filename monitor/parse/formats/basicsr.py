"""BasicSR and the restoration models trained with it (Real-ESRGAN, GFPGAN, SwinIR's KAIR in part).

``[train_x4..][epoch:  2, iter:  12,300, lr:(1.000e-04,)] [eta: 1 day, 2:00:00, time (data): 0.512 (0.010)] l_pix: 2.1e-02``:
the iteration is global, with commas in it; the time is the mean of an iteration since the last report, in seconds, in
brackets behind it the wait for data. Of several losses none is the whole: one alone is taken. Older relatives print
``<epoch:  2, iter:  12,300, lr:1.000e-04> l_pix: 2.1e-02`` without a time. ``Validation …`` has no iteration.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import duration_s, number, whole_number
from monitor.parse.rows import Reading

FORMAT = "basicsr"
GATES = ("[epoch:", "<epoch:")

_HEAD = re.compile(r"[\[<]epoch:\s{0,9}\d{1,9}, iter:\s{0,12}(?P<step>\d{1,3}(?:,\d{3}){1,4}|\d{1,12}), lr:")
_TIME = re.compile(r"\btime \(data\): (?P<time>\d{1,9}\.\d{1,9}) \(")
_LOSS = re.compile(r"\bl_\w{1,40}: (?P<loss>-?\d\.\d{1,9}e[-+]\d{1,3}|nan|-?inf)")


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    head = _HEAD.search(text)
    if head is None:
        return
    time, losses = _TIME.search(text, head.end()), _LOSS.findall(text, head.end())
    yield Reading(
        format=FORMAT,
        step=whole_number(head["step"]),
        time_s=duration_s(number(time["time"])) if time else None,
        meaning="interval",
        loss=number(losses[0]) if len(losses) == 1 else None,
    )
