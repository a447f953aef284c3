"""What do the GPUs do while no step is reported: wait in a collective, nothing at all, or work?

Judged on one-minute means that lie wholly in the silence; a host's mean that does not move is no training at work.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import NormalDist
from typing import Literal

import pandas as pd

BUSY_PCT = 95.0
IDLE_PCT = 5.0
# A waiting GPU's minutes differ by less than this (standard deviation, points); a working one's by more.
FLAT_POINTS = 1.0
# Ten minutes show more than that by chance, and the more nodes there are, the more so: in one job of twenty, on some node.
_BY_CHANCE = 0.05
# A mean that differs by more than this is another level.
MOVED_POINTS = 2.0
FEWEST_MINUTES = 3
# Only what they do now counts, not how they came to it.
NEWEST = timedelta(minutes=10)
# CloudWatch's newest minutes are incomplete.
LATE = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class HeldGpus:
    """``waiting`` near 100 %, ``idle`` near 0, ``split`` between nodes, ``flat`` at another level, or ``working``."""

    pattern: Literal["waiting", "idle", "split", "flat", "working"]
    levels: dict[str, float]
    """node -> mean, percent of one GPU."""
    idle_nodes: tuple[str, ...]
    changed: bool | None
    """Whether it was different before the silence; None where that is not known."""


def held_gpus(metrics: pd.DataFrame, since: datetime, until: datetime) -> HeldGpus | None:
    """The pattern of the newest minutes between ``since`` and ``until``; None of fewer than three minutes."""
    rows = metrics[metrics["metric"] == "gpu_utilization"]
    inside = rows[(rows["timestamp"] > since) & (rows["timestamp"] <= until - LATE)]
    if inside["timestamp"].nunique() < FEWEST_MINUTES:
        return None
    inside = inside[inside["timestamp"] > inside["timestamp"].max() - NEWEST]
    if inside["timestamp"].nunique() < FEWEST_MINUTES:
        return None
    levels, spread = _of(inside)
    idle = levels <= IDLE_PCT
    pattern: Literal["waiting", "idle", "split", "flat", "working"]
    if idle.all():
        pattern = "idle"
    elif (spread[~idle] > _most_by_chance(inside, int((~idle).sum()))[~idle]).any():
        pattern = "working"
    elif (levels >= BUSY_PCT).all():
        pattern = "waiting"
    else:
        pattern = "split" if idle.any() else "flat"
    before = rows[(rows["timestamp"] < since - timedelta(minutes=1)) & (rows["timestamp"] > since - 6 * NEWEST)]
    changed = None
    if before["timestamp"].nunique() >= FEWEST_MINUTES:
        # Before: without the start, or a checkpoint, among it.
        by_node = before.groupby("node", observed=True)["value_pct"]
        usual = by_node.median()
        usual_spread = 1.4826 * by_node.agg(lambda values: (values - values.median()).abs().median())
        moved = (levels - usual).abs() > MOVED_POINTS
        changed = bool((moved | ((usual_spread > FLAT_POINTS) & (spread <= FLAT_POINTS))).any())
    names = tuple(str(name) for name in levels.index[idle]) if pattern == "split" else ()
    return HeldGpus(pattern, {str(name): float(level) for name, level in levels.items()}, names, changed)


def _most_by_chance(rows: pd.DataFrame, nodes: int) -> pd.Series:
    """The spread that a node of ``FLAT_POINTS`` may show in its minutes, where as many nodes are looked at: the quantile of chi
    squared by Wilson and Hilferty's cube, which is exact to a percent."""
    sure = NormalDist().inv_cdf(1 - _BY_CHANCE / nodes)
    free = (rows.groupby("node", observed=True)["value_pct"].count() - 1).clip(lower=1)
    part = 2 / (9 * free)
    return FLAT_POINTS * ((1 - part + sure * part**0.5) ** 3) ** 0.5


def _of(rows: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    by_node = rows.groupby("node", observed=True)["value_pct"]
    return by_node.mean(), by_node.std().fillna(0.0)
