"""Do all GPUs of a node stand still again and again, for less than a minute each time? How long, how often, with what?

One-minute means hide it: two seconds in every ten are "80 %". A profiler's samples show the beginning and the end of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

#: A node stands still while none of its GPUs is so busy.
STILL_PCT = 20.0
#: Less of the time than this is no matter.
LEAST_SHARE = 0.03
FEWEST = 5
FEWEST_STRETCHES = 3
_SHORTEST_S, _LONGEST_S = 1.0, 60.0
# Two samples are the least that has a length.
_FEWEST_SAMPLES = 2
# Samples further apart than this do not show where a stall begins.
_COARSEST_S = 5.0
_HOLE = 3.0
_MAD = 1.4826
_REGULAR = 0.25
_MOSTLY = 2 / 3
# A line about a checkpoint comes so near to the standstill that belongs to it.
_NEAR_S = 10.0
_MOST_STEPS = 10
_OFF_STEP = 0.1

With = Literal["step", "steps", "checkpoint", ""]


@dataclass(frozen=True, slots=True)
class Stalls:
    """The standstills of one node that recur."""

    node: str
    count: int
    """As many were read from their beginning to their end."""
    share: float
    """Of the time that was read."""
    length_s: float
    """Median."""
    period_s: float | None
    """From one beginning to the next, median; None where a checkpoint's cadence is not known."""
    goes_with: With
    steps: int | None
    """So many steps from one to the next, where they go with steps."""
    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Samples without a hole: how long, and the standstills in it that have both ends."""

    begin_s: float
    end_s: float
    still: tuple[tuple[float, float], ...]
    touched: bool
    """Any sample of it is still."""


def recurring_stalls(
    gpus: pd.DataFrame, step_s: float | None, checkpoints_s: Sequence[float] = ()
) -> tuple[Stalls, ...]:
    """The nodes that stand still again and again, most of the time first. ``gpus`` is a Gpus frame.

    ``step_s`` is the median step time; ``checkpoints_s`` are times of lines about checkpoints, as Unix seconds.
    """
    busiest = gpus.groupby(["node", "timestamp"], observed=True)["utilization_pct"].max().reset_index()
    found = []
    for node, rows in busiest.groupby("node", observed=True):
        stretches = tuple(_stretches(_unix_s(rows["timestamp"]), rows["utilization_pct"].to_numpy("float64")))
        one = _of_node(str(node), stretches, step_s, np.sort(np.asarray(checkpoints_s, dtype="float64")))
        if one is not None:
            found.append(one)
    return tuple(sorted(found, key=lambda one: -one.share))


def _stretches(at_s: NDArray[np.float64], busy: NDArray[np.float64]) -> Iterator[_Stretch]:
    gaps = np.diff(at_s)
    if not len(gaps):
        return
    interval_s = float(np.median(gaps))
    if interval_s > _COARSEST_S:
        return
    for part in np.split(np.arange(len(at_s)), np.flatnonzero(gaps > _HOLE * interval_s) + 1):
        still = busy[part] < STILL_PCT
        edges = np.diff(still.astype(np.int8))
        begins, ends = np.flatnonzero(edges == 1) + 1, np.flatnonzero(edges == -1) + 1
        if still[0]:
            ends = ends[1:]
        times = at_s[part]
        spans = tuple(
            (float(times[begin]), float(times[end]))
            for begin, end in zip(begins, ends, strict=False)
            if end - begin >= _FEWEST_SAMPLES and _SHORTEST_S <= times[end] - times[begin] <= _LONGEST_S
        )
        yield _Stretch(float(times[0]), float(times[-1]) + interval_s, spans, bool(still.any()))


def _of_node(
    node: str, stretches: Sequence[_Stretch], step_s: float | None, checkpoints_s: NDArray[np.float64]
) -> Stalls | None:
    spans = [span for stretch in stretches for span in stretch.still]
    read_s = sum(stretch.end_s - stretch.begin_s for stretch in stretches)
    share = sum(end - begin for begin, end in spans) / read_s if read_s else 0.0
    if share < LEAST_SHARE:
        return None
    lengths = [end - begin for begin, end in spans]
    since, until = (datetime.fromtimestamp(at, UTC) for at in (min(spans)[0], max(spans)[1]))

    def said(period_s: float | None, goes_with: With, steps: int | None = None) -> Stalls:
        return Stalls(node, len(spans), share, float(np.median(lengths)), period_s, goes_with, steps, since, until)

    if _go_with(spans, stretches, checkpoints_s):
        apart = np.diff(checkpoints_s)
        apart = apart[apart > 2 * _NEAR_S]
        return said(float(np.median(apart)) if len(apart) else None, "checkpoint")
    period_s = _period_s(stretches)
    if period_s is None or len(spans) < FEWEST:
        return None
    steps = _steps(period_s, step_s)
    return said(period_s, "" if steps is None else "step" if steps == 1 else "steps", steps)


def _go_with(
    spans: Sequence[tuple[float, float]], stretches: Sequence[_Stretch], checkpoints_s: NDArray[np.float64]
) -> bool:
    """Whether two in three standstills lie beside a line about a checkpoint, where little of what was read does."""

    def beside(begin: float, end: float) -> bool:
        first, last = np.searchsorted(checkpoints_s, [begin - _NEAR_S, end + _NEAR_S])
        return bool(last > first)

    hits = sum(beside(*span) for span in spans)
    if hits < FEWEST_STRETCHES or hits < _MOSTLY * len(spans):
        return False
    # Who writes a checkpoint every few seconds has a line of it beside everything.
    moments = [at for stretch in stretches for at in np.arange(stretch.begin_s, stretch.end_s)]
    return bool(np.mean([beside(at, at) for at in moments]) < hits / len(spans) / 2) or _alone(spans, stretches)


def _alone(spans: Sequence[tuple[float, float]], stretches: Sequence[_Stretch]) -> bool:
    """No stretch has more than one: they are as rare as checkpoints."""
    return all(len(stretch.still) <= 1 for stretch in stretches) and len(spans) >= FEWEST_STRETCHES


def _period_s(stretches: Sequence[_Stretch]) -> float | None:
    """From one to the next, where that is regular, and nearly every stretch that is long enough shows one."""
    apart = np.concatenate([np.diff([begin for begin, _ in stretch.still]) for stretch in stretches])
    if len(apart) < FEWEST - 1:
        return None
    period_s = float(np.median(apart))
    if _MAD * float(np.median(np.abs(apart - period_s))) > _REGULAR * period_s:
        return None
    long = [stretch for stretch in stretches if stretch.end_s - stretch.begin_s >= 1.5 * period_s]
    if len(long) < FEWEST_STRETCHES or sum(stretch.touched for stretch in long) < _MOSTLY * len(long):
        return None
    return period_s


def _steps(period_s: float, step_s: float | None) -> int | None:
    """How many steps a period is; None where it is no whole number of them, or too many to tell."""
    if not step_s:
        return None
    steps = round(period_s / step_s)
    near = abs(period_s / step_s - steps) <= _OFF_STEP
    return steps if 1 <= steps <= _MOST_STEPS and near else None


def _unix_s(times: pd.Series) -> NDArray[np.float64]:
    at_s: NDArray[np.float64] = (
        times.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy("datetime64[ms]").astype("int64") / 1e3
    )
    return at_s
