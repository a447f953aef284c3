"""When did devices rest? The longest idle stretch of each node, and the dips of one that is busy otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pandas as pd

from monitor.analyze.set_aside import MOST_COVERED, Span, share_covered

IDLE_PCT = 5.0
LOW_PCT = 10.0
BUSY_PCT = 70.0
# A 5th percentile needs a point below it; a node that dips does so again and again, to the end.
FEWEST_POINTS = 20
FEWEST_DIPS = 3
# Space that grows in nearly all dips, and hardly elsewhere, is what is written in them: checkpoints without a line.
_WRITTEN_SHARE = 0.8
_WRITTEN_POINTS = 0.05


@dataclass(frozen=True, slots=True)
class Stretch:
    """Idle periods in a row on one node."""

    node: str
    start: datetime
    end: datetime
    minutes: float
    """Of the periods that were seen."""


@dataclass(frozen=True, slots=True)
class Dips:
    """A node that is busy (p95) and again and again is not (p5)."""

    node: str
    dips: int
    minutes: float
    """In all dips together."""
    p5: float
    p50: float
    p95: float
    cpu_in_dips: float | None
    """Median CPU utilization in them."""
    cpu_else: float | None


def longest_idle(metrics: pd.DataFrame, spans: Sequence[Span]) -> tuple[Stretch, ...]:
    """The longest stretch of each node whose GPUs are below 5 % and outside of ``spans``; nodes without one are left out.

    One missing point does not break a stretch, and does not count.
    """
    rows = metrics[metrics["metric"] == "gpu_utilization"]
    rows = rows.assign(idle=(rows["value_pct"] < IDLE_PCT) & (share_covered(rows, spans) <= MOST_COVERED))
    found = []
    rested = rows.loc[rows["idle"], "node"].unique()
    for name, mine in rows[rows["node"].isin(rested)].groupby("node", observed=True):
        mine = mine.sort_values("timestamp")
        period = pd.Timedelta(seconds=int(mine["period_s"].iloc[0]))
        idle = mine["idle"]
        begins = ~idle | (mine["timestamp"].diff() > 2 * period)
        stretches = mine[idle].groupby(begins.cumsum()[idle])["timestamp"].agg(["min", "max", "count"])
        if stretches.empty:
            continue
        longest = stretches.loc[stretches["count"].idxmax()]
        end = (longest["max"] + period).to_pydatetime()
        minutes = float(longest["count"] * period.total_seconds() / 60)
        found.append(Stretch(str(name), longest["min"].to_pydatetime(), end, minutes))
    return tuple(found)


def dips(metrics: pd.DataFrame) -> tuple[Dips, ...]:
    """The nodes whose GPU utilization has p95 at 70 % or more and p5 below 10 %, in three dips or more up to the second
    half of the time. Dips in which the disk fills are checkpoints, and none."""
    found = []
    busy = _busy_and_not(metrics)
    for name, mine in metrics[metrics["node"].isin(busy)].groupby("node", observed=True):
        table = mine.pivot_table(index="timestamp", columns="metric", values="value_pct")
        if "gpu_utilization" not in table:
            continue
        gpu = table["gpu_utilization"].dropna()
        if len(gpu) < FEWEST_POINTS:
            continue
        p5, p50, p95 = (float(value) for value in gpu.quantile([0.05, 0.5, 0.95]))
        low = gpu < LOW_PCT
        entered = low & ~low.shift(fill_value=False)
        half = gpu.index[0] + (gpu.index[-1] - gpu.index[0]) / 2
        if p95 < BUSY_PCT or p5 >= LOW_PCT or entered.sum() < FEWEST_DIPS or not low[gpu.index > half].any():
            continue
        table = table.loc[gpu.index]
        if _written_in(table, low):
            continue
        cpu = table["cpu_utilization"] if "cpu_utilization" in table else pd.Series(np.nan, index=table.index)
        minutes = float(low.sum() * int(mine["period_s"].iloc[0]) / 60)
        found.append(Dips(str(name), int(entered.sum()), minutes, p5, p50, p95, _median(cpu[low]), _median(cpu[~low])))
    return tuple(found)


def _busy_and_not(metrics: pd.DataFrame) -> list[str]:
    """The nodes whose GPUs were seen both busy and low: tables of the others need not be made."""
    ends = (
        metrics[metrics["metric"] == "gpu_utilization"].groupby("node", observed=True)["value_pct"].agg(["min", "max"])
    )
    return [str(name) for name in ends.index[(ends["min"] < LOW_PCT) & (ends["max"] >= BUSY_PCT)]]


def _written_in(table: pd.DataFrame, low: pd.Series) -> bool:
    if "disk_utilization" not in table:
        return False
    grown = table["disk_utilization"].diff().clip(lower=0.0).fillna(0.0)
    # What is written in a minute may show in the next.
    near = low | low.shift(fill_value=False)
    total = float(grown.sum())
    number = (near & ~near.shift(fill_value=False)).cumsum()
    by_dip = grown[near].groupby(number[near]).sum()
    return total > 0 and grown[near].sum() >= _WRITTEN_SHARE * total and (by_dip >= _WRITTEN_POINTS).mean() >= 0.5


def _median(values: pd.Series) -> float | None:
    median = values.median()
    return None if pd.isna(median) else float(median)
