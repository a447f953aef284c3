"""The charts of a plan: step time and memory along a parameter, GPU memory by component, the pipeline's stages over time.

In a curve start, change and advice are marked by shape and color; a flat one means no effect. Schedules stand one above the
other on one time axis, percent of the starting point's time for the same samples, so that what a change gains is the space at
its right; where nothing lies on the gray ground of a lane the stage waits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import altair as alt
import pandas as pd

from monitor.charts.colors import (
    CURVE_MARKS,
    LIMIT,
    MEMORY_PARTS,
    NO_DATA,
    NO_DATA_OPACITY,
    NOT_SPLIT,
    STAGE_TEXT,
    STAGE_WORK,
    WORDS,
)
from monitor.charts.elements import BY_ORDER, colored, columns, signed, tooltips, typed

# Both curves have their left edges in one line.
_MARGIN_PX = 44
_POINTS = columns("order:int label:str time_pct low_pct high_pct memory_gib")


@dataclass(frozen=True, slots=True)
class CurveMark:
    """A marked point of a curve: the value of the parameter there, and what is known of step time and memory."""

    mark: Literal["start", "change", "advised"]
    value: Any
    time_relative: float | None
    memory_gib: float | None


def label_of(value: Any) -> str:
    """How a value is written at the axis."""
    return ("off", "on")[value] if isinstance(value, bool) else f"{value:,}" if isinstance(value, int) else str(value)


def curve_points(values: Sequence[tuple[Any, float | None, float | None, float | None, float | None]]) -> pd.DataFrame:
    """Rows ``order label time_pct low_pct high_pct memory_gib`` out of (value, middle, low, high, memory) in order."""
    rows = [
        (place, label_of(value), *(None if each is None else 100 * each for each in times), memory)
        for place, (value, *times, memory) in enumerate(values)
    ]
    return typed(rows, _POINTS)


def curve_marks(points: pd.DataFrame, marked: Sequence[CurveMark]) -> pd.DataFrame:
    """The marks whose value is on the curve; the advised one first, since the others lie on it where they meet."""
    order = dict(zip(points["label"], points["order"], strict=True))
    rows = [
        (
            each.mark,
            label,
            order[label],
            None if each.time_relative is None else 100 * each.time_relative,
            each.memory_gib,
        )
        for each in sorted(marked, key=lambda each: each.mark != "advised")
        if (label := label_of(each.value)) in order
    ]
    return typed(rows, columns("mark:str label:str order:int time_pct memory_gib"))


def curve_limit(limit_gib: float | None) -> pd.DataFrame:
    """The memory of the device, ``limit_gib``: one row, or none."""
    return typed([] if limit_gib is None else [(limit_gib,)], columns("limit_gib"))


def step_time_curve(points: pd.DataFrame, marked: pd.DataFrame, knob: str) -> alt.LayerChart:
    """The middle as a line, its range as a band; percent of the start's, from zero."""
    percent = alt.Axis(
        title="step time, % of the starting point", tickCount=5, minExtent=_MARGIN_PX, maxExtent=_MARGIN_PX
    )
    # The chart of the memory below has the same axis, with its labels.
    x = _along(None)
    base = alt.Chart(points).encode(x=x)
    band = base.mark_area(opacity=0.22).encode(
        y=alt.Y("low_pct:Q", axis=percent, scale=alt.Scale(zero=True)), y2=alt.Y2("high_pct:Q")
    )
    line = base.mark_line(point=alt.OverlayMarkDef(size=22)).encode(
        y=alt.Y("time_pct:Q", axis=percent),
        tooltip=tooltips(
            ("label:N", knob),
            ("time_pct:Q", "step time, %", ".1f"),
            ("low_pct:Q", "range from, %", ".1f"),
            ("high_pct:Q", "range to, %", ".1f"),
        ),
    )
    signs = _signs(marked, alt.Y("time_pct:Q", axis=percent), x, "step time, %")
    return alt.layer(band, line, signs).properties(height=240)


def memory_curve(points: pd.DataFrame, marked: pd.DataFrame, knob: str, limit: pd.DataFrame) -> alt.LayerChart:
    """GiB of the fullest GPU, with the device's memory as a line."""
    axis = alt.Axis(title="memory, GiB", tickCount=3, minExtent=_MARGIN_PX, maxExtent=_MARGIN_PX)
    gib, x = alt.Y("memory_gib:Q", axis=axis, scale=alt.Scale(zero=True)), _along(knob)
    told = tooltips(("label:N", knob), ("memory_gib:Q", "GPU memory, GiB", ".1f"))
    line = alt.Chart(points).mark_line(point=alt.OverlayMarkDef(size=22)).encode(x=x, y=gib, tooltip=told)
    told = tooltips(("limit_gib:Q", "memory of the GPU, GiB", ",.0f"))
    rule = alt.Chart(limit).mark_rule(color=LIMIT, strokeWidth=1.5).encode(y="limit_gib:Q", tooltip=told)
    signs = _signs(marked, gib, x, "GPU memory, GiB", legend=False)
    return alt.layer(line, rule, signs).properties(height=160)


def _along(title: str | None) -> alt.X:
    return alt.X(
        "label:N",
        sort=BY_ORDER,
        axis=alt.Axis(title=title, labelAngle=0, grid=False),
        scale=alt.Scale(type="point", padding=0.4),
    )


def _signs(marked: pd.DataFrame, y: alt.Y, x: alt.X, what: str, legend: bool = True) -> alt.Chart:
    """Shape and color say the same; the advised point lies below the others, and is larger."""
    colors, shapes = signed(CURVE_MARKS)
    key = alt.Legend(title=None, orient="top", symbolSize=110, symbolStrokeWidth=0) if legend else None
    return (
        alt.Chart(marked)
        .mark_point(filled=True, opacity=1, stroke="white", strokeWidth=1)
        .encode(
            x=x,
            y=y,
            color=alt.Color("mark:N", scale=colors, legend=key),
            shape=alt.Shape("mark:N", scale=shapes, legend=key),
            size=alt.condition(alt.datum.mark == "advised", alt.value(360), alt.value(120)),
            tooltip=tooltips(
                ("mark:N", "point"), ("label:N", "value"), (f"{y.shorthand.partition(':')[0]}:Q", what, ".1f")
            ),
        )
    )


#: Below the first share of the limit a change fits, above the second it does not.
SURE_SHARE, HOPELESS_SHARE = 0.85, 1.10
_BAR_PX = 38
_BARS_PX = 350
# Whisker and whole stand below their bar.
_BELOW_PX = _BAR_PX / 2 + 12


@dataclass(frozen=True, slots=True)
class MemoryBar:
    """GiB by component where they are known; ``low``, ``expected`` and ``high`` of the whole, which may have been measured and
    then differ from the components' sum."""

    name: str
    parts: Mapping[str, float]
    low_gib: float | None = None
    expected_gib: float | None = None
    high_gib: float | None = None

    @property
    def lane(self) -> str:
        """Its name and its whole: the two lines at its left."""
        return self.name if self.expected_gib is None else f"{self.name}|{self.expected_gib:.1f} GiB"


def memory_parts(bars: Sequence[MemoryBar]) -> pd.DataFrame:
    """Rows ``bar order part from_gib to_gib gib``; a whole that nothing divides is one part."""
    rows = []
    for order, bar in enumerate(bars):
        split = dict(bar.parts)
        if not split and bar.expected_gib is not None:
            split = {NOT_SPLIT: bar.expected_gib}
        at = 0.0
        # In one order, whatever the order of the equations.
        for part in [*(name for name in MEMORY_PARTS if name in split), *(split.keys() - MEMORY_PARTS.keys())]:
            rows.append((bar.lane, order, part, at, at + split[part], split[part]))
            at += split[part]
    return typed(rows, columns("bar:str order:int part:str from_gib to_gib gib"))


def memory_wholes(bars: Sequence[MemoryBar]) -> pd.DataFrame:
    """Rows ``bar order low_gib expected_gib high_gib`` of the bars whose whole is known; without a range all three are one."""
    rows = [
        (bar.lane, order, *(whole if end is None else end for end in (bar.low_gib, whole, bar.high_gib)))
        for order, bar in enumerate(bars)
        if (whole := bar.expected_gib) is not None
    ]
    return typed(rows, columns("bar:str order:int low_gib expected_gib high_gib"))


def memory_limits(limit_gib: float | None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The limit, and the two lines around it; both empty where it is not known."""
    known, kinds = [] if limit_gib is None else [limit_gib], columns("at_gib label:str")
    around = [(share * gib, f"{100 * share:.0f} %") for gib in known for share in (SURE_SHARE, HOPELESS_SHARE)]
    return typed([(gib, f"limit {gib:,.0f} GiB") for gib in known], kinds), typed(around, kinds)


def memory_bars(parts: pd.DataFrame, whole: pd.DataFrame, limit: pd.DataFrame, around: pd.DataFrame) -> alt.LayerChart:
    """Stacked bars, out of ``memory_parts``, with the range of the whole as a whisker below (``memory_wholes``), the limit as
    a line, 85 and 110 % of it dashed (``memory_limits``)."""
    # A bar's name and, below it, its whole.
    axis = alt.Axis(title=None, ticks=False, domain=False, labelExpr="split(datum.value, '|')", labelFontWeight=600)
    where = alt.Y("bar:N", sort=BY_ORDER, axis=axis)
    gib = alt.Axis(title="GiB on the fullest GPU", grid=False, tickCount=6)
    key = alt.Legend(title=None, orient="top", columns=3, symbolType="square", symbolStrokeWidth=0)
    bars = (
        alt.Chart(parts)
        .mark_bar(height=_BAR_PX, stroke="white", strokeWidth=0.7)
        .encode(
            x=alt.X("from_gib:Q", axis=gib, scale=alt.Scale(zero=True)),
            x2="to_gib:Q",
            y=where,
            color=alt.Color("part:N", scale=colored(MEMORY_PARTS), legend=key),
            tooltip=tooltips(("part:N", "holds"), ("gib:Q", "GiB", ".2f")),
        )
    )
    told = tooltips(
        ("expected_gib:Q", "expected, GiB", ".1f"),
        ("low_gib:Q", "at least, GiB", ".1f"),
        ("high_gib:Q", "at most, GiB", ".1f"),
    )
    wholes = alt.Chart(whole)
    whisker = wholes.mark_rule(color=WORDS, strokeWidth=2, yOffset=_BELOW_PX).encode(
        x=alt.X("low_gib:Q"), x2="high_gib:Q", y=where, tooltip=told
    )
    ends = [
        wholes.mark_tick(color=WORDS, thickness=2, size=8, yOffset=_BELOW_PX).encode(
            x=alt.X(f"{end}:Q"), y=where, tooltip=told
        )
        for end in ("low_gib", "high_gib")
    ]
    expected = wholes.mark_point(
        shape="diamond", filled=True, color=WORDS, size=70, opacity=1, yOffset=_BELOW_PX
    ).encode(x=alt.X("expected_gib:Q"), y=where, tooltip=told)
    at = alt.X("at_gib:Q")
    dashed = alt.Chart(around).mark_rule(color=LIMIT, strokeDash=[4, 3], opacity=0.7)
    dashed = dashed.encode(x=at, tooltip=tooltips(("label:N", "of the GPU's memory")))
    line = alt.Chart(limit).mark_rule(color=LIMIT, strokeWidth=2)
    line = line.encode(x=at, tooltip=tooltips(("label:N", "the GPU's memory")))
    sign = alt.Chart(limit).mark_text(color=LIMIT, fontWeight=600, align="right", dx=-5, baseline="top")
    sign = sign.encode(x=at, y=alt.value(0), text="label:N")
    return alt.layer(bars, dashed, line, whisker, *ends, expected, sign).properties(height=_BARS_PX)


#: So many pieces are drawn at most, of both schedules together; of longer ones the beginning.
MOST_PIECES = 2000
_DENSE = 500
#: A piece carries its microbatch's number when it is at least this share of the axis, a digit.
NAMED_SHARE = 0.009
_AXIS_PX = 66
_PIECES = columns("lane:str order:int stage:int kind:str microbatch:int from_pct to_pct middle_pct label:str")


@dataclass(frozen=True, slots=True)
class ScheduleLanes:
    """One schedule to draw: ``pieces`` has ``stage kind microbatch from_pct to_pct``, stages and microbatches from 0."""

    name: str
    """In front of its lanes, such as "today"."""
    said: str
    """Above its lanes: how long it takes, how much of it is waiting."""
    stages: int
    length_pct: float
    pieces: pd.DataFrame


def until_pct(courses: Sequence[ScheduleLanes], most: int = MOST_PIECES) -> float | None:
    """How far the pieces are drawn, in percent of the starting point's time; None where all of them are."""
    starts = pd.concat([course.pieces["from_pct"] for course in courses])
    if len(starts) <= most:
        return None
    return float(starts.sort_values(ignore_index=True).iloc[most])


def schedule_lanes(courses: Sequence[ScheduleLanes]) -> pd.DataFrame:
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
    return typed(rows, columns("lane:str order:int start_pct end_pct said:str"))


def schedule_pieces(courses: Sequence[ScheduleLanes]) -> pd.DataFrame:
    """Every piece that is drawn, with its lane, its middle and, where it has room, the number of its microbatch."""
    until, lanes = until_pct(courses), schedule_lanes(courses)
    width = float(lanes["end_pct"].max())
    parts = []
    for course in courses:
        part = course.pieces[["stage", "kind", "microbatch", "from_pct", "to_pct"]]
        if until is not None:
            part = part[part["from_pct"] < until].assign(to_pct=part["to_pct"].clip(upper=until))
        part = part.assign(stage=part["stage"] + 1, microbatch=part["microbatch"] + 1)
        part["lane"] = [f"{course.name}|stage {stage}" for stage in part["stage"]]
        parts.append(part)
    frame = pd.concat(parts, ignore_index=True)
    frame["order"] = frame["lane"].map(dict(zip(lanes["lane"], lanes["order"], strict=True)))
    frame["middle_pct"] = (frame["from_pct"] + frame["to_pct"]) / 2
    number = frame["microbatch"].astype("str")
    room = (frame["to_pct"] - frame["from_pct"]) / (width or 1.0)
    frame["label"] = number.where(room >= NAMED_SHARE * (1 + number.str.len()), "")
    return typed(frame, _PIECES)


def row_pixels(lanes: int) -> int:
    """Height of a lane, for so many of them, heads included."""
    return max(5, min(26, 460 // max(lanes, 1)))


def is_dense(work: pd.DataFrame) -> bool:
    """Whether there are too many pieces to set them apart by lines."""
    return len(work) > _DENSE


def gantt(ground: pd.DataFrame, work: pd.DataFrame) -> alt.LayerChart:
    """Forward and backward of each microbatch on each stage, out of ``schedule_lanes`` and ``schedule_pieces``."""
    row = row_pixels(len(ground))
    # The heads have no name: their words stand in the chart.
    axis = alt.Axis(
        title=None, ticks=False, domain=False, labelExpr="split(datum.value, '|')[1]", labelOverlap=row < 11
    )
    where = alt.Y("lane:N", sort=BY_ORDER, axis=axis, scale=alt.Scale(paddingInner=0.12 if row > 8 else 0.0))
    x = alt.X(
        "from_pct:Q",
        axis=alt.Axis(title="time for the same samples, % of the starting point", grid=False, tickCount=10),
        scale=alt.Scale(nice=False, domainMin=0),
    )
    waiting = alt.Chart(ground).mark_rect(color=NO_DATA, opacity=NO_DATA_OPACITY, tooltip=None)
    waiting = waiting.encode(x=alt.X("start_pct:Q"), x2="end_pct:Q", y=where)
    base = alt.Chart(work)
    done = base.mark_rect(stroke="white", strokeWidth=0 if is_dense(work) or row <= 8 else 0.5).encode(
        x=x,
        x2="to_pct:Q",
        y=where,
        color=alt.Color("kind:N", scale=colored(STAGE_WORK), legend=None),
        tooltip=tooltips(
            ("stage:Q", "stage", "d"),
            ("kind:N", "does"),
            ("microbatch:Q", "microbatch", "d"),
            ("from_pct:Q", "from, %", ".1f"),
            ("to_pct:Q", "to, %", ".1f"),
        ),
    )
    forward, backward = (alt.value(STAGE_TEXT[kind]) for kind in ("forward", "backward"))
    numbers = base.mark_text(fontSize=min(11, row - 3), clip=True).encode(
        x=alt.X("middle_pct:Q"),
        y=where,
        text="label:N",
        color=alt.condition(alt.datum.kind == "forward", forward, backward),
    )
    heads = alt.Chart(ground).mark_text(align="left", fontWeight=600, fontSize=12, dy=-1, color=WORDS)
    heads = heads.encode(x=alt.X("start_pct:Q"), y=where, text="said:N")
    layers = [waiting, done, *([numbers] if row > 11 else []), heads]
    return alt.layer(*layers).properties(height=row * len(ground) + _AXIS_PX)
