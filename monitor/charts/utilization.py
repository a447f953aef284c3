"""How busy was each node, minute by minute? A heatmap node x time; a line where there is one node."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from monitor.charts.colours import NO_DATA, NO_DATA_OPACITY, THRESHOLD
from monitor.charts.measured import POINTS, Measured, cells, columns_for, drawn_nodes, measured
from monitor.charts.time_axis import Span, cut, edges, time_axis, time_scale, window

#: Legend and axis: where a chart is fitted into its height, they take from it.
CHROME_PX = 76
#: A row as thick as this has room for a frame around what crosses a threshold; a thinner one has the sign at its end alone.
FRAMED_PX = 6
#: Stretches that are framed at most: the longest.
FRAMES = 300

#: What the axis of ``line`` is called.
LINE_AXIS = "%"

_FRAME_DTYPES = {
    "node": "str",
    "order": "int64",
    "start": "datetime64[ms, UTC]",
    "end": "datetime64[ms, UTC]",
    "name": "str",
}
#: Of a percentage that is drawn as a color or a height; its key stands below.
PERCENT = alt.Scale(domain=[0, 100], clamp=True)
_NODE_AXIS = alt.Axis(title=None, labelOverlap="greedy", ticks=False, domain=False, labelLimit=90)
_TIME = "%d %b %H:%M"
_TOOLTIP = [
    alt.Tooltip("node:N", title="node"),
    alt.Tooltip("start:T", title="from", format=_TIME),
    alt.Tooltip("mean_pct:Q", title="mean %", format=".0f"),
    alt.Tooltip("low_pct:Q", title="lowest %", format=".0f"),
    alt.Tooltip("high_pct:Q", title="highest %", format=".0f"),
]
_CROSSING = [
    alt.Tooltip("name:N", title="crosses"),
    alt.Tooltip("start:T", title="from", format=_TIME),
    alt.Tooltip("end:T", title="to", format=_TIME),
]
PERCENT_LEGEND = alt.Legend(
    title=None,
    orient="top",
    direction="horizontal",
    gradientLength=140,
    gradientThickness=8,
    values=[0, 50, 100],
    labelExpr="format(datum.value, '.0f') + ' %'",
)


def crossings(spans: pd.DataFrame, nodes: Sequence[str], within: Span | None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(what is framed in a node's row, what is framed over all rows): ``node order start end name`` in the time shown.

    ``spans`` has ``node start end name``; no node stands for all of them together.
    """
    shown = cut(spans, within)
    order = {name: place for place, name in enumerate(nodes)}
    shown = shown.assign(order=shown["node"].map(order).fillna(-1), lasts=shown["end"] - shown["start"])
    shown = shown.nlargest(FRAMES, "lasts")[list(_FRAME_DTYPES)].astype(_FRAME_DTYPES)
    own = shown["order"] >= 0
    return shown[own].reset_index(drop=True), shown[~own & (shown["node"] == "")].reset_index(drop=True)


def heatmap_frames(
    rows: Measured,
    span: Span,
    within: Span | None = None,
    spans: pd.DataFrame | None = None,
    first: Sequence[str] = (),
) -> tuple[pd.DataFrame, ...]:
    """What ``heatmap_of`` draws: a ground for each node over the time there is, cells, what crosses a threshold.

    On top are the nodes in ``first``, then those that cross a threshold; of very many nodes those are drawn that differ.
    """
    crossing = () if spans is None else tuple(dict.fromkeys(spans["node"]))
    order = drawn_nodes(rows.within(within), (*first, *crossing))
    shown = cells(rows, columns_for(len(order)), within, order)
    start, end = (pd.Timestamp(edge) for edge in within or span)
    if len(shown):
        start, end = min(start, shown["start"].min()), max(end, shown["end"].max())
    ground = pd.DataFrame({"node": order, "order": range(len(order)), "start": start, "end": end})
    kinds = {"node": "str", "order": "int64", **dict.fromkeys(("start", "end"), "datetime64[ms, UTC]")}
    nothing = pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in _FRAME_DTYPES.items()})
    return ground.astype(kinds), shown, *crossings(nothing if spans is None else spans, order, within)


def heatmap_of(ground: pd.DataFrame, shown: pd.DataFrame, own: pd.DataFrame, together: pd.DataFrame) -> alt.LayerChart:
    """Node x time, color 0-100 %, the odd ones on top; gray where nothing was measured.

    How it looks hangs on the number of nodes alone.
    """
    step = row_pixels(len(ground))
    # A hair between the rows where there is room for one.
    gap = alt.Scale(paddingInner=0.08 if step > 10 else 0)
    where = alt.Y("node:N", sort=alt.EncodingSortField("order", op="min"), axis=_NODE_AXIS, scale=gap)
    time = alt.X("start:T", axis=time_axis(), scale=time_scale())
    missing = (
        alt.Chart(ground)
        .mark_rect(color=NO_DATA, opacity=NO_DATA_OPACITY)
        .encode(x=time, x2="end:T", y=where, tooltip=[alt.Tooltip("node:N", title="no data")])
    )
    values = (
        alt.Chart(shown)
        # Half a pixel more closes the hairlines between neighbors.
        .mark_rect(x2Offset=0.5)
        .encode(
            x="start:T",
            x2="end:T",
            y=where,
            color=alt.Color("mean_pct:Q", scale=PERCENT, legend=PERCENT_LEGEND),
            tooltip=_TOOLTIP,
        )
    )
    frame = {"filled": False, "stroke": THRESHOLD, "strokeWidth": 1.5 if step >= FRAMED_PX else 0}
    framed = alt.Chart(own).mark_rect(**frame).encode(x=time, x2="end:T", y=where, tooltip=_CROSSING)
    ends = (
        alt.Chart(own)
        .mark_point(shape="triangle-left", filled=True, color=THRESHOLD, opacity=1, size=34, xOffset=5)
        .encode(x=alt.value("width"), y=where, tooltip=_CROSSING)
    )
    over_all = (
        alt.Chart(together)
        .mark_rect(filled=False, stroke=THRESHOLD, strokeWidth=1.5)
        .encode(x=time, x2="end:T", y=alt.value(0), y2=alt.value("height"), tooltip=_CROSSING)
    )
    return alt.layer(missing, values, framed, ends, over_all).properties(height=step * len(ground) + CHROME_PX)


def heatmap(
    metrics: pd.DataFrame, metric: str, nodes: Sequence[str], span: Span, first: Sequence[str] = ()
) -> alt.LayerChart:
    """The heatmap of a metric over all of the time, the nodes in ``first`` on top."""
    return heatmap_of(*heatmap_frames(measured(metrics, metric, nodes), span, first=first))


def row_pixels(count: int) -> int:
    """Height of a row: readable for a few nodes, 448 pixels for 64, never thinner than two."""
    return max(2, min(28, 448 // max(count, 1)))


def line_frames(rows: Measured, span: Span, within: Span | None = None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What ``line_of`` draws: the buckets with an empty one in each hole, and the ends of the time shown."""
    return with_breaks(cells(rows, POINTS, within)), edges(within or span)


def line_of(shown: pd.DataFrame, ends: pd.DataFrame) -> alt.LayerChart:
    """One node over time on a fixed scale of 0-100 %: the mean, and the range where a bucket holds several minutes."""
    percent = alt.Axis(title=LINE_AXIS, values=[0, 25, 50, 75, 100])
    base = alt.Chart(shown).encode(x=alt.X("start:T", axis=time_axis(), scale=time_scale()))
    band = base.mark_area(opacity=0.2).encode(
        y=alt.Y("low_pct:Q", scale=PERCENT, axis=percent), y2=alt.Y2("high_pct:Q")
    )
    mean = base.mark_line().encode(y=alt.Y("mean_pct:Q", scale=PERCENT, axis=percent), tooltip=_TOOLTIP)
    return alt.layer(band, mean, window(ends)).properties(height=220)


def line(metrics: pd.DataFrame, metric: str, span: Span) -> alt.LayerChart:
    """The line of a metric over all of the time."""
    return line_of(*line_frames(measured(metrics, metric, ()), span))


def with_breaks(shown: pd.DataFrame) -> pd.DataFrame:
    """The same rows with an empty one in each hole, so that a line is not joined over it."""
    if shown.empty:
        return shown
    shown = shown.sort_values("start", ignore_index=True)
    before = shown[shown["start"].shift(-1) > shown["end"]]
    nothing = dict.fromkeys(("mean_pct", "low_pct", "high_pct"), float("nan"))
    breaks = before.assign(start=before["end"], points=0, **nothing)
    return pd.concat([shown, breaks]).sort_values("start", kind="stable", ignore_index=True)
