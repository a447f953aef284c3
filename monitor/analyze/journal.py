"""How did the training progress? One row per report of the process that logs the most, with what happened before it.

The clock is one writer's: hosts differ by seconds, and lines of several come late in different ways.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from monitor.analyze.cascade import left_out

#: What can stand in a step's gap without being slowness: the columns of the journal that say so.
MARKS = ("checkpoint", "evaluation", "restart")
_KINDS = {
    "checkpoint": ("checkpoint-begin", "checkpoint-end"),
    "evaluation": ("evaluation-begin", "evaluation-end"),
    "restart": ("restart", "resume"),
}
_OWN_TIME = frozenset({"step", "interval", "cumulative", "aggregated"})
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
    out = pd.DataFrame(
        {
            "at": rows["timestamp"],
            "step": rows["step"],
            "segment": rows["segment"],
            "warm_up": rows["warm_up"],
            "throughput": rows["throughput"],
            "throughput_unit": rows["throughput_unit"],
            "kind": rows["kind"],
            "stream": rows["stream"],
            "line": rows["line"],
        }
    )
    moved = out["step"].diff().astype("float64")
    same = (out["segment"].diff() == 0).fillna(False) & (moved > 0)
    out["steps"] = moved.where(same.to_numpy(dtype=bool))
    out["gap_s"] = out["at"].diff().dt.total_seconds()
    out["wall_s"] = _wall(out)
    out["step_time_s"] = _medians(steps, rows)
    own = rows["kind"].isin(_OWN_TIME).to_numpy() & out["step_time_s"].notna().to_numpy()
    out["time_s"] = out["step_time_s"].where(own, out["wall_s"]).fillna(out["step_time_s"])
    said = events["kind"].to_numpy(object)
    for mark, kinds in _KINDS.items():
        found = np.zeros(len(out), dtype=bool)
        for kind in kinds:
            if (of_kind := said == kind).any():
                found |= _before(out, events[of_kind], left_out(events, {kind}))
        common = mark != "restart" and found.mean() > _TOO_COMMON
        out[mark] = False if common else found
    return out[list(_COLUMNS)].astype(_COLUMNS).reset_index(drop=True)


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
    begun = rows.groupby("stream", observed=True)["timestamp"].min()
    order = {name: place for place, name in enumerate(begun.sort_values(kind="stable").index)}
    rows = rows.assign(place=rows["stream"].map(order).astype("int64"))
    return rows.sort_values(["place", "line", "step"], kind="stable").drop(columns="place")


def _wall(rows: pd.DataFrame) -> pd.Series:
    wall = rows["gap_s"] / rows["steps"]
    wall = wall.where(rows["gap_s"] >= 0)
    gaps = rows["gap_s"].dropna()
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
    times = rows["at"].to_numpy("datetime64[ms]")
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
