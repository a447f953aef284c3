"""What failed first, and what only followed: one failure makes every other rank fail, each in its own words.

An error that the training went on after was caught, or repaired by a restart: it is none of the end's causes. Of the rest
the first in time counts, but for errors that name no cause, such as that a peer is gone: these may come before the peer's
own words. The order of lines in a stream is sure; clocks of different streams differ by seconds, and what lies closer
together is told apart by what the texts explain, and by the rank that the launcher saw fail first.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
import pandas as pd

from monitor.analyze.failure_causes import NAMES_A_CAUSE, kind_of, strength
from monitor.model import LEFT_OUT, moment_of

#: The kinds of events that are errors by themselves; a traceback counts where its last line is missing.
ERRORS = ("error", "oom-kill", "collective-timeout", "nccl-error")
#: Words of a process that is over, whatever it did before: without them a job that runs may well go on.
ENDS = ("toolkit-error", "exit-code", "launcher-abort", "root-cause", "worker-exit")
# So many different steps after an error show that the training went on; ranks that do not know of it yet finish one or two.
_WENT_ON = 3
# A peer's own words come at most this long after the first word of those that miss it.
_LATE_MS = 60_000.0
# Two hosts' clocks may each be two seconds off.
_SKEW_MS = 4_000.0
# The launcher's block names the rank so many lines behind its headline at most.
_BLOCK = 12
# What a launcher, a shell or a notebook adds behind the last line about a failure.
_LAST_LINES = 100
_ABOUT_A_FAILURE = (
    "traceback",
    "frame",
    "root-cause",
    "worker-exit",
    "launcher-abort",
    "toolkit-error",
    "signal",
    "cancelled",
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
    """As in the Events frame: below 0 where its number is not known; 0 where it is no line of a log."""
    followers: int
    """Further errors after it, of any writer."""
    ranks: tuple[int, ...]
    """The other ranks that these are of, where known."""


def cascade(events: pd.DataFrame, steps: pd.DataFrame, failed: bool = False) -> Cascade | None:
    """The first error that the training did not get over, with what followed; None where there is none.

    One like several that it got over is that one only where nothing else is, of a job that is known to have ``failed``.
    """
    errors = events[events["kind"].isin(ERRORS)]
    if errors.empty:
        errors = events[events["kind"] == "traceback"]
    errors = _heeded(errors, events)
    if errors.empty:
        return None
    errors = with_writers(errors, steps).drop_duplicates(["stream", "line", "rank"])
    (at, stepped), comparable = moments(errors, steps)
    errors = errors.assign(at=at).sort_values(["at", "stream", "line"], kind="stable")
    over = _got_over(errors, steps[["stream", "line", "step"]].assign(at=stepped), comparable)
    over = over | _before_epochs(errors, events)
    left = errors[~over]
    unlike = left[~_as_before(left, errors[over], events)]
    left = left if failed and unlike.empty else unlike
    if left.empty:
        return None
    left = left.assign(strength=left["text"].map(strength))
    launcher = launcher_ranks(events)
    first, others = _first(left, comparable, launcher)
    after = left.drop(index=first.name)
    after = after[(after["at"] >= first["at"]) | after.index.isin(others) | (after["strength"] < NAMES_A_CAUSE)]
    own_rank = None if pd.isna(first["rank"]) else int(first["rank"])
    named = launcher.get(str(first["stream"]), frozenset())
    # Who waits in vain is no more the first to fail than the one that torchrun happens to see end.
    if own_rank is None and len(named) == 1 and kind_of(str(first["text"])) != "timeout":
        own_rank = next(iter(named))
    return replace(
        as_error(first),
        rank=own_rank,
        followers=len(after) + _further(events, first),
        ranks=_ranks(after, own_rank),
    )


def _further(events: pd.DataFrame, first: pd.Series) -> int:
    """How many errors are not kept that came after the first one."""
    rows = left_out(events, ERRORS)
    return int(rows.loc[(rows["stream"] != first["stream"]) | (rows["line"] > first["line"]), "count"].sum())


def as_error(row: pd.Series) -> Cascade:
    """A row of the Events frame by itself."""
    return Cascade(
        kind=str(row["kind"]),
        text=str(row["text"]),
        at=moment_of(row["timestamp"]),
        node=str(row["node"]),
        rank=None if pd.isna(row["rank"]) else int(row["rank"]),
        stream=str(row["stream"]),
        line=int(row["line"]),
        followers=0,
        ranks=(),
    )


def _ranks(rows: pd.DataFrame, but: int | None) -> tuple[int, ...]:
    return tuple(sorted({int(rank) for rank in rows["rank"].dropna()} - {but}))


def launcher_ranks(events: pd.DataFrame) -> dict[str, frozenset[int]]:
    """stream -> ranks that its launcher (mpirun, torchrun) names as the first to fail."""
    exits = events[(events["kind"] == "worker-exit") & events["text"].str.contains(r"\brank=\d", regex=True)]
    if exits.empty:
        return {}
    heads = events[events["kind"] == "root-cause"]
    out: dict[str, set[int]] = {}
    for row in exits.itertuples():
        behind = row.line - heads.loc[heads["stream"] == row.stream, "line"]
        torchrun = "local_rank=" in str(row.text)
        if not torchrun or ((behind > 0) & (behind <= _BLOCK)).any():
            rank = str(row.text).partition("rank=")[2].partition(" ")[0]
            out.setdefault(str(row.stream), set()).add(int(rank))
    return {stream: frozenset(ranks) for stream, ranks in out.items()}


def ends_in_an_error(events: pd.DataFrame, lines: int) -> bool:
    """Whether the last that a log of so many lines says is about a failure; of several files the last lines are not known."""
    about = events[events["kind"].isin((*ERRORS, *_ABOUT_A_FAILURE))]
    alone = events["stream"].nunique() <= 1
    return not about.empty and (not alone or lines - int(about["line"].max()) <= _LAST_LINES)


def cascade_words(found: Cascade) -> str:
    """``rank 14 on algo-2, log line 585: CUDA out of memory … (6 more errors followed, of ranks 0, 3)``."""
    who = " on ".join(part for part in ("" if found.rank is None else f"rank {found.rank}", found.node) if part)
    line = f"log line {found.line}" if found.line > 0 else ""
    said = ", ".join(part for part in (who, line) if part)
    text = "a traceback whose last line is missing" if found.kind == "traceback" else found.text
    place = f"{said}: {text}" if said else text
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


def _before_epochs(errors: pd.DataFrame, events: pd.DataFrame) -> np.ndarray:
    """For each error, whether the epochs of a log that tells no steps come behind it."""
    over = np.zeros(len(errors), dtype=bool)
    for first in events[events["kind"] == "epochs-only"].itertuples():
        if int(str(first.text)) >= _WENT_ON:
            over |= ((errors["stream"] == first.stream) & (errors["line"] < first.line)).to_numpy()
    return over


def _one_stream(errors: pd.DataFrame, steps: pd.DataFrame) -> bool:
    return len({*errors["stream"].unique(), *steps["stream"].unique()}) == 1


def _as_before(errors: pd.DataFrame, got_over: pd.DataFrame, events: pd.DataFrame) -> np.ndarray:
    """For each error, whether the training went on after several of its kind, as an answer that a reward function cannot parse
    is caught each time, and nothing says that a process has ended: no launcher, and no traceback that begins with the program.
    """
    often = _kinds(got_over).value_counts()
    like = np.asarray(_kinds(errors).isin(often.index[often >= _WENT_ON]), dtype=bool)
    if not like.any() or events["kind"].isin(ENDS).any():
        return np.zeros(len(errors), dtype=bool)
    return np.asarray(like & ~_of_program(errors, events))


def _kinds(errors: pd.DataFrame) -> pd.Series:
    """What stands before an error's message, its exception mostly."""
    return errors["text"].str.replace(r"^\[rank\d+\]: ", "", regex=True).str.split(":", n=1).str[0]


def _of_program(errors: pd.DataFrame, events: pd.DataFrame) -> np.ndarray:
    """For each error, whether its traceback begins with the program itself, of which whoever catches an error prints nothing."""
    heads = events[events["kind"] == "traceback"]
    begins = events[(events["kind"] == "frame") & events["text"].str.endswith(" in <module>")]
    out = pd.Series(False, index=errors.index)
    for stream, mine in errors.groupby("stream", observed=True):
        begun, head = (_newest(rows.loc[rows["stream"] == stream, "line"], mine["line"]) for rows in (begins, heads))
        out[mine.index] = begun > head
    return np.asarray(out, dtype=bool)


def _newest(lines: pd.Series, before: pd.Series) -> np.ndarray:
    """The last of ``lines`` up to each of ``before``; minus infinity where there is none."""
    ordered = np.append(-np.inf, np.sort(lines.to_numpy("float64")))
    return np.asarray(ordered[np.searchsorted(ordered, before, side="right") - 1])


def _steps_after(errors: pd.DataFrame, steps: pd.DataFrame, column: str) -> np.ndarray:
    """How many different steps were reported after each error, by a column that puts both in order."""
    ordered = steps.sort_values(column, kind="stable", ascending=False)
    different = (~ordered["step"].duplicated()).cumsum().to_numpy()
    places = ordered[column].to_numpy(dtype="float64")
    if not len(places):
        return np.zeros(len(errors), dtype=np.int64)
    later = np.searchsorted(-places, -errors[column].to_numpy(dtype="float64"), side="left")
    return np.where(later > 0, different[np.maximum(later, 1) - 1], 0)


def _first(errors: pd.DataFrame, comparable: bool, named: dict[str, frozenset[int]]) -> tuple[pd.Series, list[int]]:
    """The error that began it, and the index of others of which the clocks cannot say that they came later."""
    telling = errors[errors["strength"] >= NAMES_A_CAUSE]
    first = errors.iloc[0]
    if telling.empty:
        # Of those that name no cause what the launcher or a signal adds comes last.
        return errors.sort_values("strength", ascending=False, kind="stable").iloc[0], []
    if comparable and telling.iloc[0]["at"] - first["at"] > _LATE_MS:
        return first, []
    # Of each stream the first in its own order, as far as the clocks do not put it behind another one.
    heads = telling.drop_duplicates("stream")
    if comparable:
        heads = heads[heads["at"] <= heads["at"].min() + _SKEW_MS]
    heads = heads[heads["strength"] == heads["strength"].max()]
    ranks = frozenset().union(*named.values())
    by_launcher = heads["rank"].isin(ranks) & heads["rank"].notna()
    best = heads.assign(other=~by_launcher).sort_values("other", kind="stable").iloc[0]
    return errors.loc[best.name], [int(place) for place in heads.index if place != best.name]


def left_out(events: pd.DataFrame, kinds: Collection[str]) -> pd.DataFrame:
    """``stream line count`` of each stream's further events of these kinds; ``line`` is of one of those kept among them."""
    rows = events.loc[events["kind"] == LEFT_OUT, ["stream", "line", "text"]]
    told = rows["text"].str.partition(" ") if len(rows) else pd.DataFrame({0: [], 2: []}, dtype="str")
    rows = rows.assign(count=pd.to_numeric(told[0]).astype("int64"))
    return rows.loc[told[2].isin(kinds), ["stream", "line", "count"]]


# "[Rank 3]" of c10d and Megatron, "[rank3]:" of PyTorch, "rank=3" of an event's fixed form.
_NAMED = r"\[[Rr]ank ?(\d{1,6})\]|\brank=(\d{1,6})\b"

_EPOCH = pd.Timestamp(0, tz="UTC")


def with_writers(events: pd.DataFrame, steps: pd.DataFrame) -> pd.DataFrame:
    """The events with ``rank`` filled from their texts where it is not known, and then ``node`` from other lines of the
    same rank."""
    unknown = events["rank"].isna()
    if not unknown.any():
        return events
    named = events.loc[unknown, "text"].str.extract(_NAMED)
    ranks = pd.to_numeric(named[0].fillna(named[1])).astype("Int64").dropna()
    out = events.copy()
    out.loc[ranks.index, "rank"] = ranks
    both = pd.concat([frame.loc[frame["rank"].notna(), ["rank", "node"]] for frame in (steps, events)])
    places = both[both["node"] != ""].drop_duplicates("rank").set_index("rank")["node"]
    placed = out.loc[ranks.index, "rank"].map(places).dropna()
    out.loc[placed.index, "node"] = placed
    return out


def moments(*frames: pd.DataFrame) -> tuple[list[pd.Series], bool]:
    """A sortable time (ms) for the rows of each frame, and whether it orders rows of different streams.

    A line without a time has that of the newest line before it in its stream, else of the first one after it. Times
    within a stream never fall: there the order of the lines counts. Where a stream has no times at all, the rows of each
    stream are in order and nothing is said about different streams.
    """
    rows = pd.concat([frame[["stream", "line", "timestamp"]] for frame in frames], keys=range(len(frames)))
    rows = rows.sort_values(["stream", "line"], kind="stable")
    millis = (rows["timestamp"] - _EPOCH).dt.total_seconds() * 1000
    streams = rows["stream"]
    known = millis.groupby(streams, observed=True).cummax().groupby(streams, observed=True).ffill()
    known = known.groupby(streams, observed=True).bfill()
    comparable = not known.isna().any() or streams.nunique() <= 1
    known = known.fillna(0.0)
    return [
        known.xs(place) if len(frame) else pd.Series(dtype="float64") for place, frame in enumerate(frames)
    ], comparable
