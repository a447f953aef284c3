"""What does an ordinary step of this job take, and from what time on is one slow?

The reference is the mean of the steps up to median + 3 MAD in the longest stretch of time in which the pace did not change
(the ideal step of Google's ml-goodput-measurement, made safe against a change of pace). MAD is the plain median of absolute
deviations. Steps between the reference and the limit are ordinary variation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from monitor.analyze.journal import MARKS, plain_rows

Floats = NDArray[np.float64]

# Fewer say nothing about which of them are slow.
_FEWEST = 5
_BLOCKS = 256
# A change of pace below this share is drift (FALCON verifies changes of 10 %).
_LEAST_CHANGE = 0.10
_SHORTEST = 4


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds of one step by the clock, without checkpoints and evaluations."""

    reference_s: float
    """The mean of the steps that are not slow, in the longest stable segment."""
    slow_s: float
    """Steps longer than this are slow: median + 3 MAD, or what the clock can tell apart."""
    fast_s: float
    """Steps shorter than this make up for one that was reported late: median - 3 MAD."""


def pace(journal: pd.DataFrame) -> Pace | None:
    """The pace of a journal (``monitor.analyze.journal``); None of fewer than five steps with a clock."""
    # The texts of a million rows are not copied.
    rows = plain_rows(journal[["wall_s", "steps", "warm_up", *MARKS]])
    rows = rows[np.isfinite(rows["wall_s"].to_numpy("float64"))]
    if len(rows) < _FEWEST:
        return None
    times = rows["wall_s"].to_numpy("float64")
    times = times[longest_stable(times)]
    median = float(np.median(times))
    # A clock of whole seconds makes steps of 2.4 s some of 2 and some of 3.
    coarse = 2 * resolution_s(journal["at"]) / float(rows["steps"].median())
    spread = max(3 * float(np.median(np.abs(times - median))), coarse)
    return Pace(float(times[times <= median + spread].mean()), median + spread, median - spread)


def resolution_s(times: pd.Series) -> float:
    """The unit in which the clock of the lines was written: 1 s, or a power of ten down to 1 ms."""
    at = times.dropna().to_numpy("datetime64[ms]").astype(np.int64)
    return next((unit / 1000 for unit in (1000, 100, 10) if (at % unit == 0).all()), 0.001)


def longest_stable(times: Floats) -> slice:
    """The longest stretch of a series between two changes of its level by 10 % or more.

    Changes are found by binary segmentation (least squares, penalty 3 ln n variances) over at most 256 block medians, so
    single slow steps are none.
    """
    size = max(1, -(-len(times) // _BLOCKS))
    whole = len(times) // size * size
    medians = np.median(times[:whole].reshape(-1, size), axis=1)
    cuts = [0, *(size * cut for cut in _changes(medians)), len(times)]
    lengths = np.diff(cuts)
    place = int(np.argmax(lengths))
    return slice(cuts[place], cuts[place + 1])


def _changes(values: Floats) -> list[int]:
    if len(values) < 2 * _SHORTEST:
        return []
    # The noise between neighbors, which a change of level hardly touches.
    steps = np.diff(values)
    variance = (1.4826 * float(np.median(np.abs(steps)))) ** 2 / 2
    penalty = 3 * float(np.log(len(values))) * variance
    found: list[int] = []
    parts = [(0, len(values))]
    while parts:
        start, end = parts.pop()
        cut = _best_cut(values[start:end], penalty)
        if cut is not None:
            found.append(start + cut)
            parts += [(start, start + cut), (start + cut, end)]
    return sorted(found)


def _best_cut(values: Floats, penalty: float) -> int | None:
    count = len(values)
    if count < 2 * _SHORTEST:
        return None
    sums = np.cumsum(values)
    left = np.arange(_SHORTEST, count - _SHORTEST + 1)
    means = sums[left - 1] / left, (sums[-1] - sums[left - 1]) / (count - left)
    gains = (means[0] - means[1]) ** 2 * left * (count - left) / count
    best = int(np.argmax(gains))
    cut = int(left[best])
    levels = float(np.median(values[:cut])), float(np.median(values[cut:]))
    if gains[best] <= penalty or abs(levels[1] - levels[0]) < _LEAST_CHANGE * min(levels):
        return None
    return cut
