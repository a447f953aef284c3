"""GPU memory by rank, as step reports, the allocator and the line of a refused allocation print it. CloudWatch has sums of a
host only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pandas as pd

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
