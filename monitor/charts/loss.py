"""Loss and learning rate over time: one line, its spread, and a mark where the loss was not a number."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd

from monitor.charts.elements import (
    LIMIT,
    MOMENT,
    Span,
    columns,
    cut,
    edges,
    over_time,
    thinned,
    tooltips,
    typed,
    window,
)

#: Points at most: more than there are pixels only costs.
POINTS = 400
MARKS = 200
_LEVELS = columns("at:time low median high step:number reports:int")


def levels(rows: pd.DataFrame, column: str, within: Span | None = None) -> pd.DataFrame:
    """Rows ``at low median high step reports`` of a column of ``at step …``: consecutive reports put together where there are
    more than ``POINTS``; ``step`` is their first, ``at`` the time of their last."""
    known = cut(rows[rows[column].notna()], within, "at", "at")
    if known.empty:
        return typed([], _LEVELS)
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
    return frame.reset_index(drop=True).astype(_LEVELS)


def no_numbers(rows: pd.DataFrame, within: Span | None = None) -> pd.DataFrame:
    """The reports whose loss is NaN or infinite, ``at step``: at most ``MARKS``, first and last among them."""
    bad = cut(rows.loc[rows["bad"], ["at", "step"]], within, "at", "at")
    return thinned(bad, MARKS).reset_index(drop=True)


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
            x=over_time("at"),
            y=alt.value(0),
            tooltip=tooltips(("step:Q", "NaN or infinite at step", ",d"), ("at:T", "at", MOMENT)),
        )
    )
    return alt.layer(*_line(points, "training loss", log), crosses, window(ends)).properties(height=220)


def rate_of(points: pd.DataFrame, ends: pd.DataFrame) -> alt.LayerChart:
    """The learning rate."""
    return alt.layer(*_line(points, "learning rate", False), window(ends)).properties(height=220)


def _line(points: pd.DataFrame, title: str, log: bool) -> tuple[alt.Chart, ...]:
    scale = alt.Scale(type="log", nice=False) if log else alt.Scale(zero=False)
    y = alt.Y("median:Q", axis=alt.Axis(title=title, tickCount=5, format=".3~g"), scale=scale)
    base = alt.Chart(points).encode(x=over_time("at"))
    told = tooltips(
        ("step:Q", "step", ",d"),
        ("median:Q", title, ".5~g"),
        ("low:Q", "lowest", ".5~g"),
        ("high:Q", "highest", ".5~g"),
        ("reports:Q", "reports", ",d"),
        ("at:T", "at", MOMENT),
    )
    band = base.mark_area(opacity=0.2).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q")
    return band, base.mark_line().encode(y=y, tooltip=told)
