"""What happened when, and on which node? Swim lanes: the course of the job on top, a lane a node below it.

Which kinds of marks there are is data, as everywhere: what each means stands beside the chart, see ``key``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import altair as alt
import pandas as pd

from monitor.charts.colours import EVENT_KINDS, NO_DATA, NO_DATA_OPACITY, TIME_KINDS
from monitor.charts.phases import KIND_OF
from monitor.charts.time_axis import time_axis, time_scale
from monitor.words import phase as called

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
NAMED_SHARE = 0.08
#: Axis and, above the lanes, the words of the first error.
CHROME_PX = 34
FLAG_LANE = ""
JOB_LANE = "job"
_FLAG_TEXT = 110
_TIME = "%d %b %H:%M:%S"


def row_pixels(lanes: int) -> int:
    """Height of a lane."""
    return 26 if lanes <= 6 else 20 if lanes <= 14 else 16


def grounds(lanes: Sequence[str], start: datetime, end: datetime) -> pd.DataFrame:
    """One row a lane, ``lane order start end``."""
    frame = pd.DataFrame({"lane": list(lanes), "order": range(len(lanes)), "start": start, "end": end})
    return frame.astype({"lane": "str", "order": "int64", **dict.fromkeys(("start", "end"), "datetime64[ms, UTC]")})


def parts_of_job(parts: pd.DataFrame) -> pd.DataFrame:
    """The parts with ``lane order kind minutes label`` for drawing; only a part with room has a label."""
    frame = parts.assign(lane=JOB_LANE, order=0, kind=[KIND_OF.get(name, "not known") for name in parts["name"]])
    took = frame["end"] - frame["start"]
    frame["minutes"] = took.dt.total_seconds() / 60
    wide = frame["minutes"] >= NAMED_SHARE * frame["minutes"].sum()
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
        sort=alt.EncodingSortField("order", op="min"),
        axis=alt.Axis(title=None, ticks=False, domain=False, labelLimit=90, labelOverlap=False, labelFlush=False),
    )
    step = row_pixels(len(ground))
    time = alt.X("start:T", axis=time_axis(), scale=time_scale())
    colour = alt.Color(
        "kind:N", legend=None, scale=alt.Scale(domain=list(EVENT_KINDS), range=list(EVENT_KINDS.values()))
    )
    shape = alt.Shape("kind:N", legend=None, scale=alt.Scale(domain=list(SHAPES), range=list(SHAPES.values())))
    lines = alt.Chart(ground).mark_rule(color=NO_DATA, opacity=NO_DATA_OPACITY).encode(x=time, x2="end:T", y=y)
    spans = [
        alt.Chart(lasting)
        .mark_bar(height=max(6, step // 2), strokeWidth=1.5, fillOpacity=opacity)
        .encode(x=time, x2="end:T", y=y, color=colour, stroke=stroke, tooltip=_TOOLTIP)
        for lasting, opacity, stroke in ((of_nodes, 0.55, colour), (of_job, 1, alt.value("white")))
    ]
    moments = (
        alt.Chart(single)
        .mark_point(filled=True, size=min(70, 3.4 * step), opacity=1)
        .encode(x=time, y=y, color=colour, shape=shape, tooltip=_TOOLTIP)
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


_TOOLTIP = [
    alt.Tooltip("lane:N", title="where"),
    alt.Tooltip("kind:N", title="what"),
    alt.Tooltip("start:T", title="from", format=_TIME),
    alt.Tooltip("end:T", title="to", format=_TIME),
    alt.Tooltip("count:Q", title="count", format=",d"),
    alt.Tooltip("said:N", title="said"),
]


def _course(parts: pd.DataFrame, time: alt.X, y: alt.Y, step: int) -> tuple[alt.Chart, alt.Chart, alt.Chart]:
    """The bar of the job: colored by the kind of time, with edges, and with names where there is room."""
    base = alt.Chart(parts)
    height = step - 4
    bar = base.mark_bar(height=height).encode(
        x=time,
        x2="end:T",
        y=y,
        fill=alt.Fill("kind:N", legend=None, scale=alt.Scale(domain=list(TIME_KINDS), range=list(TIME_KINDS.values()))),
        tooltip=[
            alt.Tooltip("phase:N", title="phase"),
            alt.Tooltip("start:T", title="from", format=_TIME),
            alt.Tooltip("end:T", title="to", format=_TIME),
            alt.Tooltip("minutes:Q", title="minutes", format=",.1f"),
            alt.Tooltip("billed:N", title="billed"),
        ],
    )
    edges = base.mark_tick(color="white", thickness=1, size=height).encode(x=time, y=y)
    # At its beginning: the middle of the longest part is where checkpoints are.
    names = base.mark_text(color="white", fontWeight=600, align="left", dx=6).encode(x=time, y=y, text="label:N")
    return bar, edges, names


def _short(text: str) -> str:
    return text if len(text) <= _FLAG_TEXT else text[: _FLAG_TEXT - 1].rsplit(" ", 1)[0] + "…"
