"""How do the loss and the learning rate develop? One line, its spread, and a mark where the loss was not a number."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd

from monitor.charts.colours import LIMIT
from monitor.charts.time_axis import Span, cut, edges, time_axis, time_scale, window

#: Points at most: more than there are pixels only costs.
POINTS = 400
MARKS = 200
_TIME = "%d %b %H:%M:%S"
_DTYPES = {
    "at": "datetime64[ms, UTC]",
    "low": "float64",
    "median": "float64",
    "high": "float64",
    "step": "Int64",
    "reports": "int64",
}


def levels(rows: pd.DataFrame, column: str, within: Span | None = None) -> pd.DataFrame:
    """Rows ``at low median high step reports`` of a column of ``at step …``: consecutive reports put together where there are
    more than ``POINTS``; ``step`` is their first, ``at`` the time of their last."""
    known = cut(rows[rows[column].notna()], within, "at", "at")
    if known.empty:
        return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in _DTYPES.items()})
    place = np.arange(len(known)) * min(POINTS, len(known)) // len(known)
    values = known[column].groupby(place)
    frame = pd.DataFrame(
        {
            "at": known["at"].groupby(place).last(),
            "low": values.min(),
            "median": values.median(),
            "high": values.max(),
            "step": known["step"].groupby(place).min(),
            "reports": values.size(),
        }
    )
    return frame.reset_index(drop=True).astype(_DTYPES)


def no_numbers(rows: pd.DataFrame, within: Span | None = None) -> pd.DataFrame:
    """The reports whose loss is NaN or infinite, ``at step``: at most ``MARKS``, first and last among them."""
    bad = cut(rows.loc[rows["bad"], ["at", "step"]], within, "at", "at")
    if len(bad) > MARKS:
        bad = bad.iloc[np.unique(np.linspace(0, len(bad) - 1, MARKS).astype("int64"))]
    return bad.reset_index(drop=True)


def loss_frames(rows: pd.DataFrame, span: Span, within: Span | None = None) -> tuple[pd.DataFrame, ...]:
    """What ``loss_of`` draws: points, marks, and the ends of the time shown."""
    return levels(rows, "loss", within), no_numbers(rows, within), edges(within or span)


def rate_frames(rows: pd.DataFrame, span: Span, within: Span | None = None) -> tuple[pd.DataFrame, ...]:
    """What ``rate_of`` draws."""
    return levels(rows, "learning_rate", within), edges(within or span)


def loss_of(points: pd.DataFrame, bad: pd.DataFrame, ends: pd.DataFrame, log: bool = False) -> alt.LayerChart:
    """The loss, with a cross at the top where it was NaN or infinite."""
    crosses = (
        alt.Chart(bad)
        .mark_point(color=LIMIT, shape="cross", angle=45, size=45, filled=True, yOffset=6)
        .encode(
            x=alt.X("at:T", axis=time_axis(), scale=time_scale()),
            y=alt.value(0),
            tooltip=[
                alt.Tooltip("step:Q", title="NaN or infinite at step", format=",d"),
                alt.Tooltip("at:T", title="at", format=_TIME),
            ],
        )
    )
    return alt.layer(*_line(points, "training loss", log), crosses, window(ends)).properties(height=220)


def rate_of(points: pd.DataFrame, ends: pd.DataFrame) -> alt.LayerChart:
    """The learning rate."""
    return alt.layer(*_line(points, "learning rate", False), window(ends)).properties(height=220)


def _line(points: pd.DataFrame, title: str, log: bool) -> tuple[alt.Chart, ...]:
    scale = alt.Scale(type="log", nice=False) if log else alt.Scale(zero=False)
    y = alt.Y("median:Q", axis=alt.Axis(title=title, tickCount=5, format=".3~g"), scale=scale)
    base = alt.Chart(points).encode(x=alt.X("at:T", axis=time_axis(), scale=time_scale()))
    told = [
        alt.Tooltip("step:Q", title="step", format=",d"),
        alt.Tooltip("median:Q", title=title, format=".5~g"),
        alt.Tooltip("low:Q", title="lowest", format=".5~g"),
        alt.Tooltip("high:Q", title="highest", format=".5~g"),
        alt.Tooltip("reports:Q", title="reports", format=",d"),
        alt.Tooltip("at:T", title="at", format=_TIME),
    ]
    band = base.mark_area(opacity=0.2).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q")
    return band, base.mark_line().encode(y=y, tooltip=told)
