"""How do a few figures of several jobs compare? One row per figure, each with its own unit and a scale that starts at
zero.

Places are worked out here, from 0 to 1 along a row, so that no row shares an axis with another; the ends of each scale are
written below it. The signs of the jobs are joined, the outer two named with their values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import pandas as pd

from monitor.charts.colours import JOBS, NO_DATA, NO_DATA_OPACITY, WORDS

_STEPS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
# Room for the words at both ends, in widths of a scale.
_ROOM = 0.2
_ROW_PX = 46
_SIGN_DTYPES = {"order": "int64", "figure": "str", "job": "str", "at": "float64", "value": "str"}
_WORD_DTYPES = {"order": "int64", "figure": "str", "at": "float64", "words": "str", "side": "str"}
_SCALE_DTYPES = {
    "order": "int64",
    "figure": "str",
    "from": "float64",
    "to": "float64",
    "low": "float64",
    "high": "float64",
    "zero": "str",
    "top": "str",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: its value in each job, None where it is not known, and the end of its scale."""

    title: str
    values: tuple[float | None, ...]
    written: tuple[str, ...]
    top: float
    top_written: str


def top_of(values: Sequence[float]) -> float:
    """A round number that no value is beyond."""
    largest = max(values)
    if largest <= 0:
        return 1.0
    unit = 10.0 ** math.floor(math.log10(largest))
    return float(next(step * unit for step in _STEPS if step * unit >= largest * (1 - 1e-9)))


def signs(rows: Sequence[Row], letters: Sequence[str]) -> pd.DataFrame:
    """One row a figure and job that has it."""
    found = [
        (order, row.title, letter, value / row.top, text)
        for order, row in enumerate(rows)
        for letter, value, text in zip(letters, row.values, row.written, strict=True)
        if value is not None
    ]
    return pd.DataFrame(found, columns=list(_SIGN_DTYPES)).astype(_SIGN_DTYPES)


def words(rows: Sequence[Row], letters: Sequence[str]) -> pd.DataFrame:
    """What stands left of the lowest sign of a row and right of the highest."""
    found = []
    for order, row in enumerate(rows):
        known = [
            (value / row.top, f"{letter} {text}")
            for letter, value, text in zip(letters, row.values, row.written, strict=True)
            if value is not None
        ]
        # Equal values stand in the order of the jobs.
        known.sort(key=lambda each: each[0])
        if len(known) > 1:
            found.append((order, row.title, *known[0], "left"))
        if known:
            found.append((order, row.title, *known[-1], "right"))
    return pd.DataFrame(found, columns=list(_WORD_DTYPES)).astype(_WORD_DTYPES)


def scales(rows: Sequence[Row]) -> pd.DataFrame:
    """One row a figure: its scale, and the span between its lowest and its highest value."""
    found = []
    for order, row in enumerate(rows):
        known = [value / row.top for value in row.values if value is not None]
        found.append((order, row.title, 0.0, 1.0, min(known), max(known), "0", row.top_written))
    return pd.DataFrame(found, columns=list(_SCALE_DTYPES)).astype(_SCALE_DTYPES)


def dumbbells(signs: pd.DataFrame, words: pd.DataFrame, scales: pd.DataFrame) -> alt.LayerChart:
    """All rows below each other."""
    names = list(JOBS)
    y = alt.Y(
        "figure:N",
        sort=alt.EncodingSortField("order", op="min"),
        axis=alt.Axis(title=None, domain=False, ticks=False, grid=False, labelLimit=190, labelPadding=4),
    )
    place = alt.Scale(domain=[-_ROOM, 1 + _ROOM], nice=False)

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", axis=None, scale=place)

    on_scale = alt.Chart(scales).encode(y=y)
    track = on_scale.mark_rule(strokeWidth=2, color=NO_DATA, opacity=NO_DATA_OPACITY).encode(x=x("from"), x2="to:Q")
    ends = [
        on_scale.mark_text(fontSize=10, dy=13, color=WORDS, align=align).encode(x=x(at), text=f"{text}:N")
        for at, text, align in (("from", "zero", "left"), ("to", "top", "right"))
    ]
    span = on_scale.mark_rule(strokeWidth=5, color=NO_DATA, opacity=0.65).encode(x=x("low"), x2="high:Q")
    looks = alt.Scale(domain=names, range=[colour for colour, _ in JOBS.values()])
    shapes = alt.Scale(domain=names, range=[shape for _, shape in JOBS.values()])
    marks = (
        alt.Chart(signs)
        .mark_point(filled=True, size=130, opacity=1, stroke="white", strokeWidth=1)
        .encode(
            x=x("at"),
            y=y,
            color=alt.Color("job:N", scale=looks, legend=None),
            shape=alt.Shape("job:N", scale=shapes, legend=None),
            tooltip=[
                alt.Tooltip("figure:N", title="figure"),
                alt.Tooltip("job:N", title="job"),
                alt.Tooltip("value:N", title="value"),
            ],
        )
    )
    said = [
        alt.Chart(words)
        .transform_filter(alt.datum.side == side)
        .mark_text(align=align, dx=dx, dy=-11, fontSize=12, color=WORDS)
        .encode(x=x("at"), y=y, text="words:N")
        for side, align, dx in (("left", "right", -5), ("right", "left", 5))
    ]
    return alt.layer(track, *ends, span, marks, *said).properties(height=alt.Step(_ROW_PX))
