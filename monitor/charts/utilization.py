"""One metric of all nodes over time, a heatmap node x time or a line where there is one node; and the GPUs of one node: a heatmap
GPU x the minutes that were read, and what they do within a step.

Rows are put in order once (``measured``); what is drawn of them, for all of a job or for a part of it, follows quickly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import altair as alt
import numpy as np
import pandas as pd

from monitor.charts.colors import NO_DATA, NO_DATA_OPACITY, THRESHOLD
from monitor.charts.elements import (
    BY_ORDER,
    PERCENT_TICKS,
    Floats,
    Ints,
    Span,
    clipped,
    columns,
    edges,
    instants,
    over_time,
    tooltips,
    typed,
    window,
)
from monitor.model import natural_order

#: So many columns at most, and so many cells: about the pixels there are, and 256 nodes stay quick in a browser.
COLUMNS = 180
CELLS = 24_000
#: Points of one line at most.
POINTS = 400
#: Nodes with a row of their own at most: as many as a row can be told from its neighbors.
ROWS = 64
#: Nodes whose means lie closer than this keep their natural order: no false ranking, no jumping rows.
ALIKE_POINTS = 3.0

_FACTORS = (1, 2, 3, 5, 10, 15, 20, 30, 60, 120, 240, 480, 1440)
_CELLS = columns("node:str order:int start:time end:time mean_pct low_pct high_pct points:int")
_ACROSS = columns("at:time low p10 median mean p90 high points:int")


@dataclass(frozen=True, slots=True)
class Measured:
    """The values of a metric, by node (its place in ``names``) and then by time, in percent of one device."""

    names: tuple[str, ...]
    """Nodes with and without data, in their natural order."""
    node: Ints
    at_ms: Ints
    """Where the period of the value begins, in Unix milliseconds."""
    value: Floats
    period_ms: int

    def within(self, span: Span | None) -> Measured:
        """The values whose period lies in the span, in part at least; all of them for None."""
        if span is None:
            return self
        start, end = (round(edge.timestamp() * 1000) for edge in span)
        kept = (self.at_ms + self.period_ms > start) & (self.at_ms < end)
        return Measured(self.names, self.node[kept], self.at_ms[kept], self.value[kept], self.period_ms)

    def means(self) -> dict[str, float]:
        """Node -> mean, of those with data."""
        sums, counts = (np.bincount(self.node, weights, len(self.names)) for weights in (self.value, None))
        return {name: float(sums[place] / counts[place]) for place, name in enumerate(self.names) if counts[place]}


def measured(metrics: pd.DataFrame, metric: str, nodes: Sequence[str]) -> Measured:
    """The rows of one metric, put in order; those without a value are none."""
    chosen = metrics[(metrics["metric"] == metric) & metrics["value_pct"].notna()]
    periods = chosen["period_s"].dropna()
    period_ms = 1000 * (int(periods.max()) if len(periods) else 60)
    codes, found = pd.factorize(chosen["node"])
    names = tuple(sorted({*(str(name) for name in found), *nodes}, key=natural_order))
    places = np.array([names.index(str(name)) for name in found], dtype="int64")
    node = places[codes] if len(codes) else np.zeros(0, "int64")
    at_ms = chosen["timestamp"].to_numpy("datetime64[ms]").astype("int64")
    turn = np.lexsort((at_ms, node))
    return Measured(names, node[turn], at_ms[turn], chosen["value_pct"].to_numpy("float64")[turn], period_ms)


def node_order(rows: Measured) -> list[str]:
    """The nodes, those whose mean is furthest from the median node first; the rest and nodes without data by number."""
    means = rows.means()
    middle = float(np.median(list(means.values()))) if means else 0.0
    far = {name: abs(mean - middle) for name, mean in means.items() if abs(mean - middle) >= ALIKE_POINTS}
    outliers = sorted(far, key=lambda name: -far[name])
    return outliers + [name for name in rows.names if name not in far]


def drawn_nodes(rows: Measured, first: Sequence[str] = ()) -> list[str]:
    """The nodes that have a row, from top to bottom: those in ``first`` that there are, then as ``node_order`` has them."""
    known = set(rows.names)
    return list(dict.fromkeys([*(name for name in first if name in known), *node_order(rows)]))[:ROWS]


def bucket_seconds(rows: Measured, columns: int = COLUMNS) -> int:
    """Seconds of one column: the period, or the smallest round multiple of it that fits the time into ``columns``."""
    return _bucket_ms(rows, columns) // 1000


def columns_for(nodes: int) -> int:
    """How many columns a heatmap of so many nodes may have."""
    return max(40, min(COLUMNS, CELLS // max(nodes, 1)))


def cells(
    rows: Measured, columns: int = COLUMNS, within: Span | None = None, order: Sequence[str] | None = None
) -> pd.DataFrame:
    """One row a node and bucket of time that has data: ``node order start end mean_pct low_pct high_pct points``.

    Of the nodes in ``order`` alone, where one is given; else of all, as ``node_order`` has them.

    A bucket is a whole number of periods, at most ``columns`` over the time there is, and its edges do not move as time
    goes on; at the edges of ``within`` it is cut.
    """
    rows = rows.within(within)
    if not len(rows.node):
        return typed([], _CELLS)
    width = _bucket_ms(rows, columns)
    first, sizes, slot = _runs(rows.node, rows.at_ms // width)
    start_ms = slot * width
    end_ms = start_ms + width
    if within is not None:
        low, high = (round(edge.timestamp() * 1000) for edge in within)
        start_ms, end_ms = np.maximum(start_ms, low), np.minimum(end_ms, high)
    places = {name: place for place, name in enumerate(node_order(rows) if order is None else order)}
    node = rows.node[first]
    orders = np.array([places.get(name, -1) for name in rows.names], dtype="int64")
    frame = pd.DataFrame(
        {
            "node": pd.Categorical.from_codes(node, categories=list(rows.names)),
            "order": orders[node],
            "start": instants(start_ms),
            "end": instants(end_ms),
            "mean_pct": np.add.reduceat(rows.value, first) / sizes,
            "low_pct": np.minimum.reduceat(rows.value, first),
            "high_pct": np.maximum.reduceat(rows.value, first),
            "points": sizes,
        }
    )
    return frame[frame["order"] >= 0].astype(_CELLS).reset_index(drop=True)


def across(rows: Measured, points: int = POINTS) -> pd.DataFrame:
    """All nodes together, a row a bucket of time: ``at low p10 median mean p90 high points``, and an empty one in a hole."""
    if not len(rows.node):
        return typed([], _ACROSS)
    width = _bucket_ms(rows, points)
    slots = rows.at_ms // width
    turn = np.lexsort((rows.value, slots))
    value, slots = rows.value[turn], slots[turn]
    first, sizes, slot = _runs(np.zeros(len(slots), "int64"), slots)
    frame = pd.DataFrame(
        {
            "at": instants(slot * width + width // 2),
            "low": np.minimum.reduceat(value, first),
            **{name: _at_share(value, first, sizes, share) for name, share in _SHARES.items()},
            "mean": np.add.reduceat(value, first) / sizes,
            "high": np.maximum.reduceat(value, first),
            "points": sizes,
        }
    )
    hole = np.flatnonzero(np.diff(slot) > 1)
    if len(hole):
        nothing = pd.DataFrame({"at": instants((slot[hole] + 1) * width + width // 2), "points": 0})
        frame = pd.concat([frame, nothing]).sort_values("at", kind="stable", ignore_index=True)
    return typed(frame, _ACROSS)


_SHARES = {"p10": 0.1, "median": 0.5, "p90": 0.9}


def _at_share(ordered: Floats, first: Ints, sizes: Ints, share: float) -> Floats:
    """The quantile of each run of values in order, interpolated."""
    exact = first + share * (sizes - 1)
    low = np.floor(exact).astype("int64")
    high = np.minimum(low + 1, first + sizes - 1)
    found: Floats = ordered[low] + (exact - low) * (ordered[high] - ordered[low])
    return found


def _runs(node: Ints, slot: Ints) -> tuple[Ints, Ints, Ints]:
    """Where a new pair of node and slot begins, how long it is, and its slot."""
    new = np.ones(len(node), dtype=bool)
    new[1:] = (node[1:] != node[:-1]) | (slot[1:] != slot[:-1])
    first = np.flatnonzero(new)
    return first, np.diff(np.append(first, len(node))), slot[first]


def _bucket_ms(rows: Measured, columns: int) -> int:
    if not len(rows.at_ms):
        return rows.period_ms
    span_ms = int(rows.at_ms.max() - rows.at_ms.min()) + rows.period_ms
    fitting = (rows.period_ms * factor for factor in _FACTORS if span_ms <= columns * rows.period_ms * factor)
    return next(fitting, rows.period_ms * -(-span_ms // (columns * rows.period_ms)))


def instant_of(ms: float) -> datetime:
    """The moment of so many Unix milliseconds."""
    moment: datetime = pd.Timestamp(round(ms), unit="ms", tz="UTC").to_pydatetime()
    return moment


#: Legend and axis: where a chart is fitted into its height, they take from it.
CHROME_PX = 76
#: A row as thick as this has room for a frame around what crosses a threshold; a thinner one has the sign at its end alone.
FRAMED_PX = 6
#: Stretches that are framed at most: the longest.
FRAMES = 300

#: What the axis of ``line`` is called.
LINE_AXIS = "%"

_FRAMES = columns("node:str order:int start:time end:time name:str")
_GROUND = columns("node:str order:int start:time end:time")
#: Of a percentage that is drawn as a color or a height; its key stands below.
PERCENT = alt.Scale(domain=[0, 100], clamp=True)
_NODE_AXIS = alt.Axis(title=None, labelOverlap="greedy", ticks=False, domain=False, labelLimit=90)
_MINUTE = "%d %b %H:%M"
_TOOLTIP = tooltips(
    ("node:N", "node"),
    ("start:T", "from", _MINUTE),
    ("mean_pct:Q", "mean %", ".0f"),
    ("low_pct:Q", "lowest %", ".0f"),
    ("high_pct:Q", "highest %", ".0f"),
)
_CROSSING = tooltips(("name:N", "crosses"), ("start:T", "from", _MINUTE), ("end:T", "to", _MINUTE))
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
    shown = clipped(spans, within)
    order = {name: place for place, name in enumerate(nodes)}
    shown = shown.assign(order=shown["node"].map(order).fillna(-1), lasts=shown["end"] - shown["start"])
    shown = typed(shown.nlargest(FRAMES, "lasts"), _FRAMES)
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
    ground = typed([(name, place, start, end) for place, name in enumerate(order)], _GROUND)
    return ground, shown, *crossings(typed([], _FRAMES) if spans is None else spans, order, within)


def heatmap_of(ground: pd.DataFrame, shown: pd.DataFrame, own: pd.DataFrame, together: pd.DataFrame) -> alt.LayerChart:
    """Node x time, color 0-100 %, the odd ones on top; gray where nothing was measured.

    How it looks hangs on the number of nodes alone.
    """
    step = row_pixels(len(ground))
    # A hair between the rows where there is room for one.
    gap = alt.Scale(paddingInner=0.08 if step > 10 else 0)
    where = alt.Y("node:N", sort=BY_ORDER, axis=_NODE_AXIS, scale=gap)
    time = over_time("start")
    missing = (
        alt.Chart(ground)
        .mark_rect(color=NO_DATA, opacity=NO_DATA_OPACITY)
        .encode(x=time, x2="end:T", y=where, tooltip=tooltips(("node:N", "no data")))
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
    percent = alt.Axis(title=LINE_AXIS, values=PERCENT_TICKS)
    base = alt.Chart(shown).encode(x=over_time("start"))
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


#: Of a row, pixels.
ROW_PX = 26
STEP_HEIGHT_PX = 220
_CHROME_PX = 92
_GPU_CELLS = columns("gpu:str number:int at:str minute:time mean_pct low_pct high_pct memory_pct samples:int")


def minute_cells(gpus: pd.DataFrame, days: bool, zone: object) -> pd.DataFrame:
    """A row a GPU of the node and minute that was read: ``gpu number at minute mean_pct low_pct high_pct memory_pct samples``.

    ``gpus`` is the Gpus frame of one node; ``days``: the minutes are named with their day.
    """
    if gpus.empty:
        return typed([], _GPU_CELLS)
    found = gpus.assign(minute=gpus["timestamp"].dt.floor("min")).groupby(["gpu", "minute"])
    busy = found["utilization_pct"]
    cells = pd.DataFrame(
        {
            "mean_pct": busy.mean(),
            "low_pct": busy.min(),
            "high_pct": busy.max(),
            "memory_pct": found["memory_pct"].max(),
            "samples": found.size(),
        }
    ).reset_index()
    local = cells["minute"].dt.tz_convert(zone)
    cells = cells.assign(
        number=cells["gpu"],
        gpu="GPU " + cells["gpu"].astype("str"),
        at=local.dt.strftime("%d %b %H:%M" if days else "%H:%M"),
    )
    return typed(cells, _GPU_CELLS)


def gpu_heatmap(cells: pd.DataFrame) -> alt.Chart:
    """GPU x minute, color 0-100 %; a column is one minute that was read, whatever lies between it and the next."""
    return (
        alt.Chart(cells)
        .mark_rect()
        .encode(
            x=alt.X(
                "at:O",
                sort=alt.EncodingSortField("minute", op="min"),
                scale=alt.Scale(paddingInner=0.04),
                axis=alt.Axis(title=None, labelAngle=0, labelOverlap="greedy", ticks=False, domain=False),
            ),
            y=alt.Y(
                "gpu:N",
                sort=alt.EncodingSortField("number", op="min"),
                scale=alt.Scale(paddingInner=0.08),
                axis=alt.Axis(title=None, ticks=False, domain=False),
            ),
            color=alt.Color("mean_pct:Q", scale=PERCENT, legend=PERCENT_LEGEND),
            tooltip=tooltips(
                ("gpu:N", "GPU"),
                ("at:N", "minute"),
                ("mean_pct:Q", "mean %", ".0f"),
                ("low_pct:Q", "lowest %", ".0f"),
                ("high_pct:Q", "highest %", ".0f"),
                ("memory_pct:Q", "memory, highest %", ".0f"),
                ("samples:Q", "samples"),
            ),
        )
        .properties(height=ROW_PX * max(1, int(cells["gpu"].nunique())) + _CHROME_PX)
    )


def closed(pieces: pd.DataFrame) -> pd.DataFrame:
    """The pieces of a step as ``anatomy`` draws them: a line of steps needs the end of its last piece."""
    last = pieces.tail(1)
    return pd.concat([pieces, last.assign(begin_s=last["end_s"])], ignore_index=True)


def anatomy(drawn: pd.DataFrame) -> alt.LayerChart:
    """GPU use within a step: the mean as a line of steps, and the range of eight samples in ten."""
    percent = alt.Axis(title="GPU, %", values=PERCENT_TICKS)
    base = alt.Chart(drawn).encode(
        x=alt.X(
            "begin_s:Q",
            title="seconds of the step",
            scale=alt.Scale(nice=False, zero=True),
            axis=alt.Axis(grid=False, format="~g"),
        )
    )
    band = base.mark_area(opacity=0.2, interpolate="step-after").encode(
        y=alt.Y("low_pct:Q", scale=PERCENT, axis=percent), y2=alt.Y2("high_pct:Q")
    )
    mean = base.mark_line(interpolate="step-after").encode(
        y=alt.Y("mean_pct:Q", scale=PERCENT, axis=percent),
        tooltip=tooltips(
            ("begin_s:Q", "from, s", ".2f"),
            ("end_s:Q", "to, s", ".2f"),
            ("mean_pct:Q", "mean %", ".0f"),
            ("low_pct:Q", "p10 %", ".0f"),
            ("high_pct:Q", "p90 %", ".0f"),
            ("samples:Q", "samples"),
        ),
    )
    return alt.layer(band, mean).properties(height=STEP_HEIGHT_PX)
