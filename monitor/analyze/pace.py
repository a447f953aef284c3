"""The ordinary step of a job: what it takes, from what time on one is slow, how many are, how regularly and at what cost, how
much work is in it, and which step times can be compared with another job's.

Shares and medians, not means and deviations: a tenth of slow steps would hide in a standard deviation that they make.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from monitor.analyze.journal import MARKS, OWN_TIME, plain_rows

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


FEWEST = 20
# Throughput is of the steps beside it where their product moves by so much less than the times do; a mean over the time
# before does not follow them.
_FOLLOWS = 0.5
# A product that moves by less than this share is constant but for rounding.
_ROUNDING = 0.005


def work_of_steps(rows: pd.DataFrame, times: Floats) -> Floats | None:
    """The work of each row's steps (tokens or samples, NaN where it is not told), or None where it is not known.

    ``rows`` are of the journal, ``times`` the seconds of their steps; of both times the one that goes with the throughput
    counts, the printed one first. A rate of steps says nothing of their work, and a
    throughput that is a mean over many rows nothing of one.
    """
    units = {str(unit) for unit in rows["throughput_unit"].unique()} - {""}
    if len(units) != 1 or next(iter(units)).startswith(("it", "step")):
        return None
    throughput = rows["throughput"].to_numpy("float64")
    for seconds in (rows["step_time_s"].to_numpy("float64"), times):
        if (work := _work(throughput, seconds)) is not None:
            return work
    return None


def _work(throughput: Floats, times: Floats) -> Floats | None:
    work: Floats = throughput * times
    work = np.where(work > 0, work, np.nan)
    known = np.isfinite(work) & (times > 0)
    if known.sum() < max(FEWEST, 0.5 * len(times)):
        return None
    moves = float(np.median(np.abs(np.diff(np.log(work[known])))))
    moved = float(np.median(np.abs(np.diff(np.log(times[known])))))
    return work if moves <= max(_ROUNDING, _FOLLOWS * moved) else None


def for_equal_work(rows: pd.DataFrame, times: Floats) -> Floats:
    """The times as they would be if every step had the usual work; as they are where their work is not known."""
    work = work_of_steps(rows, times)
    if work is None:
        return times
    out: Floats = times * (float(np.nanmedian(work)) / work)
    return np.where(np.isfinite(out), out, times)


By = Literal["printed", "clock", "smoothed"]

#: Fewer reports are no sample.
FEWEST_REPORTS = 8
#: How times may be taken, the best first.
WAYS: tuple[By, ...] = ("printed", "clock", "smoothed")
# A mean over the steps between two reports; the others are of one step.
_OVER_THE_INTERVAL = frozenset({"interval", "cumulative"})
# The least share of the reports that has a time, before it is what the log gives.
_MOSTLY = 0.5
# A counter or clock tells the time between two readings to one unit: so many units make that two percent.
_UNITS = 50
_SETTLED, _IN_A_ROW = 1.05, 5


@dataclass(frozen=True, slots=True)
class StableSteps:
    """Times of one optimizer step each, in the order of the reports."""

    times_s: Floats
    by: By
    stride: float
    """Steps from one of them to the next."""
    window: float
    """Steps that each of them is a mean over."""
    first_step: int
    last_step: int
    share: float
    """Of all ordinary reports: below 1 the pace changed, and this is the longest stretch."""

    @property
    def steps(self) -> int:
        """How many steps they stand for."""
        return round(len(self.times_s) * self.stride)


def stable_steps(journal: pd.DataFrame) -> dict[By, StableSteps]:
    """Way -> the steps of a journal (``monitor.analyze.journal``), for the ways that its lines allow."""
    rows = plain_rows(journal) if len(journal) else journal
    found = {way: _taken(rows, way) for way in WAYS} if len(rows) else {}
    return {way: steps for way, steps in found.items() if steps is not None}


def why_none(journal: pd.DataFrame) -> str:
    """What a job lacks whose lines allow no way, as the end of a sentence."""
    if journal.empty:
        return "no numbered steps were recognized"
    rows = plain_rows(journal)
    if journal["time_s"].notna().sum() == 0:
        return "no step time is known"
    if (rows["kind"] == "running-mean").mean() > _MOSTLY:
        return "its lines only give means since the start, which say nothing about single steps"
    return f"fewer than {FEWEST_REPORTS} reports of ordinary steps have a time"


def _taken(rows: pd.DataFrame, way: By) -> StableSteps | None:
    rows, times = _printed(rows) if way == "printed" else _clock(rows) if way == "clock" else _smoothed(rows)
    known = np.isfinite(times) & (times > 0)
    if known.sum() < max(FEWEST_REPORTS, _MOSTLY * len(rows)):
        return None
    rows, times = rows[known], for_equal_work(rows, times)[known]
    stable = longest_stable(times)
    stride = _stride(rows)
    by_counter = way == "clock" or bool((rows["kind"] == "cumulative").mean() > _MOSTLY)
    window = stride if way == "clock" or rows["kind"].iloc[0] in _OVER_THE_INTERVAL else 1.0
    numbers = rows["step"].iloc[stable].to_numpy("int64")
    share = len(numbers) / len(times)
    times = times[stable]
    # What is told apart to the unit of a clock alone is put together until that is little.
    unit_s = max(unit_of(times) * stride, resolution_s(rows["at"]) if way == "clock" else 0.0) if by_counter else 0.0
    size = max(1, int(np.ceil(_UNITS * unit_s / (stride * float(np.median(times))))))
    if unit_s and size > 1:
        times, stride, window = grouped(times, size), stride * size, window * size
    if len(times) < FEWEST_REPORTS:
        return None
    return StableSteps(times, way, stride, window, int(numbers.min()), int(numbers.max()), share)


def _printed(rows: pd.DataFrame) -> tuple[pd.DataFrame, Floats]:
    own = rows["kind"].isin(OWN_TIME).to_numpy()
    return rows, np.where(own, rows["step_time_s"].to_numpy("float64"), np.nan)


def _clock(rows: pd.DataFrame) -> tuple[pd.DataFrame, Floats]:
    return rows, rows["wall_s"].to_numpy("float64")


def _smoothed(rows: pd.DataFrame) -> tuple[pd.DataFrame, Floats]:
    smooth = (rows["kind"] == "smoothed").to_numpy()
    times = np.where(smooth, rows["step_time_s"].to_numpy("float64"), np.nan)
    # A smoothed rate carries the first steps on for a while.
    usual = times <= _SETTLED * np.nanmedian(times) if np.isfinite(times).any() else smooth
    together = np.convolve(usual, np.ones(_IN_A_ROW), "valid") >= _IN_A_ROW
    start = int(np.argmax(together)) if together.any() else 0
    return rows.iloc[start:], times[start:]


def _stride(rows: pd.DataFrame) -> float:
    moved = rows["steps"].dropna()
    return max(1.0, float(moved.median())) if len(moved) else 1.0


def unit_of(times: Floats) -> float:
    """The unit in which times were printed, told by values that come again and again; 0 where hardly any does."""
    values = np.unique(times)
    if len(values) < 2 or len(values) > 0.5 * len(times):
        return 0.0
    inner = values[(values >= np.quantile(times, 0.05)) & (values <= np.quantile(times, 0.95))]
    return float(np.median(np.diff(inner if len(inner) > 1 else values)))


def grouped(times: Floats, size: int) -> Floats:
    """Means of so many times each; what is left at the end is dropped."""
    whole = len(times) // size * size
    out: Floats = times[:whole].reshape(-1, size).mean(axis=1)
    return out


TIMES_MEDIAN = 2.0
LEAST_SHARE = 0.02
FEWEST_TO_JUDGE = 50
FEWEST_SLOW = 5
# Below a minute of work nothing is worth a change.
LEAST_S = 60.0
# Where all steps vary, as sequence lengths do, a slow one lies outside of that, too.
_SIGMAS = 5.0
_MAD = 1.4826
# Slow steps come at a period where so many of their distances are the same, or a multiple, to one step.
_PERIODIC = 0.8
# The training has settled where so many reports in a row are of the usual length.
_SETTLED_IN_A_ROW = 5
# More reports than this at the time of the one before: lines come together, and the clock tells of no step.
_TOGETHER = 0.05
# A log that gives whole seconds tells steps of this many and more apart.
_RESOLUTIONS = 4.0
_OF_ONE_STEP = frozenset({"step", "cumulative", "interval"})


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
    """Steps that each of them is a mean over."""
    apart: float
    """Steps from one of them to the next; of the others nothing is known where this is more than they are means over."""
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
    if len(journal) < FEWEST_TO_JUDGE:
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
    runs = np.convolve(usual, np.ones(_SETTLED_IN_A_ROW), "valid") >= _SETTLED_IN_A_ROW
    return int(np.argmax(runs)) if runs.any() else 0


def _slow(rows: pd.DataFrame, by: str) -> SlowSteps | None:
    times = _printed_s(rows) if by == "printed" else _by_clock(rows)
    known = np.isfinite(times) & (times > 0)
    values = times[known]
    if len(values) < FEWEST_TO_JUDGE:
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
    period = _period(numbers[slow], kept["segment"].to_numpy("int64")[slow], width)
    own = by == "printed" and bool((kept["kind"] == "step").all())
    beyond_s = float((values[slow] - median).sum())
    # What comes at a period of reports is not between them; of what comes by chance there is as much.
    lost_s = beyond_s if own and period is not None else beyond_s * width
    return SlowSteps(
        int(slow.sum()),
        len(values),
        median,
        float(np.median(values[slow])),
        lost_s,
        float(values.sum() - beyond_s) * width + lost_s,
        1.0 if own else width,
        width,
        period,
        moments.iloc[0].to_pydatetime() if len(moments) else None,
        moments.iloc[-1].to_pydatetime() if len(moments) else None,
        by,
        (int(numbers[worst]), float(values[worst])),
    )


def _printed_s(rows: pd.DataFrame) -> Floats:
    if not set(rows["kind"].unique()) <= _OF_ONE_STEP:
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
