"""How full memory is. That of GPUs by rank, as step reports, the allocator and the line of a refused allocation print it
(CloudWatch has sums of a host only); and of any level: does it keep growing, and when would it be full? Plateaus, single
steps and teeth of equal height do not count as growth."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from monitor.analyze.cascade import Cascade, with_writers


@dataclass(frozen=True, slots=True)
class MemoryPeak:
    """The most GPU memory that one rank is seen to hold, GiB; the device's capacity where a line names it."""

    node: str
    rank: int | None
    peak_gib: float
    capacity_gib: float | None = None


def memory_peaks(steps: pd.DataFrame, events: pd.DataFrame) -> tuple[MemoryPeak, ...]:
    """One entry a writer (node and rank) that prints its GPU memory, by node and rank; empty where none does."""
    told = with_writers(events[events["kind"] == "gpu-memory"], steps)
    sizes = (
        told["text"].str.extract(r"\bpeak=(?P<peak>\d+\.\d+)(?: capacity=(?P<capacity>\d+\.\d+))?").astype("float64")
    )
    rows = pd.concat(
        [
            steps.loc[steps["gpu_memory_gib"].notna(), ["node", "rank", "gpu_memory_gib"]]
            .rename(columns={"gpu_memory_gib": "peak"})
            .assign(capacity=float("nan")),
            told[["node", "rank"]].join(sizes),
        ]
    ).dropna(subset=["peak"])
    most = rows.groupby(["node", "rank"], dropna=False, observed=True)[["peak", "capacity"]].max()
    return tuple(
        MemoryPeak(
            str(node),
            None if pd.isna(rank) else int(rank),
            float(row.peak),
            None if pd.isna(row.capacity) else float(row.capacity),
        )
        for (node, rank), row in zip(most.index, most.itertuples(index=False), strict=True)
    )


_SIZES = re.compile(r"\b(now|peak|capacity|wanted|idle)=(\d+\.\d+)")
# Where a process that asks for more than there is held less than this share, somebody else holds the rest.
_OWN_SHARE = 0.7
_NEAR_LINES = 60


@dataclass(frozen=True, slots=True)
class Fill:
    """How full the GPU was when it refused, GiB; None where the line does not tell."""

    now: float | None = None
    """Held by live tensors."""
    peak: float | None = None
    """Held by the process, its allocator's reserve included."""
    capacity: float | None = None
    wanted: float | None = None
    idle: float | None = None
    """Reserved by the allocator, and held by no tensor."""

    @property
    def needed_pct(self) -> float | None:
        """What it would have taken, percent of the device; None where the line does not tell, or others hold a part."""
        if self.peak is None or self.wanted is None or not self.capacity or self.shared:
            return None
        return 100 * max(self.capacity, self.peak + self.wanted) / self.capacity

    @property
    def shared(self) -> bool:
        """Whether another process must hold much of the device."""
        return None not in (self.peak, self.capacity, self.wanted) and (
            self.peak + self.wanted < _OWN_SHARE * self.capacity  # type: ignore[operator]
        )

    @property
    def fragmented(self) -> bool:
        """Whether the allocator had enough for what was asked, in pieces."""
        return self.idle is not None and self.wanted is not None and self.idle >= self.wanted > 0


def fill(events: pd.DataFrame, first: Cascade | None) -> Fill:
    """How full the GPU of the rank that failed was, from the line of the refusal or the nearest one of the same rank."""
    rows = events[(events["kind"] == "gpu-memory") & events["text"].str.contains("wanted=")]
    if first is None or rows.empty:
        return Fill()
    rows = rows[(rows["stream"] == first.stream) & ((rows["line"] - first.line).abs() <= _NEAR_LINES)]
    rows = rows[rows["rank"].isna() | (rows["rank"] == first.rank)] if first.rank is not None else rows
    if rows.empty:
        return Fill()
    nearest = rows.loc[(rows["line"] - first.line).abs().astype("int64").idxmin(), "text"]
    return Fill(**{name: float(size) for name, size in _SIZES.findall(str(nearest))})


Floats = NDArray[np.float64]

# A slope from fewer points, or of less time, is no trend.
FEWEST_POINTS = 12
LEAST_MINUTES = 20.0
# Thinned to so many maxima: Theil-Sen is quadratic.
_MOST_POINTS = 60
# Until the high-water mark of the first epoch or, where that is not known, of the first third of the time.
_SETTLED_SHARE = 1 / 3
# What grows on gains in each third of the time that is left; a cache that fills or a buffer that is taken once does not.
_LEAST_OF_A_THIRD = 0.15
# A fall by this share of the range, and by so many points, is a tooth.
_TOOTH_SHARE = 0.4
_TOOTH_POINTS = 4.0
_FEWEST_TEETH = 4
_NOISE = 3.0


@dataclass(frozen=True, slots=True)
class Growth:
    """A level that still grows at ``end``; levels are percent, of maxima where there are teeth."""

    node: str
    settled: float
    """The high-water mark of the first epoch."""
    level: float
    start: datetime
    end: datetime
    per_hour: tuple[float, float, float]
    """Points an hour: low, mid and high of a 95 % interval (Theil-Sen)."""

    @property
    def gained(self) -> float:
        return self.level - self.settled

    def full_at(self, per_hour: float, full: float = 100.0) -> datetime:
        """When the level would be ``full`` at that pace."""
        return self.end + timedelta(hours=max(0.0, full - self.level) / per_hour)


def growths(metrics: pd.DataFrame, metric: str, settled_at: datetime | None = None) -> tuple[Growth, ...]:
    """The nodes on which the metric grows, the one that is fullest first; ``settled_at`` is the first epoch's end."""
    rows = metrics[metrics["metric"] == metric]
    found = (
        grown(str(name), mine["timestamp"], mine["value_pct"], settled_at)
        for name, mine in rows.groupby("node", observed=True)
    )
    return tuple(sorted((one for one in found if one is not None), key=lambda one: -one.level))


def grown(name: str, times: pd.Series, values: pd.Series, settled_at: datetime | None = None) -> Growth | None:
    """The growth of one series of percent values; None where it does not grow, or where nobody can tell."""
    known = values.notna().to_numpy()
    index, level_pct = pd.DatetimeIndex(times)[known], values.to_numpy("float64")[known]
    if len(index) < FEWEST_POINTS:
        return None
    order = np.argsort(index.asi8, kind="stable")
    begin, end = index[order[0]].to_pydatetime(), index[order[-1]].to_pydatetime()
    at_s, level_pct = ((index - begin) / timedelta(seconds=1)).to_numpy("float64")[order], level_pct[order]
    first_epoch_s = (settled_at - begin).total_seconds() if settled_at is not None else 0.0
    settled_s = first_epoch_s if 0 < first_epoch_s < at_s[-1] / 2 else at_s[-1] * _SETTLED_SHARE
    after = int(np.searchsorted(at_s, settled_s, "right"))
    later_h, later = _maxima(at_s[after:] / 3600, level_pct[after:])
    if len(later) < FEWEST_POINTS // 2 or at_s[-1] < 60 * LEAST_MINUTES:
        return None
    later_h, tops = _tops(later_h, later)
    if len(tops) < _FEWEST_TEETH:
        return None
    high, level = float(np.quantile(level_pct[:after], 0.95)), float(np.max(tops[-max(1, len(tops) // 10) :]))
    if not _goes_on(later_h, tops, high):
        return None
    # Imported late: a third of a second that most reviews do not need.
    from scipy.stats import theilslopes

    slope, intercept, low, up = (float(value) for value in theilslopes(tops, later_h))
    noise = 1.4826 * float(np.median(np.abs(tops - (intercept + slope * later_h))))
    if low <= 0 or level - high <= _NOISE * noise:
        return None
    return Growth(name, high, level, begin, end, (low, slope, up))


def _maxima(at_h: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Thinned to the maxima of blocks of equal length, at the blocks' ends."""
    if not len(values):
        return at_h, values
    size = -(-len(values) // _MOST_POINTS)
    begins = np.arange(0, len(values), size)
    ends = np.append(begins[1:], len(values)) - 1
    return at_h[ends], np.maximum.reduceat(values, begins)


def _tops(at_h: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Of a sawtooth the top of each tooth; of any other series all points. Fewer than a few teeth tell nothing."""
    fall = max(_TOOTH_POINTS, _TOOTH_SHARE * float(np.ptp(values)))
    places, top = [], 0
    for place, value in enumerate(values):
        if value > values[top]:
            top = place
        elif values[top] - value >= fall:
            places.append(top)
            top = place
    if not places:
        return at_h, values
    # The last tooth is not done: it counts where it is the highest already.
    chosen = [*places, top] if values[top] >= values[places[-1]] else places
    return at_h[chosen], values[chosen]


def _goes_on(at_h: Floats, values: Floats, high: float) -> bool:
    """Whether the high-water mark rises in each third of the time, as what grows on does."""
    marks = np.maximum.accumulate(np.maximum(_smooth(values), high))
    cuts = np.linspace(at_h[0], at_h[-1], 4)[1:-1]
    levels = [high, *(float(marks[np.searchsorted(at_h, cut, "right") - 1]) for cut in cuts), float(marks[-1])]
    gains = np.diff(levels)
    return bool(gains.sum() > 0 and (gains >= _LEAST_OF_A_THIRD * gains.sum()).all())


def _smooth(values: Floats) -> Floats:
    """Medians of three where there are enough: one high value is no level."""
    if len(values) < FEWEST_POINTS:
        return values
    padded = np.concatenate([values[:1], values, values[-1:]])
    middle: Floats = np.median(np.lib.stride_tricks.sliding_window_view(padded, 3), axis=1)
    return middle
