"""Checkpoints as a run shows them: which were saved and how regularly, pauses that look like one without a line, and the
work since the last that would be lost if the job died now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

import numpy as np
import pandas as pd

from monitor.analyze.journal import MARKS, usual_step_s
from monitor.analyze.lost import LostWork
from monitor.model import AtRisk

# So many saves are needed to know how often a job means to save.
FEWEST_SAVES = 3
# Intervals are of one cadence where so many of them are this near their median; saves of "the best so far" are not.
NEAR_SHARE = 0.25
MOSTLY = 0.7
# Where no step tells which lines belong together: a save is over when nothing was said of it for so long.
_APART = pd.Timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Save:
    """One checkpoint: its last line, and the step that was reported before it (None where none is)."""

    at: datetime
    step: int | None


@dataclass(frozen=True, slots=True)
class Cadence:
    """How often a job saves: the median interval, in seconds and in steps, and the longest of both."""

    seconds: float
    longest_s: float
    steps: float | None
    longest_steps: float | None


def saves(journal: pd.DataFrame, events: pd.DataFrame) -> tuple[Save, ...]:
    """The saves in time; empty where no line with a time tells of one.

    Where at least three saves say that they are complete, only complete ones count: one that was begun may have failed.
    """
    told = events[events["kind"].isin(["checkpoint-begin", "checkpoint-end"]) & events["timestamp"].notna()]
    if told.empty:
        return ()
    told = told.sort_values("timestamp", kind="stable")
    rows = _grouped(told, journal)
    complete = _grouped(told[told["kind"] == "checkpoint-end"], journal)
    return complete if len(complete) >= FEWEST_SAVES else rows


def cadence(found: tuple[Save, ...]) -> Cadence | None:
    """How often the job saves; None of fewer than three saves, and where their intervals follow no rule."""
    if len(found) < FEWEST_SAVES:
        return None
    seconds = np.diff([save.at.timestamp() for save in found])
    numbers = [save.step for save in found if save.step is not None]
    moved = np.diff(numbers) if len(numbers) == len(found) else np.array([])
    by_steps = bool(len(moved)) and bool((moved > 0).all())
    if not (by_steps and _regular(moved)) and not _regular(seconds):
        return None
    return Cadence(
        float(np.median(seconds)),
        float(seconds.max()),
        float(np.median(moved)) if by_steps else None,
        float(moved.max()) if by_steps else None,
    )


def _regular(intervals: np.ndarray) -> bool:
    middle = float(np.median(intervals))
    return middle > 0 and float((np.abs(intervals - middle) <= NEAR_SHARE * middle).mean()) >= MOSTLY


def _grouped(told: pd.DataFrame, journal: pd.DataFrame) -> tuple[Save, ...]:
    """One save a gap between reports."""
    if told.empty:
        return ()
    times = journal["at"].to_numpy("datetime64[ms]") if len(journal) else np.array([], dtype="datetime64[ms]")
    marks = told["timestamp"].to_numpy("datetime64[ms]")
    if not len(times) or np.isnat(times).any():
        apart = (told["timestamp"].diff() > _APART).cumsum()
        return tuple(Save(rows["timestamp"].iloc[-1].to_pydatetime(), None) for _, rows in told.groupby(apart))
    places = _places(told, journal, np.maximum.accumulate(times), marks)
    numbers = journal["step"]
    out = []
    for place in np.unique(places):
        step = numbers.iloc[place - 1] if place > 0 else pd.NA
        at = pd.Timestamp(marks[places == place].max(), tz="UTC").to_pydatetime()
        out.append(Save(at, None if pd.isna(step) else int(step)))
    return tuple(sorted(out, key=lambda save: save.at))


def _places(told: pd.DataFrame, journal: pd.DataFrame, times: np.ndarray, marks: np.ndarray) -> np.ndarray:
    """How many reports stand before each line: by line in the reports' own stream, else by time."""
    places = np.searchsorted(times, marks, "right")
    streams, lines = journal["stream"], journal["line"].to_numpy("int64")
    for stream in set(told["stream"]) & set(streams.unique()):
        here = np.flatnonzero(streams == stream)
        mine = (told["stream"] == stream).to_numpy()
        before = np.searchsorted(lines[here], told.loc[mine, "line"].to_numpy("int64"), "left")
        places[mine] = here[0] + before
    return places


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


def at_risk(
    saved: Sequence[Save],
    journal: pd.DataFrame,
    until: datetime,
    usd_per_hour: float | None,
    lost: LostWork | None = None,
) -> AtRisk | None:
    """Of a running job that worked ``until`` then; None where no checkpoint was seen.

    ``saved`` are the checkpoints of ``monitor.analyze.checkpoints``, ``journal`` is that of ``monitor.analyze.journal``;
    ``usd_per_hour`` is of the whole job.
    """
    if not saved:
        return None
    last = saved[-1]
    # What was lost already is no longer at risk.
    begun = [loss.again for loss in (lost.losses if lost else ()) if loss.again is not None]
    seconds = max(0.0, (until - max([last.at, *begun])).total_seconds())
    reached = journal["step"].iloc[-1] if len(journal) else pd.NA
    steps = None if last.step is None or pd.isna(reached) else max(0, int(reached) - last.step)
    return AtRisk(last.at, last.step, steps, seconds, None if usd_per_hour is None else seconds * usd_per_hour / 3600)
