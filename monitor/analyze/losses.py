"""The training loss: how it develops according to the one writer that logs most of it, and whether it became NaN or infinite."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pandas as pd

from monitor.analyze.cascade import left_out, with_writers
from monitor.analyze.journal import writers

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
    bad = (steps["loss"].abs() == np.inf) | _said_nan(steps, events)
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


def _said_nan(steps: pd.DataFrame, events: pd.DataFrame) -> pd.Series:
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
            start=_moment(first["timestamp"]),
            end=_moment(last["timestamp"]),
            reports=reports,
            recovered=len(after) > 0,
            line=str(texts.get((first["stream"], first["line"]), "")),
        )
    return None


def _moment(at: pd.Timestamp) -> datetime | None:
    return None if pd.isna(at) else at.to_pydatetime()
