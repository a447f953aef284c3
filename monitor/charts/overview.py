"""A whole job small: a strip on which dragging chooses a part of the time, and a metric in a line as small as a word."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from monitor.charts.elements import BRUSH, NO_DATA, Span, columns, edges, over_time, typed, window
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


#: As many as a table's cell has room for.
POINTS = 36

_WIDTH, _HEIGHT, _EDGE = 48.0, 25.0, 1.0
# Drawn so much larger than it is shown: a table takes pictures as they come, also on a screen of fine dots.
_SCALE = 3


def sparkline(metrics: pd.DataFrame, metric: str) -> tuple[float | None, ...]:
    """Percent of one device, mean over the nodes, in equal pieces of time; None is a piece without data."""
    rows = metrics.loc[metrics["metric"] == metric, ["timestamp", "value_pct", "period_s"]]
    if rows.empty:
        return ()
    first, last = rows["timestamp"].min(), rows["timestamp"].max()
    length_s = (last - first).total_seconds()
    if length_s <= 0:
        return (float(rows["value_pct"].mean()),)
    # Pieces shorter than the metric's period would be empty where nothing is missing.
    period = rows["period_s"].max()
    pieces = POINTS if pd.isna(period) else min(POINTS, int(length_s / period) + 1)
    place = ((rows["timestamp"] - first).dt.total_seconds() / length_s * pieces).clip(upper=pieces - 1).astype(int)
    means = rows["value_pct"].groupby(place).mean().reindex(range(pieces))
    return tuple(None if pd.isna(each) else float(each) for each in means)


def picture(values: Sequence[float | None]) -> str | None:
    """The line from 0 to 100 % as the address of an SVG picture; None where there are no two values to draw.

    A table's own line charts know no gaps: they would need them filled or joined.
    """
    if sum(each is not None for each in values) < 2:
        return None
    across = (_WIDTH - 2 * _EDGE) / (len(values) - 1)
    path, pen_is_down = [], False
    for place, each in enumerate(values):
        if each is not None:
            x, y = _EDGE + place * across, _HEIGHT - _EDGE - (_HEIGHT - 2 * _EDGE) * min(max(each, 0.0), 100.0) / 100
            # A value between two gaps is a dot: a line to where it is, with round ends.
            path.append(f"{'L' if pen_is_down else 'M'}{x:.1f} {y:.1f}" + ("" if pen_is_down else "h0"))
        pen_is_down = each is not None
    drawn = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH * _SCALE:.0f}" height="{_HEIGHT * _SCALE:.0f}" '
        f'viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" fill="none" stroke-linecap="round" stroke-linejoin="round">'
        f'<path d="M0 {_HEIGHT - 0.4:g}H{_WIDTH:g}" stroke="{NO_DATA}" stroke-width=".5" stroke-opacity=".6"/>'
        f'<path d="{"".join(path)}" stroke="{BRUSH}" stroke-width="1"/></svg>'
    )
    return f"data:image/svg+xml;base64,{b64encode(drawn.encode()).decode()}"
