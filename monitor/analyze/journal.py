"""The progress of the training. One row per report of the process that logs the most, with what happened before it; and the
loss: how it develops, and whether it became NaN or infinite.

The clock is one writer's: hosts differ by seconds, and lines of several come late in different ways.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from monitor.analyze.cascade import left_out, with_writers
from monitor.model.frames import framed, moment_of

#: What can stand in a step's gap without being slowness: the columns of the journal that say so.
MARKS = ("checkpoint", "evaluation", "restart")
_KINDS = {
    "checkpoint": ("checkpoint-begin", "checkpoint-end"),
    "evaluation": ("evaluation-begin", "evaluation-end"),
    "restart": ("restart", "resume"),
}
#: How a time is come by that is of the steps alone, without what lies between them.
OWN_TIME = frozenset({"step", "interval", "cumulative", "aggregated"})
# Where lines come in blocks, the time of a line is that of its block: then most gaps are nearly nothing.
_BLOCKS = 0.2
# A kind of mark that stands before more reports than this explains none of them.
_TOO_COMMON = 0.5
_COLUMNS = {
    "at": "datetime64[ms, UTC]",
    "step": "Int64",
    "steps": "float64",
    "gap_s": "float64",
    "wall_s": "float64",
    "step_time_s": "float64",
    "time_s": "float64",
    "throughput": "float64",
    "throughput_unit": "category",
    "kind": "category",
    "segment": "Int64",
    "warm_up": "bool",
    "stream": "category",
    "line": "Int64",
    **dict.fromkeys(MARKS, "bool"),
}


_AS_PRINTED = ("step", "throughput", "throughput_unit", "kind", "segment", "warm_up", "stream", "line")
_READ = ["node", "rank", "stream", "format", "kind", "segment", "line", "step", "timestamp", "warm_up"]
_READ += ["throughput", "throughput_unit"]


def journal(steps: pd.DataFrame, events: pd.DataFrame) -> pd.DataFrame:
    """One row for each report of the leading writer, in its order; empty where no step is numbered.

    ``at`` when it was printed; ``step``; ``steps`` how many were done since the row before (NaN for the first of a
    segment); ``gap_s`` the time since the row before; ``wall_s`` that by step, NaN where lines come in blocks;
    ``step_time_s`` the printed time, the median over all writers of that step; ``time_s`` the best of both: what was
    printed if it is of these steps alone, else the clock; ``throughput``, its unit and ``kind`` as that writer printed them;
    ``checkpoint``, ``evaluation``, ``restart``: whether a line of
    any process between the row before and this one tells of it. A kind of mark that most rows have explains none, and is
    False in all.
    """
    rows = _leading(steps)
    if rows.empty:
        return pd.DataFrame({name: [] for name in _COLUMNS}).astype(_COLUMNS)
    moved = rows["step"].diff().astype("float64")
    same = (rows["segment"].diff() == 0).fillna(False) & (moved > 0)
    done = moved.where(same.to_numpy(dtype=bool))
    gap_s = rows["timestamp"].diff().dt.total_seconds()
    said = events["kind"].to_numpy(object)
    marked = {mark: _marked(rows, events, said, kinds) for mark, kinds in _KINDS.items()}
    common = {mark for mark, found in marked.items() if mark != "restart" and found.mean() > _TOO_COMMON}
    # Evaluations in most gaps are in every time by the clock, unless their lines tell how long they lasted.
    lasted_s = _lasted_s(rows, evaluations(events)) if "evaluation" in common else 0.0
    wall_s = _wall(gap_s - lasted_s, done)
    step_time_s = _medians(steps, rows)
    own = rows["kind"].isin(OWN_TIME).to_numpy() & step_time_s.notna().to_numpy()
    columns = {name: rows[name] for name in _AS_PRINTED} | {
        "at": rows["timestamp"],
        "steps": done,
        "gap_s": gap_s,
        "wall_s": wall_s,
        "step_time_s": step_time_s,
        "time_s": step_time_s.where(own, wall_s).fillna(step_time_s),
    }
    for mark, found in marked.items():
        columns[mark] = pd.Series(np.zeros(len(rows), dtype=bool) if mark in common else found, index=rows.index)
    return framed(columns, _COLUMNS)


def _marked(rows: pd.DataFrame, events: pd.DataFrame, said: NDArray[np.object_], kinds: Sequence[str]) -> np.ndarray:
    """For each row whether a line between the row before and it tells of one of the kinds."""
    found = np.zeros(len(rows), dtype=bool)
    for kind in kinds:
        if (of_kind := said == kind).any():
            found |= _before(rows, events[of_kind], left_out(events, {kind}))
    return found


def evaluations(events: pd.DataFrame) -> NDArray[np.int64]:
    """When evaluations began and ended, in milliseconds: a row each, in time; those of which lines tell both."""
    rows = events[events["kind"].isin(_KINDS["evaluation"]) & events["timestamp"].notna()]
    rows = rows.sort_values("timestamp", kind="stable")
    at = rows["timestamp"].to_numpy("datetime64[ms]").view(np.int64)
    begins = (rows["kind"] == "evaluation-begin").to_numpy()
    # Of several that tell of one the last begin and the first end behind it.
    pairs = np.flatnonzero(begins[:-1] & ~begins[1:])
    return np.stack([at[pairs], at[pairs + 1]], axis=1)


def _lasted_s(rows: pd.DataFrame, spans: NDArray[np.int64]) -> NDArray[np.float64]:
    """For each row the seconds of evaluations that lie between the row before and it."""
    out, at = np.zeros(len(rows)), rows["timestamp"].to_numpy("datetime64[ms]").view(np.int64)
    if rows["timestamp"].isna().any() or not len(rows):
        return out
    place = np.searchsorted(at, spans[:, 1])
    whole = (place > 0) & (place < len(at))
    spans, place = spans[whole], place[whole]
    inside = at[place - 1] <= spans[:, 0]
    np.add.at(out, place[inside], (spans[inside, 1] - spans[inside, 0]) / 1000)
    return out


def plain_rows(journal: pd.DataFrame) -> pd.DataFrame:
    """The rows of ordinary steps: no warm-up, no checkpoint, evaluation or restart before them."""
    return journal[_plain(journal)]


def _plain(journal: pd.DataFrame) -> np.ndarray:
    out: np.ndarray = ~journal["warm_up"].to_numpy()
    for mark in MARKS:
        out &= ~journal[mark].to_numpy()
    return out


def usual_step_s(journal: pd.DataFrame) -> float | None:
    """The median time of an ordinary step by the clock, else as printed; None where neither is known."""
    for rows in (_plain(journal), slice(None)):
        for column in ("wall_s", "time_s"):
            known = journal[column][rows].dropna()
            if len(known) >= 3:
                return float(known.median())
    known = journal["time_s"].dropna()
    return float(known.median()) if len(known) else None


def usual_gap_s(journal: pd.DataFrame) -> float | None:
    """The median time between two reports with the work between them; None where lines have no time."""
    gaps = journal["gap_s"][_plain(journal)].dropna()
    gaps = gaps if len(gaps) >= 3 else journal["gap_s"].dropna()
    gaps = gaps[gaps > 0]
    if gaps.empty:
        return None
    # Of blocks of lines the gaps between blocks count.
    mean = float(gaps.mean())
    median = float(gaps.median())
    return float(gaps[gaps > _BLOCKS * mean].median()) if median < _BLOCKS * mean else median


def _leading(steps: pd.DataFrame) -> pd.DataFrame:
    """The reports of the writer with the most numbered and, before all, timed ones; in the order of time and line."""
    rows = steps.loc[steps["step"].notna(), _READ]
    if rows.empty:
        return rows
    writer = writers(rows)
    timed = rows["timestamp"].notna().to_numpy()
    counts = np.bincount(writer[timed] if timed.any() else writer, minlength=int(writer.max()) + 1)
    first = np.flatnonzero(~pd.Series(writer).duplicated().to_numpy())
    # Of several with as many, the first by name.
    first = first[counts[writer[first]] == counts.max()]
    names = rows.iloc[first][["node", "rank", "stream", "format"]].assign(writer=writer[first])
    names["stream"] = names["stream"].astype("str").where(names["node"] == "", "")
    leader = names.sort_values(["node", "rank", "stream", "format"])["writer"].iloc[0]
    rows = rows[(writer == leader) & (timed | ~timed.any())]
    keys = [rows["step"].to_numpy("int64"), rows["line"].to_numpy("int64")]
    streams = rows["stream"].cat.codes.to_numpy()
    if (streams != streams[0]).any():
        begun = rows.groupby("stream", observed=True)["timestamp"].min()
        order = {name: place for place, name in enumerate(begun.sort_values(kind="stable").index)}
        keys.append(rows["stream"].map(order).to_numpy("int64"))
    # The last key counts first.
    return rows.iloc[np.lexsort(keys)]


def _wall(gap_s: pd.Series, done: pd.Series) -> pd.Series:
    wall = (gap_s / done).where(gap_s >= 0)
    gaps = gap_s.dropna()
    if len(gaps) >= 5 and gaps.median() < _BLOCKS * gaps.mean() and (gaps < _BLOCKS * gaps.mean()).mean() > _TOO_COMMON:
        wall[:] = np.nan
    return wall


def _medians(steps: pd.DataFrame, rows: pd.DataFrame) -> pd.Series:
    """The median of the printed times over all writers of the same form, for each of the rows."""
    same = steps.loc[steps["format"] == rows["format"].iloc[0], ["segment", "step", "step_time_s"]]
    if len(same) == len(rows):
        return steps.loc[rows.index, "step_time_s"]
    medians = same.groupby(["segment", "step"], observed=True)["step_time_s"].median()
    places = pd.MultiIndex.from_frame(rows[["segment", "step"]])
    return medians.reindex(places).set_axis(rows.index)


def _before(rows: pd.DataFrame, marks: pd.DataFrame, merged: pd.DataFrame) -> np.ndarray:
    """For each row whether a mark stands between the row before and it: by line in its stream, else by time.

    From one of the ``merged`` marks to the next mark there are more that were not kept one by one.
    """
    found = np.zeros(len(rows), dtype=bool)
    streams, lines = rows["stream"].to_numpy(), rows["line"].to_numpy("int64")
    times = rows["timestamp"].to_numpy("datetime64[ms]")
    timed = not np.isnat(times).any()
    latest = np.maximum.accumulate(times)
    begins = {str(stream): mine["line"].to_numpy("int64") for stream, mine in merged.groupby("stream", observed=True)}
    for stream, mine in marks.groupby("stream", observed=True):
        here, mine = np.flatnonzero(streams == stream), mine.sort_values("line", kind="stable")
        if len(here):
            places = np.searchsorted(lines[here], mine["line"].to_numpy("int64"), "left")
        elif timed:
            here = np.arange(len(rows))
            mine = mine[mine["timestamp"].notna()]
            places = np.searchsorted(latest, mine["timestamp"].to_numpy("datetime64[ms]"), "left")
        else:
            continue
        found[here[places[places < len(here)]]] = True
        for begin in np.flatnonzero(mine["line"].isin(begins.get(str(stream), ())).to_numpy()):
            found[here[places[begin] : places[min(begin + 1, len(places) - 1)] + 1]] = True
    return found


_MOST = 2**62


def codes(*columns: pd.Series | NDArray[np.int64]) -> NDArray[np.int64]:
    """A number from 0 for each row: that of rows which are equal in all columns, unknown values among them, is the same."""
    out, size = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        found, values = pd.factorize(column, use_na_sentinel=False)
        if size * max(1, len(values)) > _MOST:
            out, size = _dense(out)
        out, size = out * len(values) + found, size * max(1, len(values))
    return _dense(out)[0]


def writers(steps: pd.DataFrame) -> NDArray[np.int64]:
    """The same number for all reports of one writer in one format, from the Steps frame.

    A node's streams are one writer, one after the other; where no node is known, only the stream can say.
    """
    own = np.where(steps["node"] == "", pd.factorize(steps["stream"])[0], -1)
    return codes(steps["node"], steps["rank"], steps["format"], own)


def _dense(numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """The same without gaps, in the same order, and how many there are."""
    found, values = pd.factorize(numbers, sort=True)
    return found, max(1, len(values))


#: A writer of a lower rank leads if it tells this share of what the one who tells most does.
_NEARLY_AS_MUCH = 0.9


@dataclass(frozen=True, slots=True)
class Losses:
    """What one writer said of its loss and its learning rate."""

    node: str
    rank: int | None
    """None where its lines name none."""
    writers: int
    """How many tell a loss or a learning rate."""
    rows: pd.DataFrame
    """In time: ``at step loss learning_rate bad``; ``bad`` is a loss that was printed as NaN or infinite."""


def losses(steps: pd.DataFrame, events: pd.DataFrame) -> Losses | None:
    """The leading writer's; None where no report with a time names a loss or a learning rate."""
    bad = (steps["loss"].abs() == np.inf) | _printed_nan(steps, events)
    told = steps["loss"].notna() | steps["learning_rate"].notna() | bad
    rows = steps[told & steps["timestamp"].notna()]
    if rows.empty:
        return None
    rows = rows.assign(writer=writers(rows), bad=bad)
    counts = rows.groupby("writer")["writer"].transform("size")
    near = rows[counts >= _NEARLY_AS_MUCH * counts.max()].drop_duplicates("writer")
    first = near.sort_values(["rank", "node"], na_position="last", kind="stable").iloc[0]
    own = rows[rows["writer"] == first["writer"]].sort_values("timestamp", kind="stable")
    frame = pd.DataFrame(
        {
            "at": own["timestamp"],
            "step": own["step"],
            "loss": own["loss"].mask(own["bad"]),
            "learning_rate": own["learning_rate"],
            "bad": own["bad"],
        }
    ).reset_index(drop=True)
    rank = None if pd.isna(first["rank"]) else int(first["rank"])
    return Losses(str(first["node"]), rank, int(rows["writer"].nunique()), frame)


def _printed_nan(steps: pd.DataFrame, events: pd.DataFrame) -> pd.Series:
    """Which reports without a loss stand in a line that says NaN; told by stream and time, since newest lines have no number."""
    found = pd.Series(False, index=steps.index)
    said = events[(events["kind"] == "nan") & events["timestamp"].notna()]
    near = steps[steps["loss"].isna() & steps["timestamp"].isin(said["timestamp"])]
    lines = pd.MultiIndex.from_arrays([said["stream"].astype("str"), said["timestamp"]])
    own = pd.MultiIndex.from_arrays([near["stream"].astype("str"), near["timestamp"]])
    found.loc[near.index] = own.isin(lines)
    return found


#: So many reports in a row are no single bad batch.
FEWEST_IN_A_ROW = 3
# The loss of an evaluation is no report of a training step; neither is a count of them, or a redraw of a bar.
_NO_REPORT = r"(?i)eval|valid|\btest|\bval_|it/s|s/it|%\|"


@dataclass(frozen=True, slots=True)
class NanLoss:
    """The writer that reported it first."""

    node: str
    rank: int | None
    step: int | None
    """Of the first bad report; None where reports are not numbered."""
    last_good: int | None
    """The last step before it with a finite loss."""
    start: datetime | None
    end: datetime | None
    """When the last bad report of the row came."""
    reports: int
    """How many in a row; of a log with thousands all that its stream tells of."""
    recovered: bool
    """Whether a finite loss came again."""
    line: str
    """Of the first bad report, as far as it was kept."""


def nan_loss(steps: pd.DataFrame, events: pd.DataFrame) -> NanLoss | None:
    """The first row of ``FEWEST_IN_A_ROW`` or more bad reports of one writer; None where there is none."""
    said = with_writers(events[events["kind"] == "nan"], steps)
    infinite = steps[steps["loss"].abs() == float("inf")]
    if said.empty and infinite.empty:
        return None
    places = ["stream", "line"]
    reported = steps[[*places, "node", "rank", "step", "timestamp", "loss"]].assign(
        stream=lambda rows: rows["stream"].astype("str")
    )
    bad_lines = pd.MultiIndex.from_frame(said[places])
    own = pd.MultiIndex.from_frame(reported[places])
    bad = (reported["loss"].abs() == float("inf")) | (reported["loss"].isna() & own.isin(bad_lines))
    reported = reported[bad | reported["loss"].notna()].assign(bad=bad)
    lone = said[~bad_lines.isin(own) & ~said["text"].str.contains(_NO_REPORT, regex=True)]
    lone = lone[[*places, "node", "rank", "timestamp"]].assign(step=pd.NA, bad=True)
    # A line of nobody in particular, after which its stream goes on to report a loss, tells of none that stays lost.
    last_good = reported.loc[~bad].groupby("stream")["line"].max()
    lone = lone[lone["rank"].notna() | (lone["line"] > lone["stream"].map(last_good).astype("float64").fillna(-np.inf))]
    rows = pd.concat([reported[["node", "rank", "step", "timestamp", "bad", *places]], lone]).sort_values(places)
    texts = said.drop_duplicates(places).set_index(places)["text"]
    more = left_out(events, {"nan"}).set_index("stream")
    found = []
    writers = rows.groupby(["stream", "rank"], dropna=False, observed=True, sort=True)
    for (stream, _), part in writers:
        further = more.loc[stream] if stream in more.index else None
        if (row := _first_row(part, texts, further)) is not None:
            found.append(row)
    dated = [row for row in found if row.start is not None]
    return min(dated, key=lambda row: row.start.timestamp() if row.start else 0.0) if dated else next(iter(found), None)


def _first_row(rows: pd.DataFrame, texts: pd.Series, further: pd.Series | None) -> NanLoss | None:
    """The first long enough row of bad reports of one writer; ``further`` are those of its stream that are not kept."""
    bad = rows["bad"].to_numpy(dtype=bool)
    piece = pd.Series(bad != rows["bad"].shift(fill_value=False).to_numpy(dtype=bool), index=rows.index).cumsum()
    for _, part in rows[bad].groupby(piece[bad].to_numpy(), sort=True):
        steps = part["step"].dropna()
        reports = int(steps.nunique()) + int(part["step"].isna().sum())
        if reports < FEWEST_IN_A_ROW:
            continue
        first, last = part.iloc[0], part.iloc[-1]
        place = rows.index.get_indexer_for([first.name])
        before = rows.loc[(rows["line"] < first["line"]) & ~bad, "step"].dropna()
        after = rows.loc[(rows["line"] > last["line"]) & ~bad]
        if further is not None and first["line"] < further["line"] < last["line"]:
            reports += int(further["count"])
        assert len(place)
        return NanLoss(
            node=str(first["node"]),
            rank=None if pd.isna(first["rank"]) else int(first["rank"]),
            step=int(steps.iloc[0]) if len(steps) else None,
            last_good=int(before.iloc[-1]) if len(before) else None,
            start=moment_of(first["timestamp"]),
            end=moment_of(last["timestamp"]),
            reports=reports,
            recovered=len(after) > 0,
            line=str(texts.get((first["stream"], first["line"]), "")),
        )
    return None
