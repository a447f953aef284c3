"""How busy and how full was each GPU of a node, by the samples of a profiler?"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from monitor.analyze.utilization import distribution
from monitor.model import GpuStats


def by_gpu(gpus: pd.DataFrame) -> dict[str, tuple[GpuStats, ...]]:
    """node -> the figures of its GPUs, in order. Of the rows that were chosen evenly; the maximum is of all."""
    out: dict[str, list[GpuStats]] = {}
    for (node, gpu), rows in gpus.groupby(["node", "gpu"], observed=True):
        even = rows[rows["even"]] if rows["even"].any() else rows
        most = rows["memory_pct"].max()
        out.setdefault(str(node), []).append(
            GpuStats(
                int(gpu),
                len(even),
                distribution(even["utilization_pct"]),
                distribution(even["memory_pct"]),
                None if pd.isna(most) else float(most),
            )
        )
    return {node: tuple(found) for node, found in out.items()}


# A percentile of fewer samples says nothing, nor do those of one or two minutes.
_FEWEST_SAMPLES = 8
_FEWEST_MINUTES = 3


@dataclass(frozen=True, slots=True)
class Fullest:
    """The GPU of a node that holds most memory, at its 95th percentile."""

    node: str
    gpu: int
    pct: float


def fullest(gpus: pd.DataFrame) -> dict[str, Fullest]:
    """By node, of the rows that were chosen evenly; nodes of which too few were read are left out."""
    even = gpus[gpus["even"] & gpus["memory_pct"].notna()]
    out: dict[str, Fullest] = {}
    for node, rows in even.groupby("node", observed=True):
        minutes = rows["timestamp"].dt.floor("min").nunique()
        if minutes < _FEWEST_MINUTES or rows["timestamp"].nunique() < _FEWEST_SAMPLES:
            continue
        high = rows.groupby("gpu")["memory_pct"].quantile(0.95)
        out[str(node)] = Fullest(str(node), int(high.idxmax()), float(high.max()))
    return out
