"""Which checkpoints are known to have been saved, how regularly, and how old is the newest?

A save is what one gap between two reports holds of checkpoint lines, whoever wrote them and however many files they name.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pandas as pd

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
