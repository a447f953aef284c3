"""Which step times of a job can be compared with another's? Those of ordinary steps, while the pace was the same.

Warm-up, steps with a checkpoint, an evaluation or a restart before them, and all but the longest stretch between two
changes of the level by 10 % are left out. What the lines give decides how they may be compared: a time of each step, a
mean over the steps between two reports, the clock of the lines, a smoothed rate. A mean since the start is none of these:
its reports are not one draw each, and say ever less of the steps between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from monitor.analyze.journal import plain_rows
from monitor.analyze.pace import longest_stable, resolution_s
from monitor.analyze.work import for_equal_work

Floats = NDArray[np.float64]
By = Literal["printed", "clock", "smoothed"]

#: Fewer reports are no sample.
FEWEST_REPORTS = 8
#: How times may be taken, the best first.
WAYS: tuple[By, ...] = ("printed", "clock", "smoothed")
_OWN = frozenset({"step", "interval", "cumulative", "aggregated"})
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
        return "no line gives a step time"
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
    own = rows["kind"].isin(_OWN).to_numpy()
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
