"""Which stage of a pipeline works when, and when does it wait? Lanes of stages, one schedule above the other.

Both share one time axis, percent of the starting point's time for the same samples, so that what a change gains is
the space at its right. The ground of a lane is gray: where nothing lies on it the stage waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import pandas as pd

from monitor.charts.colours import NO_DATA, NO_DATA_OPACITY, STAGE_TEXT, STAGE_WORK, WORDS

#: So many pieces are drawn at most, of both schedules together; of longer ones the beginning.
MOST_PIECES = 2000
DENSE = 500
#: A piece carries its microbatch's number when it is at least this share of the axis, a digit.
NAMED_SHARE = 0.009
_AXIS_PX = 66
_PIECE_DTYPES = {
    "lane": "str",
    "order": "int64",
    "stage": "int64",
    "kind": "str",
    "microbatch": "int64",
    "from_pct": "float64",
    "to_pct": "float64",
    "middle_pct": "float64",
    "label": "str",
}


@dataclass(frozen=True, slots=True)
class Course:
    """One schedule to draw: ``pieces`` has ``stage kind microbatch from_pct to_pct``, stages and microbatches from 0."""

    name: str
    """In front of its lanes, such as "today"."""
    said: str
    """Above its lanes: how long it takes, how much of it is waiting."""
    stages: int
    length_pct: float
    pieces: pd.DataFrame


def until_pct(courses: Sequence[Course], most: int = MOST_PIECES) -> float | None:
    """How far the pieces are drawn, in percent of the starting point's time; None where all of them are."""
    starts = pd.concat([course.pieces["from_pct"] for course in courses])
    if len(starts) <= most:
        return None
    return float(starts.sort_values(ignore_index=True).iloc[most])


def lanes(courses: Sequence[Course]) -> pd.DataFrame:
    """One row a lane, ``lane order start_pct end_pct said``: a head with the words of a schedule, then its stages."""
    until = until_pct(courses)
    rows: list[tuple[str, int, float, float, str]] = []
    for course in courses:
        end = course.length_pct if until is None else min(until, course.length_pct)
        rows.append((f"{course.name}|", len(rows), 0.0, 0.0, course.said))
        rows += [
            (f"{course.name}|stage {stage}", len(rows) + stage - 1, 0.0, end, "")
            for stage in range(1, course.stages + 1)
        ]
    frame = pd.DataFrame(rows, columns=["lane", "order", "start_pct", "end_pct", "said"])
    return frame.astype({"lane": "str", "order": "int64", "start_pct": "float64", "end_pct": "float64", "said": "str"})


def pieces(courses: Sequence[Course]) -> pd.DataFrame:
    """Every piece that is drawn, with its lane, its middle and, where it has room, the number of its microbatch."""
    until, shown = until_pct(courses), lanes(courses)
    width = float(shown["end_pct"].max())
    order = dict(zip(shown["lane"], shown["order"], strict=True))
    parts = []
    for course in courses:
        part = course.pieces[["stage", "kind", "microbatch", "from_pct", "to_pct"]]
        if until is not None:
            part = part[part["from_pct"] < until].assign(to_pct=part["to_pct"].clip(upper=until))
        part = part.assign(stage=part["stage"] + 1, microbatch=part["microbatch"] + 1)
        part["lane"] = [f"{course.name}|stage {stage}" for stage in part["stage"]]
        parts.append(part)
    frame = pd.concat(parts, ignore_index=True)
    frame["order"] = frame["lane"].map(order)
    frame["middle_pct"] = (frame["from_pct"] + frame["to_pct"]) / 2
    number = frame["microbatch"].astype("str")
    room = (frame["to_pct"] - frame["from_pct"]) / (width or 1.0)
    frame["label"] = number.where(room >= NAMED_SHARE * (1 + number.str.len()), "")
    return frame[list(_PIECE_DTYPES)].astype(_PIECE_DTYPES)


def row_pixels(lanes: int) -> int:
    """Height of a lane, for so many of them, heads included."""
    return max(5, min(26, 460 // max(lanes, 1)))


def is_dense(work: pd.DataFrame) -> bool:
    """Whether there are too many pieces to set them apart by lines."""
    return len(work) > DENSE


def gantt(ground: pd.DataFrame, work: pd.DataFrame) -> alt.LayerChart:
    """Forward and backward of each microbatch on each stage, out of ``lanes`` and ``pieces``; gray where a stage
    waits."""
    row = row_pixels(len(ground))
    where = alt.Y(
        "lane:N",
        sort=alt.EncodingSortField("order", op="min"),
        # The heads have no name: their words stand in the chart.
        axis=alt.Axis(
            title=None, ticks=False, domain=False, labelExpr="split(datum.value, '|')[1]", labelOverlap=row < 11
        ),
        scale=alt.Scale(paddingInner=0.12 if row > 8 else 0.0),
    )
    x = alt.X(
        "from_pct:Q",
        axis=alt.Axis(title="time for the same samples, % of the starting point", grid=False, tickCount=10),
        scale=alt.Scale(nice=False, domainMin=0),
    )
    waiting = (
        alt.Chart(ground)
        .mark_rect(color=NO_DATA, opacity=NO_DATA_OPACITY, tooltip=None)
        .encode(x=alt.X("start_pct:Q"), x2="end_pct:Q", y=where)
    )
    colour = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=list(STAGE_WORK), range=list(STAGE_WORK.values())),
        legend=None,
    )
    base = alt.Chart(work)
    done = base.mark_rect(stroke="white", strokeWidth=0 if is_dense(work) or row <= 8 else 0.5).encode(
        x=x,
        x2="to_pct:Q",
        y=where,
        color=colour,
        tooltip=[
            alt.Tooltip("stage:Q", title="stage", format="d"),
            alt.Tooltip("kind:N", title="does"),
            alt.Tooltip("microbatch:Q", title="microbatch", format="d"),
            alt.Tooltip("from_pct:Q", title="from, %", format=".1f"),
            alt.Tooltip("to_pct:Q", title="to, %", format=".1f"),
        ],
    )
    numbers = base.mark_text(fontSize=min(11, row - 3), clip=True).encode(
        x=alt.X("middle_pct:Q"),
        y=where,
        text="label:N",
        color=alt.condition(
            alt.datum.kind == "forward", alt.value(STAGE_TEXT["forward"]), alt.value(STAGE_TEXT["backward"])
        ),
    )
    heads = (
        alt.Chart(ground)
        .mark_text(align="left", fontWeight=600, fontSize=12, dy=-1, color=WORDS)
        .encode(x=alt.X("start_pct:Q"), y=where, text="said:N")
    )
    layers = [waiting, done, *([numbers] if row > 11 else []), heads]
    return alt.layer(*layers).properties(height=row * len(ground) + _AXIS_PX)
