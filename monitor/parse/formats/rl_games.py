"""rl_games, the trainer of Isaac Gym and Isaac Lab.

``fps step: 152301 fps step and policy inference: 140112 fps total: 90123 epoch: 12/1000 frames: 786432``: an epoch is one
rollout and its updates, which is this trainer's step; ``fps total`` counts frames of the environments over both. No time,
and no loss.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, number
from monitor.parse.rows import Reading

FORMAT = "rl-games"
GATES = (" fps total: ",)

_LINE = re.compile(
    r"\bfps step: [\d.]{1,20} .{0,60}fps total: (?P<rate>[\d.]{1,20}) epoch: (?P<step>\d{1,12})(?:/(?P<total>\d{1,12}))?"
)


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    if (match := _LINE.search(text)) is not None:
        rate = number(match["rate"])
        yield Reading(
            FORMAT,
            count(match["step"]),
            count(match["total"]),
            throughput=rate,
            throughput_unit="frames/s" if rate else "",
        )
