"""nerfstudio's table in the terminal, which scrolls.

``4090 (13.63%)       43.140 ms            1 m, 12 s            94.96 K`` under ``Step (% Done)  Train Iter (time)  ETA (time)
Train Rays / Sec``: a running mean of the seconds of an iteration, an estimate, rays a second. Any of the columns behind
the time may lack.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import Reading
from monitor.parse.vocabulary import DURATIONS

FORMAT = "nerfstudio"
GATES = ("%)  ",)

_DURATION = r"\d{1,9}(?:\.\d{1,6})? (?:us|ms|s|m|h)\b"
_ROW = re.compile(
    rf"^\s{{0,9}}(?P<step>\d{{1,12}}) \(\d{{1,3}}(?:\.\d{{1,4}})?%\)\s{{2,60}}(?P<time>{_DURATION}(?:, {_DURATION}){{0,2}})"
    rf"(?:\s{{2,60}}{_DURATION}(?:, {_DURATION}){{0,3}})?"
    rf"(?:\s{{2,60}}(?P<rays>\d{{1,9}}(?:\.\d{{1,6}})?)(?: (?P<many>[KMB])\b)?)?"
)
_MANY = {None: 1.0, "K": 1e3, "M": 1e6, "B": 1e9}


def read(text: str) -> Iterator[Reading]:
    """The row in ``text``, if there is one."""
    match = _ROW.match(text)
    if match is None:
        return
    parts = [part.split() for part in match["time"].split(", ")]
    rays = number(match["rays"]) if match["rays"] else None
    yield Reading(
        FORMAT,
        count(match["step"]),
        time_s=duration_s(sum(float(amount) * DURATIONS[unit] for amount, unit in parts)),
        meaning="running-mean",
        throughput=rays * _MANY[match["many"]] if rays else None,
        throughput_unit="rays/s" if rays else "",
    )
