"""From when to when, and how is time written? The same window under every chart of a job, by the viewer's clock or UTC."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

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


# Expressions that read the viewer's clock.
_CLOCK = re.compile(r"\b(hours|minutes|seconds|date|day|month|year)\(")


def in_utc(part: Any) -> None:
    """Makes a specification write all its times by UTC's clock and not by the viewer's: axes, their labels, tooltips."""
    if isinstance(part, list):
        for inner in part:
            in_utc(inner)
    if not isinstance(part, dict):
        return
    for name, inner in part.items():
        if name in {"x", "y", "tooltip"}:
            for encoded in inner if isinstance(inner, list) else [inner]:
                if isinstance(encoded, dict) and encoded.get("type") == "temporal":
                    encoded["scale"] = {**(encoded.get("scale") or {}), "type": "utc"}
        if name == "labelExpr" and isinstance(inner, str):
            part[name] = _CLOCK.sub(r"utc\1(", inner).replace("timeFormat(", "utcFormat(")
        in_utc(inner)
