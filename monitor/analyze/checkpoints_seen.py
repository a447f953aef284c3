"""Which checkpoints did the log tell of, and when was the last one done?

One checkpoint is told of by many lines: its beginning and its end, by many ranks, for many files. Lines between which
the training has not moved on are of one. Where a log tells of ends too, a save that was only begun is none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pandas as pd

# The step that a save's own line names: "at iteration 200", "checkpoint-500", "global_step700", "after 100 steps".
_NAMED = re.compile(r"(?i)(?:\biterations?|checkpoint-|steps?)[ :=_-]{0,8}(\d{1,12})(?![\d.])|\b(\d{1,12})[ -]?steps\b")


@dataclass(frozen=True, slots=True)
class LastCheckpoint:
    """A checkpoint that was saved; the last one of a job is what it can begin again from."""

    at: datetime | None
    """When its last line was written; None where lines have no time."""
    step: int | None
    """The step that its line names, else the one reported before it; None where neither is known."""


def last_checkpoint(events: pd.DataFrame, journal: pd.DataFrame) -> LastCheckpoint | None:
    """The last checkpoint seen; None where no line tells of one. ``journal`` is that of ``monitor.analyze.journal``."""
    found = checkpoints_seen(events, journal)
    return found[-1] if found else None


def checkpoints_seen(events: pd.DataFrame, journal: pd.DataFrame) -> tuple[LastCheckpoint, ...]:
    """All checkpoints that were saved, in order; empty where no line tells of one."""
    rows = events[events["kind"].isin(["checkpoint-begin", "checkpoint-end"])]
    if rows.empty:
        return ()
    marks = rows[["timestamp", "stream", "line", "kind", "text"]].assign(place=_places(rows, journal))
    order = ["timestamp", "place", "line"] if marks["timestamp"].notna().all() else ["place", "line"]
    marks = marks.sort_values(order, kind="stable")
    begins = (marks["kind"] == "checkpoint-begin").to_numpy()
    places = marks["place"].to_numpy()
    # A begin after the training has moved on opens the next one; without begins, an end does. Ranks print a little
    # before or after the leader's report, so a place next to the last one's is the same.
    opens, opened = np.zeros(len(marks), dtype=bool), None
    openers = begins if begins.any() else np.ones(len(marks), dtype=bool)
    for row in np.flatnonzero(openers):
        opens[row] = opened is None or abs(int(places[row]) - opened) > 1
        opened = int(places[row])
    opens[0] = True
    ends_told = not begins.all()
    out: list[LastCheckpoint] = []
    for _, group in marks.groupby(np.cumsum(opens)):
        ended = group[group["kind"] == "checkpoint-end"]
        if ends_told and ended.empty:
            continue
        last = (ended if len(ended) else group)["timestamp"].max()
        at = None if pd.isna(last) else last.floor("ms").to_pydatetime()
        out.append(LastCheckpoint(at, _step(group, journal)))
    return tuple(out)


def _places(rows: pd.DataFrame, journal: pd.DataFrame) -> np.ndarray:
    """For each line how many rows of the journal stand before it: by line in its stream, else by time."""
    places = np.zeros(len(rows), dtype="int64")
    if journal.empty:
        # Without steps each line stands for itself, but for those of one minute.
        minutes = rows["timestamp"].dt.floor("min")
        return np.asarray(2 * pd.factorize(minutes, use_na_sentinel=False, sort=True)[0])
    streams, times = journal["stream"].to_numpy(), journal["at"].to_numpy("datetime64[ms]")
    timed = not np.isnat(times).any()
    clock = np.maximum.accumulate(times) if timed else times
    for stream, mine in rows.groupby("stream", observed=True):
        here = np.flatnonzero(streams == stream)
        which = rows.index.get_indexer(mine.index)
        if len(here):
            lines = journal["line"].to_numpy("int64")[here]
            places[which] = here[0] + np.searchsorted(lines, mine["line"].to_numpy("int64"), "left")
        elif timed:
            told = mine["timestamp"].to_numpy("datetime64[ms]")
            found = np.searchsorted(clock, told, "right")
            places[which] = np.where(np.isnat(told), len(journal), found)
        else:
            places[which] = len(journal)
    return places


def _step(group: pd.DataFrame, journal: pd.DataFrame) -> int | None:
    """The step of one checkpoint: as its line names it, if the training was there; else as reported before it."""
    place = int(group["place"].iloc[0])
    before = journal["step"].iloc[place - 1] if 0 < place <= len(journal) else pd.NA
    reached = None if pd.isna(before) else int(before)
    for text in group["text"]:
        named = _NAMED.search(str(text))
        if named is not None:
            step = int(named[1] or named[2])
            # A loop that counts from 0 names one more than it printed; a report may stand for many steps.
            following = journal["step"].iloc[place : place + 1]
            latest = int(following.max()) if len(following) and pd.notna(following.max()) else None
            if reached is None or reached <= step <= max(reached + 1, latest or 0):
                return step
    return reached
