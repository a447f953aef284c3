"""How long does a step take, does it stay so, and which node is slowest?"""

from __future__ import annotations

import json
from datetime import datetime

import altair as alt
import pandas as pd

from monitor.charts.colours import CHANGE, OUTLIER
from monitor.charts.step_buckets import Work, buckets, outliers, work_of
from monitor.charts.time_axis import Span, cut, edges, time_axis, time_scale, window

AXIS = "seconds a step"

#: Moments at which the pace changed for good, with what is said of each.
Changes = tuple[tuple[datetime, str], ...]

_CHANGE_DTYPES = {"at": "datetime64[ms, UTC]", "said": "str", "left": "bool"}


def changed(changes: Changes, span: Span) -> pd.DataFrame:
    """The changes of that time, ``at said left``; ``left``: the words end at the rule, as there is no room behind it."""
    start, end = (pd.Timestamp(edge) for edge in span)
    middle = start + (end - start) / 2
    rows = [(at, said, pd.Timestamp(at) > middle) for at, said in changes]
    frame = pd.DataFrame(rows, columns=list(_CHANGE_DTYPES)).astype(_CHANGE_DTYPES)
    return cut(frame, span, "at", "at").reset_index(drop=True)


def step_frames(
    work: Work, span: Span, within: Span | None = None, changes: Changes = ()
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """What ``step_time_of`` draws: buckets, far-off steps, changes of pace, and the ends of the time shown."""
    shown = work.within(within)
    return buckets(shown), outliers(shown), changed(changes, within or span), edges(within or span)


def step_time_of(levels: pd.DataFrame, far: pd.DataFrame, changes: pd.DataFrame, ends: pd.DataFrame) -> alt.LayerChart:
    """Median and p10-p90 band over all nodes, the slowest node by name where one stands out, far-off steps as dots.

    A layer a series, which are named in the specification: marks that a field parts are kept by the browser for long after
    they are gone.
    """
    time = alt.X("at:T", axis=time_axis(), scale=time_scale())
    seconds = alt.Axis(title=AXIS, tickCount=5)
    names = series_names(levels)
    legend = alt.Legend(
        title=None, orient="top", symbolType="stroke", symbolOpacity=1, symbolStrokeWidth=2, labelLimit=300
    )
    # Datums have no scale or legend of their own; these belong to marks that nobody sees.
    named = [
        alt.Chart(ends)
        .transform_calculate(series=json.dumps(name))
        .mark_line(opacity=0, tooltip=None)
        .encode(
            x=alt.value(0),
            y=alt.value(0),
            color=alt.Color("series:N", scale=alt.Scale(domain=list(names)), legend=legend),
        )
        for name in names
    ]
    bands: list[alt.Chart] = []
    medians: list[alt.Chart] = []
    for order, name in enumerate(names):
        base = (
            alt.Chart(levels)
            .transform_filter(alt.datum.order == order)
            .encode(x=time, color=alt.ColorDatum(name, type="nominal"))
        )
        band = base.mark_area(fillOpacity=0.2).encode(
            y=alt.Y("p10_drawn_s:Q", axis=seconds, scale=alt.Scale(zero=True)), y2=alt.Y2("p90_drawn_s:Q")
        )
        bands.append(band)
        medians.append(base.mark_line().encode(y=alt.Y("median_drawn_s:Q", axis=seconds), tooltip=_TOLD))
    dots = (
        alt.Chart(far)
        .mark_point(color=OUTLIER, size=18, shape="triangle-up", filled=True, opacity=0.8)
        .encode(
            x=time,
            y=alt.Y("drawn_s:Q", axis=seconds),
            tooltip=[
                alt.Tooltip("node:N", title="node"),
                alt.Tooltip("step:Q", title="step", format=",d"),
                alt.Tooltip("step_time_s:Q", title="took, s", format=".3~g"),
                alt.Tooltip("at:T", title="at", format=_TIME),
            ],
        )
    )
    return alt.layer(*named, *bands, *medians, dots, *_rules(changes, time), window(ends)).properties(height=240)


def step_time(steps: pd.DataFrame, span: Span) -> alt.LayerChart:
    """The step times of all of a job."""
    return step_time_of(*step_frames(work_of(steps), span))


def series_names(levels: pd.DataFrame) -> tuple[str, ...]:
    """The series of ``buckets`` in their order; the specification hangs on them."""
    return tuple(levels.sort_values("order")["series"].drop_duplicates())


_TIME = "%d %b %H:%M:%S"
_TOLD = [
    alt.Tooltip("series:N", title="series"),
    alt.Tooltip("at:T", title="at", format=_TIME),
    alt.Tooltip("first_step:Q", title="from step", format=",d"),
    alt.Tooltip("median_s:Q", title="median, s", format=".3~g"),
    alt.Tooltip("p10_s:Q", title="p10, s", format=".3~g"),
    alt.Tooltip("p90_s:Q", title="p90, s", format=".3~g"),
    alt.Tooltip("high_s:Q", title="longest, s", format=".3~g"),
    alt.Tooltip("reports:Q", title="reports", format=",d"),
]


def _rules(changes: pd.DataFrame, time: alt.X) -> tuple[alt.Chart, ...]:
    """A rule where the pace changed for good, and its words on the side with room; at the foot, where no line is."""
    told = [alt.Tooltip("said:N", title="change"), alt.Tooltip("at:T", title="at", format=_TIME)]
    rule = alt.Chart(changes).mark_rule(color=CHANGE, strokeDash=[2, 2], strokeWidth=1.5).encode(x=time, tooltip=told)
    words = tuple(
        alt.Chart(changes)
        .transform_filter(alt.datum.left == left)
        .mark_text(
            color=CHANGE,
            fontWeight=600,
            baseline="bottom",
            align="right" if left else "left",
            dx=-5 if left else 5,
            dy=-3,
        )
        .encode(x=time, y=alt.value("height"), text="said:N", tooltip=told)
        for left in (True, False)
    )
    return rule, *words
