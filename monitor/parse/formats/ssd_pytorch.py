"""ssd.pytorch and the detectors that took over its loop (RFBNet, DSFD, RefineDet and others).

``iter 10 || Loss: 15.79 || Timer: 0.2110 sec.`` or, where each print ends its line, ``Timer: 0.6669`` on the line before
``epoch:0 || iter:10 || Loss:19.45``: seconds of one iteration. The parts of the loss follow on lines of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import Reading

FORMAT = "ssd-pytorch"
GATES = ("imer: ", " || Loss")

_TIMER = re.compile(r"\s{0,8}[Tt]imer: (?P<time>\d{1,9}(?:\.\d{1,12})?)(?: sec\.?)?\s*")
_REPORT = re.compile(
    r"(?i)\s{0,8}(?:epoch:? ?(?P<epoch>\d{1,9}) \|\| )?iter:? ?(?P<step>\d{1,12}) \|\| "
    r"Loss: ?(?P<loss>-?\d{1,15}(?:\.\d{1,15})?|nan|inf)(?: \|\| timer: (?P<time>\d{1,9}(?:\.\d{1,12})?)| \|\||\s*$)"
)


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, or the time of the one on the line behind it."""
    if match := _TIMER.fullmatch(text):
        yield Reading(format=FORMAT, time_s=duration_s(number(match["time"])), meaning="of-next")
    elif match := _REPORT.match(text):
        yield Reading(
            format=FORMAT,
            step=count(match["step"]),
            epoch=count(match["epoch"]),
            time_s=duration_s(number(match["time"])),
            loss=number(match["loss"]),
        )
