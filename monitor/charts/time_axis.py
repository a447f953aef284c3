"""From when to when, and how is time written? The same window under every chart of a job, in the viewer's clock."""

from __future__ import annotations

from datetime import datetime

import altair as alt
import pandas as pd

#: From the start of the job to its end, or to now; or a part of that.
Span = tuple[datetime, datetime]

_LABEL = (
    "hours(datum.value) == 0 && minutes(datum.value) == 0 ? timeFormat(datum.value, '%d %b')"
    " : timeFormat(datum.value, seconds(datum.value) == 0 ? '%H:%M' : '%H:%M:%S')"
)


def time_axis() -> alt.Axis:
    """Hours and minutes, the date at midnight; no title: the clock explains itself."""
    return alt.Axis(title=None, grid=False, labelOverlap=True, tickCount=8, labelExpr=_LABEL)


def time_scale() -> alt.Scale:
    """From the first to the last instant in the data, not rounded outwards."""
    return alt.Scale(nice=False)


def edges(span: Span) -> pd.DataFrame:
    """The two ends of a span, ``edge``."""
    return pd.DataFrame({"edge": pd.to_datetime(list(span), utc=True)}).astype({"edge": "datetime64[ms, UTC]"})


def window(ends: pd.DataFrame) -> alt.Chart:
    """An invisible layer that stretches the time axis over the whole span, so that silence at its end is seen.

    The span is data and not a domain: the specification stays the same while time goes on, and where a part is shown.
    """
    return alt.Chart(ends).mark_point(opacity=0, tooltip=None).encode(x=alt.X("edge:T"))


def cut(frame: pd.DataFrame, span: Span | None, start: str = "start", end: str = "end") -> pd.DataFrame:
    """The rows that lie in the span, in part at least, without what lies outside of it; all of them for None."""
    if span is None:
        return frame
    first, last = (pd.Timestamp(edge) for edge in span)
    kept = frame[(frame[end] >= first) & (frame[start] <= last)]
    if start == end:
        return kept
    kinds = {start: frame[start].dtype, end: frame[end].dtype}
    return kept.assign(**{start: kept[start].clip(lower=first), end: kept[end].clip(upper=last)}).astype(kinds)
