"""What failed first, and what only followed: one failure makes every other rank fail, each in its own words.

An error that the training went on after was caught, or repaired by a restart: it is none of the end's causes. Of the rest
the first in time counts, but for errors that only tell of a peer that is gone: these come before the peer's own words
where its lines are late.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pandas as pd

from monitor.analyze.writers import moments, with_writers

#: The kinds of events that are errors by themselves; a traceback counts where its last line is missing.
ERRORS = ("error", "oom-kill", "collective-timeout", "nccl-error")
# So many different steps after an error show that the training went on; ranks that do not know of it yet finish one or two.
_WENT_ON = 3
# A peer's own words come at most this long after the first word of those that miss it.
_LATE_MS = 60_000.0
_PEER_IS_GONE = re.compile(
    r"(?i)connection (?:was )?(?:closed|reset|refused|aborted)|closed by (?:remote )?peer|broken pipe|socket (?:timeout|closed)"
    r"|remote process (?:has )?(?:exited|terminated)|remote peer|ncclRemoteError|ncclSystemError|unhandled system error"
    r"|ChildFailedError|SignalException|DistNetworkError|failed to recv|communicator was aborted|process group .{0,40}abort"
    r"|KeyboardInterrupt|ExecuteUserScriptError|CalledProcessError"
)


@dataclass(frozen=True, slots=True)
class Cascade:
    """The first error of a failure, and how far it spread."""

    kind: str
    """The event's kind, one of ``ERRORS`` or "traceback"."""
    text: str
    at: datetime | None
    node: str
    """Empty if not known."""
    rank: int | None
    stream: str
    line: int
    followers: int
    """Further errors after it, of any writer."""
    ranks: tuple[int, ...]
    """The other ranks that these are of, where known."""
    nodes: tuple[str, ...]
    """The other nodes."""


def cascade(events: pd.DataFrame, steps: pd.DataFrame) -> Cascade | None:
    """The first error that the training did not get over, with what followed; None where there is none."""
    errors = events[events["kind"].isin(ERRORS)]
    if errors.empty:
        errors = events[events["kind"] == "traceback"]
    errors = _heeded(errors, events)
    if errors.empty:
        return None
    errors = with_writers(errors, steps).drop_duplicates(["stream", "line", "rank"])
    (at, stepped), comparable = moments(errors, steps)
    errors = errors.assign(at=at).sort_values(["at", "stream", "line"], kind="stable")
    left = errors[~_got_over(errors, steps[["stream", "line", "step"]].assign(at=stepped), comparable)]
    if left.empty:
        return None
    first = _first(left, comparable)
    after = left.drop(index=first.name)
    after = after[after["at"] >= first["at"]]
    own_rank = None if pd.isna(first["rank"]) else int(first["rank"])
    return Cascade(
        kind=str(first["kind"]),
        text=str(first["text"]),
        at=None if pd.isna(first["timestamp"]) else first["timestamp"].to_pydatetime(),
        node=str(first["node"]),
        rank=own_rank,
        stream=str(first["stream"]),
        line=int(first["line"]),
        followers=len(after),
        ranks=tuple(sorted({int(rank) for rank in after["rank"].dropna()} - {own_rank})),
        nodes=tuple(sorted(set(after["node"]) - {str(first["node"]), ""})),
    )


def cascade_words(found: Cascade) -> str:
    """``rank 14 on algo-2, log line 585: CUDA out of memory … (6 more errors followed, of ranks 0, 3)``."""
    who = " on ".join(part for part in ("" if found.rank is None else f"rank {found.rank}", found.node) if part)
    place = f"{who + ', ' if who else ''}log line {found.line}: {found.text}"
    if not found.followers:
        return place
    ranks = ", ".join(str(rank) for rank in found.ranks[:8]) + (", …" if len(found.ranks) > 8 else "")
    of = f", of rank{'s' if len(found.ranks) > 1 else ''} {ranks}" if found.ranks else ""
    more = "1 more error" if found.followers == 1 else f"{found.followers} more errors"
    return f"{place} ({more} followed{of})"


def _heeded(errors: pd.DataFrame, events: pd.DataFrame) -> pd.DataFrame:
    """Without the exceptions that Python itself ignored: the first one of the same writer behind its word for that."""
    ignored = events[events["kind"] == "ignored-exception"]
    if ignored.empty or errors.empty:
        return errors
    out = []
    for row in ignored.itertuples():
        same = errors[(errors["stream"] == row.stream) & (errors["line"] >= row.line)]
        same = same[same["rank"].isna() if pd.isna(row.rank) else (same["rank"] == row.rank).fillna(False)]
        out += list(same.index[:1])
    return errors.drop(index=out)


def _got_over(errors: pd.DataFrame, steps: pd.DataFrame, comparable: bool) -> np.ndarray:
    """For each error, whether the training went on after it."""
    steps = steps.dropna(subset=["step"])
    if comparable:
        return _steps_after(errors, steps, "line" if _one_stream(errors, steps) else "at") >= _WENT_ON
    over = pd.Series(False, index=errors.index)
    for stream, mine in errors.groupby("stream", observed=True):
        over[mine.index] = _steps_after(mine, steps[steps["stream"] == stream], "line") >= _WENT_ON
    return np.asarray(over, dtype=bool)


def _one_stream(errors: pd.DataFrame, steps: pd.DataFrame) -> bool:
    return len({*errors["stream"].unique(), *steps["stream"].unique()}) == 1


def _steps_after(errors: pd.DataFrame, steps: pd.DataFrame, column: str) -> np.ndarray:
    """How many different steps were reported after each error, by a column that puts both in order."""
    ordered = steps.sort_values(column, kind="stable", ascending=False)
    different = (~ordered["step"].duplicated()).cumsum().to_numpy()
    places = ordered[column].to_numpy(dtype="float64")
    if not len(places):
        return np.zeros(len(errors), dtype=np.int64)
    later = np.searchsorted(-places, -errors[column].to_numpy(dtype="float64"), side="left")
    return np.where(later > 0, different[np.maximum(later, 1) - 1], 0)


def _first(errors: pd.DataFrame, comparable: bool) -> pd.Series:
    gone = errors["text"].str.contains(_PEER_IS_GONE)
    own = errors[~gone]
    first = errors.iloc[0]
    if own.empty or (comparable and own.iloc[0]["at"] - first["at"] > _LATE_MS):
        return first
    return own.iloc[0]
