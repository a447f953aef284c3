"""Are some steps far slower than usual, how many, how regularly, and what do they cost?

Shares and medians, not means and deviations: a tenth of slow steps would hide in a standard deviation that they make.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from monitor.analyze.journal import MARKS
from monitor.analyze.pace import for_equal_work

Floats = NDArray[np.float64]

TIMES_MEDIAN = 2.0
LEAST_SHARE = 0.02
FEWEST_REPORTS = 50
FEWEST_SLOW = 5
# Below a minute of work nothing is worth a change.
LEAST_S = 60.0
# Where all steps vary, as sequence lengths do, a slow one lies outside of that, too.
_SIGMAS = 5.0
_MAD = 1.4826
# Slow steps come at a period where so many of their distances are the same, or a multiple, to one step.
_PERIODIC = 0.8
# The training has settled where so many reports in a row are of the usual length.
_SETTLED = 5
# More reports than this at the time of the one before: lines come together, and the clock tells of no step.
_TOGETHER = 0.05
# A log that gives whole seconds tells steps of this many and more apart.
_RESOLUTIONS = 4.0
_OWN = frozenset({"step", "cumulative", "interval"})


@dataclass(frozen=True, slots=True)
class SlowSteps:
    """The reports whose steps took more than twice the median."""

    count: int
    of: int
    median_s: float
    slow_s: float
    """Their own median."""
    lost_s: float
    """What they took beyond the median, summed."""
    total_s: float
    """What all reports took that were looked at."""
    steps_a_report: float
    period: int | None
    """They come every so many steps; None where they come irregularly."""
    start: datetime | None
    end: datetime | None
    by: str
    """"printed" or "clock": whose times these are."""
    longest: tuple[int, float] | None
    """The step and the time of the slowest one."""

    @property
    def share(self) -> float:
        return self.count / self.of


_READ = ["at", "step", "steps", "gap_s", "wall_s", "step_time_s", "segment", "kind", "throughput", "throughput_unit"]


def slow_steps(journal: pd.DataFrame, ignore: tuple[tuple[datetime, datetime], ...] = ()) -> SlowSteps | None:
    """The slow steps by the printed times or, where these show none, by the clock; None below 2 % of the reports.

    ``journal`` is that of ``monitor.analyze.journal``; reports in the spans ``ignore`` are left out, and so is each one
    with a checkpoint, an evaluation or a restart before it, or before the one before it.
    """
    if len(journal) < FEWEST_REPORTS:
        return None
    marked = np.zeros(len(journal), dtype=bool)
    for mark in MARKS:
        marked |= journal[mark].to_numpy()
    marked[1:] |= marked[:-1].copy()
    marked[1:] |= np.diff(journal["segment"].to_numpy("int64")) != 0
    marked[: _warm_up(journal)] = True
    rows = journal.loc[~marked & ~journal["warm_up"].to_numpy(), _READ]
    for start, end in ignore:
        rows = rows[~((rows["at"] > start) & (rows["at"] <= end + pd.Timedelta(milliseconds=1)))]
    return _slow(rows, "printed") or _slow(rows, "clock")


def _warm_up(journal: pd.DataFrame) -> int:
    """How many reports at the beginning are slow before the first few of the usual length: compilation, tuning."""
    times = journal["time_s"].to_numpy("float64")
    usual = times <= 1.5 * np.nanmedian(times) if np.isfinite(times).any() else np.ones(len(times), dtype=bool)
    runs = np.convolve(usual, np.ones(_SETTLED), "valid") >= _SETTLED
    return int(np.argmax(runs)) if runs.any() else 0


def _slow(rows: pd.DataFrame, by: str) -> SlowSteps | None:
    times = _printed(rows) if by == "printed" else _by_clock(rows)
    known = np.isfinite(times) & (times > 0)
    values = times[known]
    if len(values) < FEWEST_REPORTS:
        return None
    width = float(np.nanmedian(np.append(rows["steps"].to_numpy("float64"), 1.0)))
    if values.sum() * width < LEAST_S:
        return None
    median = float(np.median(values))
    spread = _MAD * float(np.median(np.abs(values - median)))
    slow = values > max(TIMES_MEDIAN * median, median + _SIGMAS * spread)
    if slow.sum() < max(FEWEST_SLOW, LEAST_SHARE * len(values)):
        return None
    kept = rows[known]
    # A step with more tokens in it is long, not slow.
    slow &= for_equal_work(kept, values) > TIMES_MEDIAN * median
    of = float(len(values))
    if by == "clock":
        slow &= ~_caught_up(values, median)
        # What the clock has and the printed times have not stood between two steps: one of all that a report stands for.
        of *= max(1.0, width)
    if slow.sum() < max(FEWEST_SLOW, LEAST_SHARE * of):
        return None
    moments = kept.loc[slow, "at"].dropna()
    numbers = kept["step"].to_numpy("int64")
    worst = int(np.argmax(np.where(slow, values, 0)))
    return SlowSteps(
        int(slow.sum()),
        len(values),
        median,
        float(np.median(values[slow])),
        float((values[slow] - median).sum() * width),
        float(values.sum() * width),
        width,
        _period(numbers[slow], kept["segment"].to_numpy("int64")[slow], width),
        moments.iloc[0].to_pydatetime() if len(moments) else None,
        moments.iloc[-1].to_pydatetime() if len(moments) else None,
        by,
        (int(numbers[worst]), float(values[worst])),
    )


def _printed(rows: pd.DataFrame) -> Floats:
    if not set(rows["kind"].unique()) <= _OWN:
        return np.full(len(rows), np.nan)
    printed: Floats = rows["step_time_s"].to_numpy("float64")
    return printed


def _by_clock(rows: pd.DataFrame) -> Floats:
    """The clock's times of steps; none where it is too coarse for them, or the rows are sums."""
    wall = rows["wall_s"].to_numpy("float64")
    known = wall[np.isfinite(wall)]
    if (rows["kind"] == "aggregated").any() or not len(known) or (known < 0.1 * known.mean()).mean() > _TOGETHER:
        return np.full(len(rows), np.nan)
    whole = bool((rows["at"].dt.microsecond == 0).all())
    gap = float(np.nanmedian(rows["gap_s"].to_numpy("float64")))
    return np.full(len(rows), np.nan) if whole and gap < _RESOLUTIONS else wall


def _caught_up(values: Floats, median: float) -> NDArray[np.bool_]:
    """Reports that only came late: those after them are early by as much."""
    padded = np.append(values, [median] * 3)
    sums = padded[:-3] + padded[1:-2] + padded[2:-1] + padded[3:]
    late: NDArray[np.bool_] = sums < 4 * median + (TIMES_MEDIAN - 1) * median
    return late


def _period(numbers: NDArray[np.int64], segments: NDArray[np.int64], width: float) -> int | None:
    """Every how many steps; None of fewer than four distances, or of irregular ones."""
    apart = np.diff(numbers)[np.diff(segments) == 0]
    if len(apart) < 4:
        return None
    period = float(np.median(apart))
    if period < 3 * width:
        return None
    left = np.abs(apart - period * np.maximum(1, np.round(apart / period)))
    return round(period) if float((left <= max(1.0, width)).mean()) >= _PERIODIC else None
