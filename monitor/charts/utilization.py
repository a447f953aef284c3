"""How busy was each node, minute by minute? A heatmap node x time; a line where there is one node."""

from __future__ import annotations

import re
from collections.abc import Sequence

import altair as alt
import pandas as pd

from monitor.charts.colours import NO_DATA, NO_DATA_OPACITY
from monitor.charts.time_axis import Span, time_axis, time_scale, window

#: So many columns at most: about the pixels there are, and 64 nodes stay quick in a browser.
COLUMNS = 180
#: Legend and axis: where a chart is fitted into its height, they take from it.
CHROME_PX = 76
#: Nodes whose means lie closer than this keep their natural order: no false ranking, no jumping rows.
ALIKE_POINTS = 3.0

#: What the axis of ``line`` is called.
LINE_AXIS = "%"

_CELL_DTYPES = {
    "node": "str",
    "order": "int64",
    "start": "datetime64[ms, UTC]",
    "end": "datetime64[ms, UTC]",
    "mean_pct": "float64",
    "low_pct": "float64",
    "high_pct": "float64",
    "points": "int64",
}
_PERCENT = alt.Scale(domain=[0, 100], clamp=True)
_NODE_AXIS = alt.Axis(title=None, labelOverlap="greedy", ticks=False, domain=False, labelLimit=90)
_TOOLTIP = [
    alt.Tooltip("node:N", title="node"),
    alt.Tooltip("start:T", title="from", format="%d %b %H:%M"),
    alt.Tooltip("mean_pct:Q", title="mean %", format=".0f"),
    alt.Tooltip("low_pct:Q", title="lowest %", format=".0f"),
    alt.Tooltip("high_pct:Q", title="highest %", format=".0f"),
]
_LEGEND = alt.Legend(
    title=None,
    orient="top",
    direction="horizontal",
    gradientLength=140,
    gradientThickness=8,
    values=[0, 50, 100],
    labelExpr="format(datum.value, '.0f') + ' %'",
)


def node_order(metrics: pd.DataFrame, metric: str, nodes: Sequence[str]) -> list[str]:
    """The nodes, those whose mean is furthest from the median node first; the rest and nodes without data by number."""
    chosen = metrics[metrics["metric"] == metric]
    means = chosen.groupby("node")["value_pct"].mean()
    distance = (means - means.median()).abs()
    names = sorted({*nodes, *means.index}, key=_number)
    outliers = [name for name in names if distance.get(name, 0.0) >= ALIKE_POINTS]
    outliers.sort(key=lambda name: -float(distance[name]))
    return outliers + [name for name in names if name not in outliers]


def cells(metrics: pd.DataFrame, metric: str, nodes: Sequence[str], columns: int = COLUMNS) -> pd.DataFrame:
    """One row a node and bucket of time that has data: ``node order start end mean_pct low_pct high_pct points``.

    A bucket is a whole number of periods, at most ``columns`` over the window, and its edges do not move as time goes on.
    """
    chosen = metrics[(metrics["metric"] == metric) & metrics["value_pct"].notna()]
    order = {name: place for place, name in enumerate(node_order(metrics, metric, nodes))}
    if chosen.empty:
        return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in _CELL_DTYPES.items()})
    width_s = bucket_seconds(chosen, columns)
    start = chosen["timestamp"].dt.floor(f"{width_s}s")
    grouped = chosen.assign(start=start).groupby(["node", "start"], sort=True, observed=True)["value_pct"]
    frame = grouped.agg(mean_pct="mean", low_pct="min", high_pct="max", points="count").reset_index()
    frame["end"] = frame["start"] + pd.Timedelta(seconds=width_s)
    frame["order"] = frame["node"].map(order)
    return frame[list(_CELL_DTYPES)].astype(_CELL_DTYPES)


def bucket_seconds(chosen: pd.DataFrame, columns: int = COLUMNS) -> int:
    """Seconds of one column: the period, or the smallest round multiple of it that fits the window into ``columns``."""
    period_s = int(chosen["period_s"].max()) if chosen["period_s"].notna().any() else 60
    span_s = (chosen["timestamp"].max() - chosen["timestamp"].min()).total_seconds() + period_s
    for factor in (1, 2, 3, 5, 10, 15, 20, 30, 60, 120, 240, 480, 1440):
        if span_s / (period_s * factor) <= columns:
            return period_s * factor
    return period_s * 2880


def rows(metrics: pd.DataFrame, metric: str, nodes: Sequence[str], span: Span) -> pd.DataFrame:
    """One row a node, ``node order start end`` over span and data: the ground that shows where data are missing."""
    order = node_order(metrics, metric, nodes)
    shown = cells(metrics, metric, nodes)
    start, end = (pd.Timestamp(edge) for edge in span)
    if len(shown):
        start, end = min(start, shown["start"].min()), max(end, shown["end"].max())
    frame = pd.DataFrame({"node": order, "order": range(len(order)), "start": start, "end": end})
    return frame.astype({"node": "str", "order": "int64", **dict.fromkeys(("start", "end"), "datetime64[ms, UTC]")})


def heatmap(metrics: pd.DataFrame, metric: str, nodes: Sequence[str], span: Span) -> alt.LayerChart:
    """Node x time, colour 0-100 %, the odd ones on top; grey where nothing was measured."""
    ground = rows(metrics, metric, nodes, span)
    step = row_pixels(len(ground))
    # A hair between the rows where there is room for one.
    gap = alt.Scale(paddingInner=0.08 if step > 10 else 0)
    where = alt.Y("node:N", sort=alt.EncodingSortField("order", op="min"), axis=_NODE_AXIS, scale=gap)
    missing = (
        alt.Chart(ground)
        .mark_rect(color=NO_DATA, opacity=NO_DATA_OPACITY)
        .encode(
            x=alt.X("start:T", axis=time_axis(), scale=time_scale()),
            x2="end:T",
            y=where,
            tooltip=[alt.Tooltip("node:N", title="no data")],
        )
    )
    measured = (
        alt.Chart(cells(metrics, metric, nodes))
        # Half a pixel more closes the hairlines between neighbours.
        .mark_rect(x2Offset=0.5)
        .encode(
            x="start:T",
            x2="end:T",
            y=where,
            color=alt.Color("mean_pct:Q", scale=_PERCENT, legend=_LEGEND),
            tooltip=_TOOLTIP,
        )
    )
    return alt.layer(missing, measured).properties(height=step * len(ground) + CHROME_PX)


def row_pixels(count: int) -> int:
    """Height of a row: readable for a few nodes, 448 pixels for 64, never thinner than two."""
    return max(2, min(28, 448 // max(count, 1)))


def line(metrics: pd.DataFrame, metric: str, span: Span) -> alt.LayerChart:
    """One node over time on a fixed scale of 0-100 %: the mean, and the range where a column holds several minutes."""
    percent = alt.Axis(title=LINE_AXIS, values=[0, 25, 50, 75, 100])
    base = alt.Chart(with_breaks(cells(metrics, metric, ()))).encode(
        x=alt.X("start:T", axis=time_axis(), scale=time_scale())
    )
    band = base.mark_area(opacity=0.2).encode(
        y=alt.Y("low_pct:Q", scale=_PERCENT, axis=percent), y2=alt.Y2("high_pct:Q")
    )
    mean = base.mark_line().encode(y=alt.Y("mean_pct:Q", scale=_PERCENT, axis=percent), tooltip=_TOOLTIP)
    return alt.layer(band, mean, window(span)).properties(height=220)


def with_breaks(shown: pd.DataFrame) -> pd.DataFrame:
    """The same rows with an empty one in each hole, so that a line is not joined over it."""
    if shown.empty:
        return shown
    shown = shown.sort_values("start", ignore_index=True)
    before = shown[shown["start"].shift(-1) > shown["end"]]
    nothing = dict.fromkeys(("mean_pct", "low_pct", "high_pct"), float("nan"))
    breaks = before.assign(start=before["end"], points=0, **nothing)
    return pd.concat([shown, breaks]).sort_values("start", kind="stable", ignore_index=True)


def _number(name: str) -> tuple[str, int, str]:
    found = re.search(r"(\d+)$", name)
    return (name[: found.start()], int(found.group()), name) if found else (name, -1, name)
