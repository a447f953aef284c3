"""All of a job in a strip; dragging over it chooses a part of the time."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from monitor.charts.colors import BRUSH
from monitor.charts.elements import Span, columns, edges, over_time, typed, window
from monitor.charts.step_time import Work, buckets
from monitor.charts.utilization import Measured, across

#: The name of the choice in what the browser tells, and of the field that it is of.
CHOICE, FIELD = "window", "edge"
#: With its axis; the strip itself is some 60 pixels high.
HEIGHT = 104


def of_metric(rows: Measured, span: Span) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What ``overview`` draws of a metric: ``at low middle high`` over all nodes (p10, median, p90), and the ends."""
    shown = across(rows)
    return _strip(shown["at"], shown["p10"], shown["median"], shown["p90"]), edges(span)


def of_steps(work: Work, span: Span) -> tuple[pd.DataFrame, pd.DataFrame]:
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
