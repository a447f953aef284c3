"""How busy and how full was each GPU of a node, by the samples of a profiler?"""

from __future__ import annotations

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
