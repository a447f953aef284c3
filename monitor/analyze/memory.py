"""How much GPU memory each rank has held: what its step reports and its allocator print. CloudWatch has sums of hosts."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from monitor.analyze.writers import with_writers


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
