"""The on-policy MAPPO trainer and those made from it.

``Scenario walk Algo mappo Exp a updates 25/1000 episodes, total num timesteps 7800/300000, FPS 38.``: an episode is one
rollout and its update, which is this trainer's step, counted from 0; FPS are timesteps a second since the start.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import Reading

FORMATS = ("mappo",)
GATES = (" episodes, total num timesteps ",)
_LINE = re.compile(
    r"\bupdates (?P<step>\d{1,15})/(?P<total>\d{1,15}) episodes, total num timesteps (?P<timesteps>\d{1,15})/\d{1,15},"
    r" FPS (?P<rate>\d{1,9}(?:\.\d{1,9})?)"
)


def read(text: str) -> Iterator[Reading]:
    """The updates that ``text`` tells of."""
    if (match := _LINE.search(text)) is None:
        return
    step, timesteps, rate = count(match["step"]), number(match["timesteps"]), number(match["rate"])
    if step is None or timesteps is None:
        return
    yield Reading(
        "mappo",
        step=step,
        total=count(match["total"]),
        time_s=duration_s(timesteps / (step + 1) / rate) if rate else None,
        meaning="running-mean",
        throughput=rate or None,
        throughput_unit="frames/s" if rate else "",
    )
