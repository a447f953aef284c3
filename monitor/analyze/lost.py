"""Work that was lost: steps done, and done again after a restart from an earlier checkpoint.

Seen in the training's own counter: a later segment of the same writer begins below the step that an earlier one had
reached. A counter that begins again at its start is an epoch's, or another run in the same log, unless a restart is told
between; then all that went before is lost. Reports of several ranks that stand in one stream without saying whose they are
fall back by a step or two: without a word of a restart, fewer than three reports done again are none.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pandas as pd

from monitor.analyze.journal import codes, writers
from monitor.model import Job

_FEWEST_AGAIN = 3


@dataclass(frozen=True, slots=True)
class Loss:
    """One restart: the steps above ``kept`` up to ``reached`` were done for nothing."""

    node: str
    kept: int
    reached: int
    seconds: float | None
    """Their step times summed; None where no line gives one."""
    start: datetime | None
    """When the last step that was kept had been done; None without times."""
    end: datetime | None
    """When the last step that was lost had been done."""
    again: datetime | None
    """When the first step after the restart began."""

    @property
    def steps(self) -> int:
        return self.reached - self.kept


@dataclass(frozen=True, slots=True)
class LostWork:
    """The losses as the writer (node and rank) that lost the most steps saw them: every rank loses the same ones."""

    losses: tuple[Loss, ...]
    redone: frozenset[int]
    """Index in the Steps frame of every report, of any writer, whose step was done again."""

    @property
    def steps(self) -> int:
        return sum(loss.steps for loss in self.losses)

    @property
    def seconds(self) -> float | None:
        known = [loss.seconds for loss in self.losses if loss.seconds is not None]
        return sum(known) if known else None


class _Reported:
    """Where restarts and resumes are told of: by line within a stream, by time over all streams."""

    def __init__(self, events: pd.DataFrame, kind: str) -> None:
        rows = events[events["kind"] == kind]
        self._lines = {
            str(stream): np.sort(part.to_numpy(dtype="int64"))
            for stream, part in rows.groupby("stream", observed=True)["line"]
        }
        self._times = np.sort(rows["timestamp"].dropna().to_numpy(dtype="datetime64[ms]"))

    def before(self, streams: np.ndarray, lines: np.ndarray) -> np.ndarray:
        """For each row but the first whether any stands between it and the row before it, in one stream."""
        out = np.zeros(len(lines) - 1, dtype=bool)
        for stream, told in self._lines.items():
            after, until = np.searchsorted(told, lines[:-1], "right"), np.searchsorted(told, lines[1:], "left")
            out |= (streams[1:] == stream) & (streams[:-1] == stream) & (after < until)
        return out

    def between(self, stream: str, lines: tuple[int, int], times: tuple[np.datetime64, np.datetime64]) -> bool:
        """Whether any stands between two lines of a stream, or in time between the two in any."""
        here = self._lines.get(stream)
        if here is not None and np.searchsorted(here, lines[0], "right") < np.searchsorted(here, lines[1], "left"):
            return True
        if np.isnat(times).any():
            return False
        return bool(np.searchsorted(self._times, times[0], "right") < np.searchsorted(self._times, times[1], "left"))


def lost_work(steps: pd.DataFrame, events: pd.DataFrame, job: Job) -> LostWork | None:
    """The work lost to restarts, from the Steps and Events frames; None where none was, or none can be told.

    A further stream of a node of a job in the account is a container that was started again; a further file may hold
    anything.
    """
    known = steps["step"].notna()
    numbered = steps[_COLUMNS] if known.all() else steps.loc[known, _COLUMNS]
    writer = writers(numbered)
    pieces = codes(writer, numbered["stream"], numbered["segment"])
    restarts = bool(events["kind"].isin(["restart", "resume"]).any())
    # Most jobs have one segment and stream a writer, and are done here.
    if numbered.empty or not (restarts or len(np.unique(pieces)) > len(np.unique(writer))):
        return None
    told = (_Reported(events, "restart"), _Reported(events, "resume"))
    best: list[Loss] = []
    redone: set[int] = set()
    order = np.argsort(writer, kind="stable")
    for places in np.split(order, np.flatnonzero(np.diff(writer[order])) + 1):
        losses, again = _writer(numbered.iloc[places], told, job.source != "logs")
        redone.update(again)
        if sum(loss.steps for loss in losses) > sum(loss.steps for loss in best):
            best = losses
    return LostWork(tuple(best), frozenset(redone)) if best else None


_COLUMNS = ["node", "rank", "format", "stream", "segment", "line", "step", "step_time_s", "timestamp", "kind"]


def _in_order(rows: pd.DataFrame) -> pd.DataFrame:
    """A writer's reports, its streams one after the other as they began."""
    if rows["stream"].nunique() == 1:
        return rows
    begun = rows.groupby("stream", observed=True, sort=True)["timestamp"].min()
    order = (begun.sort_values(kind="stable") if begun.notna().all() else begun).index
    return rows.iloc[
        np.argsort(rows["stream"].map({name: at for at, name in enumerate(order)}).astype("int64"), kind="stable")
    ]


def _writer(rows: pd.DataFrame, told: tuple[_Reported, _Reported], containers: bool) -> tuple[list[Loss], list[int]]:
    """The losses of one writer, and the index of its reports that were done again."""
    rows = _in_order(rows)
    numbers, segments = rows["step"].to_numpy(dtype="int64"), rows["segment"].to_numpy(dtype="int64")
    streams, lines = rows["stream"].to_numpy(), rows["line"].to_numpy(dtype="int64")
    times = rows["timestamp"].to_numpy(dtype="datetime64[ms]")
    moved = streams[1:] != streams[:-1]
    gaps = np.diff(numbers)
    # A counter that falls back by one report stands still.
    again = (gaps == 0) & (told[0].before(streams, lines) | told[1].before(streams, lines))
    cuts = np.flatnonzero(moved | again | (segments[1:] != segments[:-1])) + 1
    if not len(cuts):
        return [], []
    interval = int(np.median(gaps[gaps > 0])) if (gaps > 0).any() else 1
    origin = int(min(numbers[0], numbers[cuts].min()))
    alive = np.ones(len(numbers), dtype=bool)
    losses: list[Loss] = []
    redone: list[int] = []
    reached = int(numbers[: cuts[0]].max())
    for cut, end in zip(cuts, [*cuts[1:], len(numbers)], strict=True):
        first, newest = int(numbers[cut]), int(numbers[cut:end].max())
        reports, reached_before = (reached - first) // interval + 1, reached
        reached = max(reached, newest)
        if first > reached_before:
            continue
        place = (str(streams[cut]), (int(lines[cut - 1]), int(lines[cut])), (times[cut - 1], times[cut]))
        restarted = (containers and bool(moved[cut - 1])) or told[0].between(*place)
        resumed = restarted or told[1].between(*place)
        if not resumed and (reports < _FEWEST_AGAIN or len(set(numbers[cut:end].tolist())) < _FEWEST_AGAIN):
            continue
        if first <= origin + (0 if resumed else interval) and not restarted:
            return [], []  # an epoch's own counter, or another run: what was kept of the former cannot be told
        gone = alive[:cut] & (numbers[:cut] >= first)
        kept = alive[:cut] & ~gone
        losses.append(_loss(rows[:cut][gone], rows[:cut][kept], rows.iloc[cut], first - interval, reached_before))
        redone.extend(rows.index[:cut][gone])
        alive[:cut] = kept
        reached = newest
    return losses, redone


def _loss(lost: pd.DataFrame, kept: pd.DataFrame, first: pd.Series, before: int, reached: int) -> Loss:
    """The loss of the reports ``lost``; ``first`` is the first one after the restart, ``before`` the step before it."""
    kept_step = max(before, -1)
    mean_s = lost["step_time_s"].mean()
    took_s = first["step_time_s"] if first["kind"] in {"step", "cumulative"} else float("nan")
    again = first["timestamp"] - pd.Timedelta(seconds=0.0 if pd.isna(took_s) else float(took_s))
    return Loss(
        node=str(lost["node"].iloc[0]),
        kept=kept_step,
        reached=reached,
        # A report stands for all steps since the one before it.
        seconds=None if pd.isna(mean_s) else float(mean_s) * (reached - kept_step),
        start=_moment(kept["timestamp"].max() if len(kept) else lost["timestamp"].min()),
        end=_moment(lost["timestamp"].max()),
        again=_moment(again),
    )


def _moment(at: pd.Timestamp) -> datetime | None:
    return None if pd.isna(at) else at.floor("ms").to_pydatetime()


def without(steps: pd.DataFrame, lost: LostWork | None) -> pd.DataFrame:
    """The Steps frame without the reports whose steps were done again: each step counts once."""
    return steps if lost is None else steps.drop(index=list(lost.redone))
