"""DeePMD-kit.

``DEEPMD INFO    batch     300: total wall time = 4.54 s, eta = 1:02:03``, before ``batch     300 training time 4.41 s, testing
time 0.03 s``: the seconds of all batches since the last report. The losses stand on lines of their own as several
root-mean-square errors, none of which is the loss.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import Reading

FORMAT = "deepmd"
GATES = (": total wall time = ", " training time ")

_LINE = re.compile(
    r"\b[Bb]atch\s{1,12}(?P<step>\d{1,12})(?:: total wall time = | training time )(?P<time>[\d.]{1,30}) s\b"
)


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    match = _LINE.search(text)
    if match is not None:
        yield Reading(
            format=FORMAT, step=count(match["step"]), time_s=duration_s(number(match["time"])), meaning="span"
        )
