"""What happened when, and on which node. A lane a node with its marks, the course of the job above them.

Only as many lanes and marks as can be told apart: marks of one kind that fall together are one, with their number, and
nodes of which nothing but the usual is known stand aside where there are many.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np
import pandas as pd

from monitor.analyze.cascade import ERRORS, Cascade, with_writers
from monitor.analyze.silence import silences
from monitor.model import Activity, Phase, Run, natural_order

#: The lane of the whole job, and that of lines whose node is not known.
JOB = "job"
NOWHERE = "unknown"
#: So many nodes have a lane each; of more, those that something happened to, and a few others beside them.
FEW_LANES = 12
MOST_LANES = 16
USUAL_LANES = 4
#: What more than this share of the nodes has in common sets none of them apart.
COMMON = 0.5
#: Marks of one kind in a lane at most, about one for each two pixels.
MARKS = 400
#: In the order of a legend.
KINDS = (
    "first line",
    "first step",
    "checkpoint",
    "evaluation",
    "no step",
    "restart",
    "signal",
    "NaN loss",
    "error",
    "first error",
    "end",
)
#: What sets a node apart.
TROUBLE = frozenset({"no step", "signal", "NaN loss", "error", "first error"})

_KIND_OF = {
    "checkpoint-begin": "checkpoint",
    "checkpoint-end": "checkpoint",
    "evaluation-begin": "evaluation",
    "evaluation-end": "evaluation",
    "restart": "restart",
    "resume": "restart",
    "signal": "signal",
    "cancelled": "signal",
    "nan": "NaN loss",
    "outcome": "end",
    **dict.fromkeys(ERRORS, "error"),
}
_SPANS = {"checkpoint", "evaluation"}
_WITHIN_WORK = _SPANS | {"slow-excess"}
# A begin and an end further apart are not of one checkpoint.
_LONGEST_SPAN = pd.Timedelta(hours=2)
_TEXT = 160
_COLUMNS = {
    "lane": "str",
    "order": "int64",
    "kind": "str",
    "start": "datetime64[ms, UTC]",
    "end": "datetime64[ms, UTC]",
    "count": "int64",
    "said": "str",
}
_PART_COLUMNS = {"name": "str", "start": "datetime64[ms, UTC]", "end": "datetime64[ms, UTC]", "billed": "bool"}


@dataclass(frozen=True, slots=True)
class Timeline:
    """Lanes, from top to bottom, and what stands in them."""

    lanes: tuple[str, ...]
    parts: pd.DataFrame
    """The course of the job: ``name start end billed``, coarser than the phases."""
    marks: pd.DataFrame
    """``lane order kind start end count said``: a moment where end is start; ``count`` of lines or reports it stands for."""
    left_out: int
    """Nodes without a lane; nothing unusual is known of them, but of ``left_out_troubled``."""
    left_out_troubled: int
    nodes_with: Mapping[str, int]
    """Kind of mark -> nodes that have one, those without a lane included."""
    start: datetime | None
    end: datetime | None
    single: pd.DataFrame = field(default_factory=lambda: _typed([], _COLUMNS))
    """The marks of the lanes, none of them put together with another: what a closer look needs."""


def closer(found: Timeline, start: datetime, end: datetime) -> Timeline:
    """A part of the time in the same lanes, its marks as fine as that allows."""
    first, last = pd.Timestamp(start), pd.Timestamp(end)

    def cut(rows: pd.DataFrame) -> pd.DataFrame:
        rows = rows[(rows["end"] >= first) & (rows["start"] <= last)]
        return rows.assign(start=rows["start"].clip(lower=first), end=rows["end"].clip(upper=last))

    marks = _together(cut(found.single), start, end).sort_values(["order", "start"], kind="stable")
    parts = cut(found.parts)
    parts = parts[parts["end"] > parts["start"]]
    return replace(found, parts=_typed(parts, _PART_COLUMNS), marks=_typed(marks, _COLUMNS), start=start, end=end)


def timeline(
    run: Run,
    phases: Sequence[Phase],
    activities: Sequence[Activity],
    first: Cascade | None,
    now: datetime,
    odd: Sequence[str] = (),
) -> Timeline:
    """The timeline of a run as of ``now``; ``first`` is the error to flag. Without any time it has no marks.

    ``odd`` nodes, the worst first, have a lane before others; so has the one of ``first``.
    """
    times = [moment for phase in phases for moment in (phase.start, phase.end)]
    if not times:
        stamps = pd.concat([run.steps["timestamp"], run.events["timestamp"]]).dropna()
        times = [] if stamps.empty else [stamps.min().to_pydatetime(), stamps.max().to_pydatetime()]
    if not times:
        return Timeline((), _typed([], _PART_COLUMNS), _typed([], _COLUMNS), 0, 0, {}, None, None)
    start, end = min(times), max(times)
    found = pd.concat(
        [_job_marks(phases, activities), _node_marks(run, phases, activities, first, now)], ignore_index=True
    )
    lanes, left_out, troubled = _lanes(found, run, first, odd)
    own = found[~found["lane"].isin([JOB, NOWHERE])]
    nodes_with = {str(kind): int(nodes) for kind, nodes in own.groupby("kind")["lane"].nunique().items()}
    found = found[found["lane"].isin(lanes)]
    places = {lane: place for place, lane in enumerate(lanes)}
    single = found.assign(order=found["lane"].map(places))
    marks = _together(single, start, end).sort_values(["order", "start"], kind="stable")
    return Timeline(
        lanes,
        _parts(phases, start, end),
        _typed(marks, _COLUMNS),
        left_out,
        troubled,
        nodes_with,
        start,
        end,
        _typed(single, _COLUMNS),
    )


def _typed(rows: object, columns: dict[str, str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(columns)).astype(columns).reset_index(drop=True)


def _rows(lane: object, kind: object, start: object, end: object, said: object = "") -> pd.DataFrame:
    frame = pd.DataFrame({"lane": lane, "kind": kind, "start": start, "end": end, "said": said, "count": 1, "order": 0})
    return frame[list(_COLUMNS)].astype(_COLUMNS)


def _job_marks(phases: Sequence[Phase], activities: Sequence[Activity]) -> pd.DataFrame:
    """What held the whole job up: where phases tell of it, these, else the activities."""
    spans: list[tuple[str, datetime, datetime]] = [
        (phase.name, phase.start, phase.end) for phase in phases if phase.name in _SPANS
    ]
    spans = spans or [(activity.kind, activity.start, activity.end) for activity in activities]
    return _rows(JOB, *(pd.Series([span[at] for span in spans], dtype="object") for at in range(3)))


def _parts(phases: Sequence[Phase], start: datetime, end: datetime) -> pd.DataFrame:
    """The phases; what only interrupts the steps for moments is part of the work, and where there are too many of them,
    those shorter than a pixel belong to the one before."""
    rows: list[list[object]] = []
    for phase in phases:
        name = "productive" if phase.name in _WITHIN_WORK else phase.name
        if rows and rows[-1][0] == name:
            rows[-1][2] = phase.end
        else:
            rows.append([name, phase.start, phase.end, phase.billed])
    found = _typed(rows, _PART_COLUMNS)
    if len(found) <= MARKS:
        return found
    least = (pd.Timestamp(end) - pd.Timestamp(start)) / MARKS / 2
    kept = found[(found["end"] - found["start"] >= least) | (found.index == 0)]
    return kept.assign(end=kept["start"].shift(-1).fillna(found["end"].iloc[-1])).reset_index(drop=True)


def _node_marks(
    run: Run, phases: Sequence[Phase], activities: Sequence[Activity], first: Cascade | None, now: datetime
) -> pd.DataFrame:
    events = run.events[run.events["timestamp"].notna()]
    kinds = events["kind"].map(_KIND_OF)
    if not (kinds == "error").any():
        kinds = kinds.mask(events["kind"] == "traceback", "error")
    told = events.assign(told=kinds)[kinds.notna()]
    if first is not None:  # it has a mark of its own
        told = told[(told["stream"] != first.stream) | (told["line"] != first.line)]
    lasting = told["told"].isin(_SPANS)
    points, spans = with_writers(told[~lasting], run.steps), told[lasting]
    parts = [
        _begins(events, run),
        _first_steps(run.steps),
        _spans(spans.assign(lane=_lane(spans["node"]))),
        _rows(_lane(points["node"]), points["told"], points["timestamp"], points["timestamp"], _texts(points)),
        _silences(run.steps, phases, activities, now),
    ]
    if first is not None and first.at is not None:
        rank = "" if first.rank is None else f"rank {first.rank}: "
        text = _short(rank + first.text)
        parts.append(_rows(pd.Series([first.node or NOWHERE]), "first error", first.at, first.at, text))
    return pd.concat(parts, ignore_index=True)


def _lane(nodes: pd.Series) -> pd.Series:
    return nodes.where(nodes != "", NOWHERE)


def _texts(rows: pd.DataFrame) -> pd.Series:
    ranks = rows["rank"].map(lambda rank: "" if pd.isna(rank) else f"rank {rank}: ")
    return pd.Series([_short(who + text) for who, text in zip(ranks, rows["text"], strict=True)], index=rows.index)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _TEXT else text[: _TEXT - 1] + "…"


def _begins(events: pd.DataFrame, run: Run) -> pd.DataFrame:
    """The first line of each node; of a job in the account a further stream is a container that was started again."""
    heads = events[events["kind"] == "first-line"].sort_values("timestamp", kind="stable")
    again = heads["node"].duplicated()
    heads = heads[~again | (run.job.source == "aws")]
    kinds = np.where(heads["node"].duplicated(), "restart", "first line")
    said = np.where(kinds == "restart", "the container started again", "")
    return _rows(_lane(heads["node"]), kinds, heads["timestamp"], heads["timestamp"], said)


def _first_steps(steps: pd.DataFrame) -> pd.DataFrame:
    stamped = steps.loc[steps["timestamp"].notna(), ["node", "timestamp", "step"]]
    if stamped.empty:
        return _rows(pd.Series(dtype="str"), "first step", pd.Series(dtype="object"), pd.Series(dtype="object"))
    rows = stamped.loc[stamped.groupby("node", observed=True)["timestamp"].idxmin()]
    said = rows["step"].map(lambda step: "" if pd.isna(step) else f"step {step:,}")
    return _rows(_lane(rows["node"]), "first step", rows["timestamp"], rows["timestamp"], said)


def _spans(rows: pd.DataFrame) -> pd.DataFrame:
    """Checkpoints and evaluations as a node's lines tell of them: from a begin to the end behind it, else a moment."""
    rows = rows.sort_values(["lane", "told", "timestamp"], kind="stable")
    begins = rows["kind"].str.endswith("-begin")
    same = (rows["lane"] == rows["lane"].shift(-1)) & (rows["told"] == rows["told"].shift(-1))
    behind = rows["timestamp"].shift(-1)
    pair = begins & same & ~begins.shift(-1, fill_value=True) & (behind - rows["timestamp"] <= _LONGEST_SPAN)
    inner = pair.shift(1, fill_value=False)  # the end of a pair
    ends = behind.where(pair, rows["timestamp"])
    return _rows(rows["lane"], rows["told"], rows["timestamp"], ends)[~inner.to_numpy()]


def _silences(
    steps: pd.DataFrame, phases: Sequence[Phase], activities: Sequence[Activity], now: datetime
) -> pd.DataFrame:
    found = silences(steps, phases, activities, now)
    spans = (pd.Series([getattr(row, at) for row in found], dtype="datetime64[ms, UTC]") for at in ("start", "end"))
    return _rows(pd.Series([row.node or NOWHERE for row in found], dtype="str"), "no step", *spans)


def _together(found: pd.DataFrame, start: datetime, end: datetime) -> pd.DataFrame:
    """Marks of one kind and lane that fall into one ``MARKS``-th of the time, as one."""
    width = max((pd.Timestamp(end) - pd.Timestamp(start)) / MARKS, pd.Timedelta(milliseconds=1))
    slot = (found["start"] - pd.Timestamp(start)) // width
    grouped = found.assign(slot=slot).groupby(["lane", "kind", "slot"], sort=False, observed=True)
    return grouped.agg(
        start=("start", "min"),
        end=("end", "max"),
        count=("count", "sum"),
        said=("said", "first"),
        order=("order", "first"),
    ).reset_index()


def _lanes(
    found: pd.DataFrame, run: Run, first: Cascade | None, odd: Sequence[str]
) -> tuple[tuple[str, ...], int, int]:
    """(lanes from top to bottom, nodes left out, how many of these something happened to)."""
    seen = set(found["lane"]) - {JOB, NOWHERE}
    nodes = sorted({*run.job.node_names, *seen}, key=natural_order)
    last = [NOWHERE] if (found["lane"] == NOWHERE).any() else []
    if found["lane"].isin(nodes).sum() == 0:
        return (JOB, *last), 0, 0  # nothing to place
    if len(nodes) <= FEW_LANES:
        return (JOB, *nodes, *last), 0, 0
    flagged = first.node if first is not None else ""
    troubles = found[found["kind"].isin(TROUBLE)].groupby("kind")["lane"].agg(set)
    bad = set().union(*(who for who in troubles if len(who) <= COMMON * len(nodes))) | ({flagged, *odd} & set(nodes))
    worst = {name: place for place, name in enumerate(dict.fromkeys([flagged, *odd]))}
    troubled = sorted(
        (node for node in nodes if node in bad), key=lambda node: (worst.get(node, len(worst)), natural_order(node))
    )
    usual = [node for node in nodes if node not in bad]
    shown = troubled[: MOST_LANES - USUAL_LANES] + usual[:USUAL_LANES]
    return (JOB, *shown, *last), len(nodes) - len(shown), max(0, len(troubled) - (MOST_LANES - USUAL_LANES))
