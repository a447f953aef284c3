"""How busy and how full was each GPU of a node, by the samples of a profiler?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

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
_BEFORE = timedelta(minutes=5)


#: A GPU with no more than this to do, and no more memory, is used by no process.
EMPTY_PCT = 2.0


def in_use(gpus: pd.DataFrame) -> dict[str, tuple[tuple[int, ...], tuple[int, ...]]]:
    """node -> the numbers of its GPUs that are in use, and of those that are empty, at the 95th percentile of the rows that
    were chosen evenly; nodes of which fewer than three minutes were read are left out."""
    even = gpus[gpus["even"]]
    out = {}
    for node, rows in even.groupby("node", observed=True):
        if rows["timestamp"].dt.floor("min").nunique() < _FEWEST_MINUTES:
            continue
        high = rows.groupby("gpu")[["utilization_pct", "memory_pct"]].quantile(0.95)
        # What is not known is no empty GPU.
        empty = (high["utilization_pct"] <= EMPTY_PCT) & (high["memory_pct"] <= EMPTY_PCT)
        out[str(node)] = tuple(map(int, high.index[~empty])), tuple(map(int, high.index[empty]))
    return out


@dataclass(frozen=True, slots=True)
class Fullest:
    """The GPU of a node that holds most memory, at its 95th percentile."""

    node: str
    gpu: int
    pct: float


@dataclass(frozen=True, slots=True)
class FullestBefore:
    """The fullest GPU of a node shortly before something, in one sample; and the mean of its host's GPUs in that sample."""

    node: str
    gpu: int
    pct: float
    host_pct: float
    at: datetime


def fullest_before(gpus: pd.DataFrame, node: str, at: datetime) -> FullestBefore | None:
    """Of any sample in the five minutes before ``at``; None where none was read."""
    rows = gpus[(gpus["node"] == node) & (gpus["timestamp"] <= at) & (gpus["timestamp"] > at - _BEFORE)]
    rows = rows[rows["memory_pct"].notna()]
    if rows.empty:
        return None
    one = rows.loc[rows["memory_pct"].idxmax()]
    beside = rows[rows["timestamp"] == one["timestamp"]]["memory_pct"]
    moment = one["timestamp"].to_pydatetime()
    return FullestBefore(node, int(one["gpu"]), float(one["memory_pct"]), float(beside.mean()), moment)


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
