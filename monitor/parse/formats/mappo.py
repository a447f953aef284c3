"""The A2C and PPO for PyTorch that many were copied from, the on-policy MAPPO trainer, and those made from them.

``Updates 10, num timesteps 22528, FPS 810``; ``Scenario walk Algo mappo Exp a updates 25/1000 episodes, total num timesteps
7800/300000, FPS 38.``: an episode is one rollout and its update, which is these trainers' step, counted from 0; FPS are
timesteps a second since the start.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import Reading

FORMATS = ("mappo", "a2c-ppo")
GATES = (" episodes, total num timesteps ", ", num timesteps ")
_LINE = re.compile(
    r"\b[uU]pdates (?P<step>\d{1,15})(?:/(?P<total>\d{1,15}) episodes, total|,) num timesteps "
    r"(?P<timesteps>\d{1,15})(?:/\d{1,15})?, FPS (?P<rate>\d{1,9}(?:\.\d{1,9})?)"
)


def read(text: str) -> Iterator[Reading]:
    """The updates that ``text`` tells of."""
    if (match := _LINE.search(text)) is None:
        return
    step, timesteps, rate = count(match["step"]), number(match["timesteps"]), number(match["rate"])
    if step is None or timesteps is None:
        return
    yield Reading(
        "mappo" if match["total"] else "a2c-ppo",
        step=step,
        total=count(match["total"]) if match["total"] else None,
        time_s=duration_s(timesteps / (step + 1) / rate) if rate else None,
        meaning="running-mean",
        throughput=rate or None,
        throughput_unit="frames/s" if rate else "",
    )
