"""Do pauses that no line explains look like checkpoints: at a period, the GPUs down, more disk in use after each?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

import numpy as np
import pandas as pd

from monitor.analyze.journal import MARKS, usual_step_s

FEWEST = 3
# A shorter pause leaves no mark in minutes.
LEAST_S = 20.0
# The pause is this many usual gaps between reports.
_GAPS = 3.0
# Pauses come at one period where the distances differ from their median by less than this share.
_NEAR = 0.15
_MOSTLY = 0.7
# Points of disk space: less may be a log file's.
_DISK_POINTS = 0.05
_DIP = 0.8


@dataclass(frozen=True, slots=True)
class Pauses:
    """The pauses, and how much disk space a usual one took, points."""

    spans: tuple[tuple[datetime, datetime], ...]
    disk_points: float

    @property
    def seconds(self) -> tuple[float, ...]:
        return tuple((end - start).total_seconds() for start, end in self.spans)


def checkpoint_pauses(journal: pd.DataFrame, metrics: pd.DataFrame) -> Pauses | None:
    """The pauses that look like checkpoints; None where there are none, or where lines do tell of checkpoints."""
    if journal.empty or journal["checkpoint"].any() or journal["at"].isna().any():
        return None
    usual_s = usual_step_s(journal)
    disk = metrics[metrics["metric"] == "disk_utilization"]
    gpu = metrics[metrics["metric"] == "gpu_utilization"]
    if usual_s is None or disk.empty or gpu.empty:
        return None
    rows = journal[~journal[list(MARKS)].any(axis=1) & journal["wall_s"].notna()]
    excess = rows["gap_s"] - usual_s * rows["steps"].fillna(1.0)
    rows = rows.assign(excess_s=excess)[(excess >= LEAST_S) & (rows["gap_s"] >= _GAPS * journal["gap_s"].median())]
    if len(rows) < FEWEST:
        return None
    apart = rows["step"].diff().dropna().to_numpy("float64")
    usual = float(np.median(apart))
    if float((np.abs(apart - usual) <= _NEAR * usual).mean()) < _MOSTLY:
        return None
    spans = [(at - timedelta(seconds=excess_s), at) for at, excess_s in zip(rows["at"], rows["excess_s"], strict=True)]
    growth = [_growth(disk, start, end) for start, end in spans]
    rest = timedelta(minutes=3)
    between = [_growth(disk, one[1] + rest, other[0] - rest) for one, other in pairwise(spans)]
    known = [value for value in growth if value is not None]
    if len(known) < FEWEST or not all(_dips(gpu, start, end) for start, end in spans[:FEWEST]):
        return None
    wrote = np.array(known) > _DISK_POINTS
    meanwhile = [value for value in between if value is not None]
    # Space that is taken all the time is no checkpoint's.
    if wrote.mean() < _MOSTLY or (meanwhile and np.median(meanwhile) > 0.5 * np.median(known)):
        return None
    return Pauses(tuple((start.to_pydatetime(), end.to_pydatetime()) for start, end in spans), float(np.median(known)))


def _growth(disk: pd.DataFrame, start: pd.Timestamp, end: pd.Timestamp) -> float | None:
    """The change of disk space in use from before ``start`` to after ``end``, points, of the node where it is the largest."""
    minute = timedelta(minutes=1)
    before = disk[(disk["timestamp"] <= start - minute) & (disk["timestamp"] > start - 5 * minute)]
    after = disk[(disk["timestamp"] >= end) & (disk["timestamp"] < end + 4 * minute)]
    held, holds = (part.groupby("node", observed=True)["value_pct"] for part in (before, after))
    change = (holds.first() - held.last()).dropna()
    return float(change.max()) if len(change) else None


def _dips(gpu: pd.DataFrame, start: pd.Timestamp, end: pd.Timestamp) -> bool:
    inside = gpu[(gpu["timestamp"] >= start.floor("min")) & (gpu["timestamp"] <= end)]["value_pct"]
    return bool(len(inside) and inside.min() < _DIP * gpu["value_pct"].median())
