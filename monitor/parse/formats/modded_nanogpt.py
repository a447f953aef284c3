"""modded-nanogpt and the speedruns made from it.

``step:120/5100 train_loss:4.91 train_time:20100ms step_avg:182.73ms``: train_time is a clock, in ms or s; it stands
still during validation, and older scripts set it back to 0 behind step 10. step_avg is the mean since then, "nan" at
first. Newer scripts print no loss. ``step:125/5100 val_loss:… train_time:…`` is a validation, and the log begins with
the source of the script, whose templates look like such lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import NO_STEP, Reading

FORMAT = "modded-nanogpt"
GATES = ("train_time:",)

_LINE = re.compile(
    r"\bstep:(?P<step>\d{1,12})/(?P<total>\d{1,12}) (?:train_loss:(?P<loss>[-+\d.eEnainf]+) )?"
    r"train_time:(?P<clock>[\d.]+)(?P<unit>ms|s)\b"
)
_VALIDATION = re.compile(r"\bstep:\d{1,12}/\d{1,12} val_loss:")


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    match = _LINE.search(text)
    if match is None:
        if _VALIDATION.search(text):
            yield NO_STEP
        return
    clock = number(match["clock"])
    yield Reading(
        format=FORMAT,
        step=count(match["step"]),
        total=count(match["total"]),
        time_s=None if clock is None else duration_s(clock * (0.001 if match["unit"] == "ms" else 1.0)),
        meaning="clock",
        loss=number(match["loss"]),
    )
