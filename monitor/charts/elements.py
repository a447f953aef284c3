"""What charts have in common: the time axis, rows in an order, tooltips, typed frames, threshold lines and marked spans; and the
zoom that a live chart keeps: the same specification each time, with the data beside it.

Altair and Streamlit both name inline data by a hash of its content, so every refresh would be a new specification and
the browser would draw the chart afresh. Here datasets are named by their place, and only they change.

A mark of a live chart is its row's, by the row's number: the browser then moves the marks that it has. Lines and areas
have none, so each refresh makes their points anew; Vega lets go of the old ones at once, unless rows come by way of a copy
(a field's groups, a parsed or computed field): then it keeps them until ten thousand have come together. So times are sent
as numbers, and not parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from monitor.charts.colors import MARKED, THRESHOLD

#: From the start of the job to its end, or to now; or a part of that.
Span = tuple[datetime, datetime]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: A moment in a tooltip.
MOMENT = "%d %b %H:%M:%S"
#: Rows from top to bottom by their ``order``.
BY_ORDER = alt.EncodingSortField("order", op="min")
PERCENT_TICKS = [0, 25, 50, 75, 100]
#: Lines nearer than this share of the highest value would write their names over one another.
NEAR = 0.09

_LABEL = (
    "hours(datum.value) == 0 && minutes(datum.value) == 0 ? timeFormat(datum.value, '%d %b')"
    " : timeFormat(datum.value, seconds(datum.value) == 0 ? '%H:%M' : '%H:%M:%S')"
)
# Expressions that read the viewer's clock.
_CLOCK = re.compile(r"\b(hours|minutes|seconds|date|day|month|year)\(")
_KINDS = {"time": "datetime64[ms, UTC]", "int": "int64", "number": "Int64"}


def columns(names: str) -> dict[str, str]:
    """The types of a frame's columns out of ``node:str order:int at:time mean_pct``: without one it is a float."""
    parts = (name.partition(":") for name in names.split())
    return {name: _KINDS.get(kind, kind) or "float64" for name, _, kind in parts}


def typed(rows: Iterable[Any] | pd.DataFrame, kinds: Mapping[str, str]) -> pd.DataFrame:
    """The rows, or the frame's columns of these names, with these types; they are there without rows too."""
    frame = rows[list(kinds)] if isinstance(rows, pd.DataFrame) else pd.DataFrame(rows, columns=list(kinds))
    return frame.astype(dict(kinds))


def instants(ms: Ints) -> pd.Series:
    """Moments out of Unix milliseconds."""
    return pd.Series(ms.astype("datetime64[ms]")).dt.tz_localize("UTC")


def tooltips(*told: tuple[str, ...]) -> list[alt.Tooltip]:
    """A line each out of (field with its type, title, format where it has one)."""
    return [alt.Tooltip(field, title=title, **({"format": form[0]} if form else {})) for field, title, *form in told]


def colored(meanings: Mapping[str, str]) -> alt.Scale:
    """The colors of what has a fixed one."""
    return alt.Scale(domain=list(meanings), range=list(meanings.values()))


def signed(meanings: Mapping[str, tuple[str, str]]) -> tuple[alt.Scale, alt.Scale]:
    """Colors and shapes of what has one of each."""
    colors, shapes = ([look[place] for look in meanings.values()] for place in (0, 1))
    return alt.Scale(domain=list(meanings), range=colors), alt.Scale(domain=list(meanings), range=shapes)


def over_time(field: str) -> alt.X:
    """Hours and minutes, the date at midnight, from the first to the last instant in the data, not rounded outwards; no
    title: the clock explains itself."""
    axis = alt.Axis(title=None, grid=False, labelOverlap=True, tickCount=8, labelExpr=_LABEL)
    return alt.X(f"{field}:T", axis=axis, scale=alt.Scale(nice=False))


def edges(span: Span) -> pd.DataFrame:
    """The two ends of a span, ``edge``."""
    return typed([(edge,) for edge in pd.to_datetime(list(span), utc=True)], columns("edge:time"))


def window(ends: pd.DataFrame) -> alt.Chart:
    """An invisible layer that stretches the time axis over the whole span, so that silence at its end is seen.

    The span is data and not a domain: the specification stays the same while time goes on, and where a part is shown.
    """
    return alt.Chart(ends).mark_point(opacity=0, tooltip=None).encode(x=alt.X("edge:T"))


def clipped(frame: pd.DataFrame, span: Span | None, start: str = "start", end: str = "end") -> pd.DataFrame:
    """The rows that lie in the span, in part at least, without what lies outside of it; all of them for None."""
    if span is None:
        return frame
    first, last = (pd.Timestamp(edge) for edge in span)
    kept = frame[(frame[end] >= first) & (frame[start] <= last)]
    if start == end:
        return kept
    kinds = {start: frame[start].dtype, end: frame[end].dtype}
    return kept.assign(**{start: kept[start].clip(lower=first), end: kept[end].clip(upper=last)}).astype(kinds)


def thinned(frame: pd.DataFrame, most: int) -> pd.DataFrame:
    """At most so many rows, evenly spread, first and last among them."""
    if len(frame) <= most:
        return frame
    return frame.iloc[np.unique(np.linspace(0, len(frame) - 1, most).astype("int64"))]


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


def marked(chart: alt.LayerChart, spans: Sequence[Span], height: int) -> alt.LayerChart:
    """The chart, small, with each span that a finding is about as a framed band; a span without length is a line.

    Over a chart that speaks by its colors the band is a frame alone.
    """
    is_colored = any(isinstance(layer.mark, alt.MarkDef) and layer.mark.type == "rect" for layer in chart.layer)
    band = (
        alt.Chart(typed(spans, columns("from:time to:time")))
        .mark_rect(color=MARKED, fillOpacity=0.0 if is_colored else 0.14, stroke=MARKED, strokeWidth=2, tooltip=None)
        .encode(x=alt.X("from:T"), x2="to:T")
    )
    return alt.layer(*chart.layer, band).properties(height=height)


def threshold_lines(named: dict[str, float], highest: float = 0.0) -> pd.DataFrame:
    """A user's thresholds as rows ``name at above below``, the lowest first.

    The name stands above its line; of lines that lie close together that of the lowest stands below, and those between are
    told by the pointer alone.
    """
    order = sorted(named, key=lambda name: named[name])
    rows = []
    for place, name in enumerate(order):
        near_below = place > 0 and named[name] - named[order[place - 1]] < NEAR * highest
        near_above = place + 1 < len(order) and named[order[place + 1]] - named[name] < NEAR * highest
        rows.append((name, named[name], "" if near_above else name, name if near_above and not near_below else ""))
    return typed(rows, columns("name:str at above:str below:str"))


def with_threshold_lines(chart: alt.LayerChart, drawn: pd.DataFrame, axis: str) -> alt.LayerChart:
    """The chart with a thin line and its name for each row of ``drawn``, on its axis of that title.

    The layers are there without rows too: a threshold that is saved changes the data alone, and the viewer's zoom stays.
    """
    where, told = alt.Y("at:Q", axis=alt.Axis(title=axis)), tooltips(("name:N", "threshold"))
    rule = alt.Chart(drawn).mark_rule(color=THRESHOLD, strokeDash=[5, 3], opacity=0.85).encode(y=where, tooltip=told)
    names = [
        alt.Chart(drawn)
        .mark_text(color=THRESHOLD, align="left", baseline=baseline, dy=dy, fontSize=11)
        .encode(x=alt.value(4), y=where, text=f"{side}:N", tooltip=told)
        for side, baseline, dy in (("above", "bottom", -2), ("below", "top", 3))
    ]
    return alt.layer(*chart.layer, rule, *names).properties(height=chart.height)


_ROW = "_row"


def live(chart: Any) -> tuple[dict[str, Any], dict[str, pd.DataFrame]]:
    """As ``split``, for a page that goes on: marks are kept from one refresh to the next."""
    specification, frames = split(chart)
    return _joined(specification), {name: numbered(frame) for name, frame in frames.items()}


def numbered(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame as the specifications of ``live`` and ``placed`` want it."""
    return frame.assign(**{_ROW: np.arange(len(frame))})


def split(chart: Any) -> tuple[dict[str, Any], dict[str, pd.DataFrame]]:
    """The Vega-Lite specification with named data, and the frame behind each name; the chart is left as it was."""
    frames: dict[str, pd.DataFrame] = {}
    specification = _named(chart, frames).to_dict()
    # Altair's own theme: fonts, sizes and colors belong to the page that shows it.
    specification.pop("config", None)
    return specification, frames


def placed(chart: Any, frames: Sequence[pd.DataFrame]) -> tuple[dict[str, Any], dict[str, int]]:
    """As ``live``, with the place among ``frames`` for each name of data: to be kept, and drawn with other frames.

    What is drawn are the frames ``numbered``.
    """
    specification, named = split(chart)
    places = {id(frame): place for place, frame in enumerate(frames)}
    return _joined(specification), {name: places[id(frame)] for name, frame in named.items()}


def _joined(specification: dict[str, Any]) -> dict[str, Any]:
    """Every mark that is of one row, in all layers and parts, is joined to it by the row's number; nothing is parsed."""
    found: dict[str, Any] = {
        name: [_joined(part) for part in value] if name in ("layer", "hconcat", "vconcat", "concat") else value
        for name, value in specification.items()
    }
    if "name" in found.get("data", {}):
        found["data"] = {**found["data"], "format": {"parse": None}}
    mark = found.get("mark", {})
    # A key parts lines and areas as a color does: each row would be a line of its own.
    if mark and (mark if isinstance(mark, str) else mark["type"]) not in ("line", "area", "trail"):
        found["encoding"] = {**found.get("encoding", {}), "key": {"field": _ROW}}
    return found


def _named(chart: Any, frames: dict[str, pd.DataFrame]) -> Any:
    copy = chart.copy(deep=False)
    if isinstance(copy.data, pd.DataFrame):
        name = next((known for known, frame in frames.items() if frame is copy.data), f"data{len(frames)}")
        frames[name] = copy.data
        copy.data = alt.NamedData(name)
    if isinstance(copy, alt.LayerChart):
        copy.layer = [_named(layer, frames) for layer in copy.layer]
    return copy
