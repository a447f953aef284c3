"""Where a job's time went, as one bar, and what happened when on which node, as swim lanes: the course of the job on top, a
lane a node below it; and all of a job in a strip: dragging over it chooses a part of the time.

Which kinds of marks there are is data, as everywhere: what each means stands beside the chart, see ``SIGNS``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import altair as alt
import pandas as pd

from monitor.charts.colors import BRUSH, EVENT_KINDS, NO_DATA, NO_DATA_OPACITY, TIME_KINDS
from monitor.charts.elements import BY_ORDER, MOMENT, Span, colored, columns, edges, over_time, tooltips, typed, window
from monitor.charts.step_time import WorkTimes, buckets
from monitor.charts.utilization import Measured, across
from monitor.model import Bucket
from monitor.words import duration, usd
from monitor.words import phase as called

#: A segment carries its name when it is at least this share of the bar, and its minutes and dollars from this one on.
NAMED_SHARE = 0.09
TOLD_SHARE = 0.22
BAR_PX = 34
# In minutes, the largest first.
_UNITS = {"days": 1440.0, "hours": 60.0, "minutes": 1.0}

KIND_OF = {
    **dict.fromkeys(("productive", "evaluation", "checkpoint"), "training"),
    **dict.fromkeys(("pending", "starting", "downloading", "image", "initialization", "uploading"), "start and finish"),
    **dict.fromkeys(("slow-excess", "stall", "lost-work", "interrupted", "idle-tail"), "lost"),
}


def segments(buckets: Sequence[Bucket]) -> pd.DataFrame:
    """Rows ``name phase kind minutes cost_usd share unit start end middle label``, in the order given, none of zero length.

    ``phase`` is the name for people; the places along the bar are in ``unit``: minutes, hours or days.
    """
    rows = [(bucket.name, bucket.seconds / 60, bucket.cost_usd) for bucket in buckets if bucket.seconds > 0]
    frame = typed(rows, columns("name:object minutes cost_usd"))
    frame["phase"] = [called(name) for name in frame["name"]]
    frame["kind"] = [KIND_OF.get(name, "not known") for name in frame["name"]]
    frame["share"] = frame["minutes"] / frame["minutes"].sum()
    frame["unit"] = unit = unit_of(buckets)
    frame["end"] = (frame["minutes"] / _UNITS[unit]).cumsum()
    frame["start"] = frame["end"] - frame["minutes"] / _UNITS[unit]
    frame["middle"] = (frame["start"] + frame["end"]) / 2
    frame["label"] = [
        _label(*row) if kind != "not known" else ""
        for *row, kind in frame[["phase", "minutes", "cost_usd", "share", "kind"]].itertuples(index=False)
    ]
    return frame


def unit_of(buckets: Sequence[Bucket]) -> str:
    """In what the bar is drawn: days beyond three of them, hours beyond three of those, else minutes."""
    whole = sum(bucket.seconds for bucket in buckets) / 60
    return next((unit for unit, minutes in _UNITS.items() if whole > 3 * minutes), "minutes")


def _label(phase: str, minutes: float, cost_usd: float, share: float) -> str:
    if share < NAMED_SHARE:
        return ""
    told = [phase, duration(minutes * 60), *([usd(cost_usd)] if cost_usd > 0 else [])]
    return " · ".join(told) if share >= TOLD_SHARE else phase


def phase_bar(buckets: Sequence[Bucket]) -> alt.LayerChart:
    """The bar of the sums of a job's phases."""
    return phase_bar_of(segments(buckets))


def phase_bar_of(frame: pd.DataFrame) -> alt.LayerChart:
    """One horizontal bar; its color says what kind of time a segment was."""
    base = alt.Chart(frame)
    along = alt.X("start:Q", axis=alt.Axis(title=None, grid=False, tickCount=8, offset=6), scale=alt.Scale(nice=False))
    bar = base.mark_bar(height=BAR_PX).encode(
        x=along,
        x2="end:Q",
        color=alt.Color(
            "kind:N",
            scale=colored(TIME_KINDS),
            legend=alt.Legend(title=None, orient="top", symbolType="square"),
        ),
        tooltip=tooltips(
            ("phase:N", "phase"),
            ("kind:N", "kind"),
            ("minutes:Q", "minutes", ",.1f"),
            ("share:Q", "share", ".1%"),
            ("cost_usd:Q", "USD", ",.2f"),
        ),
    )
    edges = base.mark_tick(color="white", thickness=1, size=BAR_PX).encode(x=along)
    names = base.mark_text(color="white", fontWeight=600).encode(x=alt.X("middle:Q"), text="label:N")
    return alt.layer(bar, edges, names).properties(height=112)


#: Kind -> shape, of those that are moments.
SHAPES = {
    "first line": "circle",
    "first step": "triangle-right",
    "restart": "triangle-left",
    "signal": "triangle-down",
    "NaN loss": "triangle-up",
    "error": "cross",
    "first error": "diamond",
    "end": "square",
}
#: Those that last.
SPANS = ("checkpoint", "evaluation", "no step")
#: The same shapes as signs, for the key in words.
SIGNS = {
    "first line": "●",
    "first step": "▶",
    "checkpoint": "▮",
    "evaluation": "▮",
    "no step": "▭",
    "restart": "◀",
    "signal": "▼",
    "NaN loss": "▲",
    "error": "✚",
    "first error": "◆",
    "end": "■",
}
#: A part of the job carries its name when it is at least this share of the whole.
LANE_NAMED_SHARE = 0.08
#: Axis and, above the lanes, the words of the first error.
CHROME_PX = 34
FLAG_LANE = ""
JOB_LANE = "job"
_FLAG_TEXT = 110


def row_pixels(lanes: int) -> int:
    """Height of a lane."""
    return 26 if lanes <= 6 else 20 if lanes <= 14 else 16


def grounds(lanes: Sequence[str], start: datetime, end: datetime) -> pd.DataFrame:
    """One row a lane, ``lane order start end``."""
    rows = [(lane, order, start, end) for order, lane in enumerate(lanes)]
    return typed(rows, columns("lane:str order:int start:time end:time"))


def parts_of_job(parts: pd.DataFrame) -> pd.DataFrame:
    """The parts with ``lane order kind minutes label`` for drawing; only a part with room has a label."""
    frame = parts.assign(lane=JOB_LANE, order=0, kind=[KIND_OF.get(name, "not known") for name in parts["name"]])
    took = frame["end"] - frame["start"]
    frame["minutes"] = took.dt.total_seconds() / 60
    wide = frame["minutes"] >= LANE_NAMED_SHARE * frame["minutes"].sum()
    frame["phase"] = frame["name"].map(called)
    frame["label"] = frame["phase"].where(wide & (frame["kind"] != "not known"), "")
    return frame.astype({"kind": "str", "lane": "str", "label": "str"})


def flag(marks: pd.DataFrame, start: datetime, end: datetime) -> pd.DataFrame:
    """The first error with its words, ``at lane order label left``: one row, or none. ``left``: the words end at it."""
    rows = marks[marks["kind"] == "first error"].head(1)
    at = rows["start"]
    words = [f"first error, {lane}: {said}" for lane, said in zip(rows["lane"], rows["said"], strict=True)]
    return pd.DataFrame(
        {
            "at": at,
            "lane": rows["lane"],
            "order": rows["order"],
            "label": pd.Series([_short(text) for text in words], index=rows.index, dtype="str"),
            "left": at > pd.Timestamp(start) + (pd.Timestamp(end) - pd.Timestamp(start)) / 2,
        }
    ).astype({"lane": "str", "left": "bool"})


def lane_frames(
    lanes: Sequence[str], parts: pd.DataFrame, marks: pd.DataFrame, start: datetime, end: datetime
) -> tuple[pd.DataFrame, ...]:
    """What ``lanes_of`` draws; ``parts`` and ``marks`` as ``monitor.analyze.timeline`` has them."""
    flagged = flag(marks, start, end)
    lasting, single = marks[marks["kind"].isin(SPANS)], marks[marks["kind"].isin(list(SHAPES))]
    return (
        grounds(lanes, start, end),
        parts_of_job(parts),
        lasting[lasting["lane"] != JOB_LANE],
        lasting[lasting["lane"] == JOB_LANE],
        single.iloc[(single["kind"] != "end").argsort(kind="stable")],  # what ends stands behind why
        flagged,
        flagged.assign(lane=FLAG_LANE, order=-1).astype({"lane": "str"}),
    )


def lanes_of(*frames: pd.DataFrame, flag_row: bool) -> alt.LayerChart:
    """Lanes from top to bottom, the first of them the job's; how it looks hangs on their number and ``flag_row`` alone:
    whether there is a row for the words of the first error."""
    ground, parts, of_nodes, of_job, single, flagged, spoken = frames
    y = alt.Y(
        "lane:N",
        sort=BY_ORDER,
        axis=alt.Axis(title=None, ticks=False, domain=False, labelLimit=90, labelOverlap=False, labelFlush=False),
    )
    step = row_pixels(len(ground))
    time = over_time("start")
    color = alt.Color("kind:N", legend=None, scale=colored(EVENT_KINDS))
    shape = alt.Shape("kind:N", legend=None, scale=colored(SHAPES))
    lines = alt.Chart(ground).mark_rule(color=NO_DATA, opacity=NO_DATA_OPACITY).encode(x=time, x2="end:T", y=y)
    spans = [
        alt.Chart(lasting)
        .mark_bar(height=max(6, step // 2), strokeWidth=1.5, fillOpacity=opacity)
        .encode(x=time, x2="end:T", y=y, color=color, stroke=stroke, tooltip=_TOOLTIP)
        for lasting, opacity, stroke in ((of_nodes, 0.55, color), (of_job, 1, alt.value("white")))
    ]
    moments = (
        alt.Chart(single)
        .mark_point(filled=True, size=min(70, 3.4 * step), opacity=1)
        .encode(x=time, y=y, color=color, shape=shape, tooltip=_TOOLTIP)
    )
    pole = alt.Chart(flagged).mark_rule(color=EVENT_KINDS["first error"], strokeDash=[3, 2]).encode(x="at:T")
    sign = (
        alt.Chart(flagged)
        .mark_point(color=EVENT_KINDS["first error"], shape="diamond", filled=True, size=150, opacity=1, tooltip=None)
        .encode(x="at:T", y=y)
    )
    words = [
        alt.Chart(spoken)
        .transform_filter(alt.datum.left == left)
        .mark_text(
            color=EVENT_KINDS["first error"], fontWeight=600, align="right" if left else "left", dx=-6 if left else 6
        )
        .encode(x="at:T", y=y, text="label:N")
        for left in (True, False)
    ]
    height = step * (len(ground) + flag_row) + CHROME_PX
    return alt.layer(lines, *_course(parts, time, y, step), *spans, moments, pole, sign, *words).properties(
        height=height
    )


def swim_lanes(
    lanes: Sequence[str], parts: pd.DataFrame, marks: pd.DataFrame, start: datetime, end: datetime
) -> alt.LayerChart:
    """The lanes of all of a job."""
    frames = lane_frames(lanes, parts, marks, start, end)
    return lanes_of(*frames, flag_row=bool((marks["kind"] == "first error").any()))


_TOOLTIP = tooltips(
    ("lane:N", "where"),
    ("kind:N", "what"),
    ("start:T", "from", MOMENT),
    ("end:T", "to", MOMENT),
    ("count:Q", "count", ",d"),
    ("said:N", "said"),
)


def _course(parts: pd.DataFrame, time: alt.X, y: alt.Y, step: int) -> tuple[alt.Chart, alt.Chart, alt.Chart]:
    """The bar of the job: colored by the kind of time, with edges, and with names where there is room."""
    base = alt.Chart(parts)
    height = step - 4
    bar = base.mark_bar(height=height).encode(
        x=time,
        x2="end:T",
        y=y,
        fill=alt.Fill("kind:N", legend=None, scale=colored(TIME_KINDS)),
        tooltip=tooltips(
            ("phase:N", "phase"),
            ("start:T", "from", MOMENT),
            ("end:T", "to", MOMENT),
            ("minutes:Q", "minutes", ",.1f"),
            ("billed:N", "billed"),
        ),
    )
    edges = base.mark_tick(color="white", thickness=1, size=height).encode(x=time, y=y)
    # At its beginning: the middle of the longest part is where checkpoints are.
    names = base.mark_text(color="white", fontWeight=600, align="left", dx=6).encode(x=time, y=y, text="label:N")
    return bar, edges, names


def _short(text: str) -> str:
    return text if len(text) <= _FLAG_TEXT else text[: _FLAG_TEXT - 1].rsplit(" ", 1)[0] + "…"


#: The name of the choice in what the browser tells, and of the field that it is of.
CHOICE, FIELD = "window", "edge"
#: With its axis; the strip itself is some 60 pixels high.
HEIGHT = 104


def of_metric(rows: Measured, span: Span) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What ``overview`` draws of a metric: ``at low middle high`` over all nodes (p10, median, p90), and the ends."""
    shown = across(rows)
    return _strip(shown["at"], shown["p10"], shown["median"], shown["p90"]), edges(span)


def of_steps(work: WorkTimes, span: Span) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The same of step times."""
    shown = buckets(work)
    shown = shown[shown["order"] == 0]
    return _strip(shown["at"], shown["p10_drawn_s"], shown["median_drawn_s"], shown["p90_drawn_s"]), edges(span)


def _strip(at: pd.Series, low: pd.Series, middle: pd.Series, high: pd.Series) -> pd.DataFrame:
    return pd.DataFrame({"at": at, "low": low, "middle": middle, "high": high}).reset_index(drop=True)


def marked(part: Span | None) -> pd.DataFrame:
    """The part that goes on with the job, ``start end``; no row where there is none."""
    return typed([part] if part else [], columns("start:time end:time"))


def overview(shown: pd.DataFrame, ends: pd.DataFrame, part: pd.DataFrame, percent: bool) -> alt.LayerChart:
    """Median and p10-p90 band over all of the time, ``marked`` behind them, with a brush."""
    time = over_time("at")
    scale = alt.Scale(domain=[0, 100], clamp=True) if percent else alt.Scale(zero=True)
    axis = alt.Axis(title="%" if percent else "s", tickCount=2, grid=False)
    base = alt.Chart(shown).encode(x=time)
    brush = alt.selection_interval(
        name=CHOICE,
        encodings=["x"],
        mark=alt.BrushConfig(fill=BRUSH, fillOpacity=0.18, stroke=BRUSH, strokeWidth=1.5, cursor="move"),
    )
    band = base.mark_area(opacity=0.2).encode(y=alt.Y("low:Q", scale=scale, axis=axis), y2="high:Q")
    middle = base.mark_line(strokeWidth=1.2).encode(y=alt.Y("middle:Q", scale=scale, axis=axis))
    # A name of its own, so that it is the same in every run.
    held = window(ends).properties(name="whole").add_params(brush)
    goes_on = alt.Chart(part).mark_rect(color=BRUSH, opacity=0.18).encode(x=alt.X("start:T"), x2="end:T")
    return alt.layer(held, goes_on, band, middle).properties(height=HEIGHT)


def with_choice(specification: dict[str, Any], chosen: Span | None) -> dict[str, Any]:
    """The specification of an overview in which a part of the time is marked when it is first drawn."""
    (brush,) = specification["params"]
    value = None if chosen is None else {"x": [round(edge.timestamp() * 1000) for edge in chosen]}
    return specification | {"params": [brush if value is None else brush | {"value": value}]}
