"""The charts of jobs held against each other: their figures, the distributions of their step times, and what was predicted.

Places along a row of figures are worked out here, from 0 to 1, so that no row shares an axis with another; the ends of each
scale are written below it. The signs of the jobs are joined, the outer two named with their values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import numpy as np
import pandas as pd

from monitor.charts.colors import JOBS, NO_DATA, NO_DATA_OPACITY, PREDICTION, WORDS
from monitor.charts.elements import BY_ORDER, PERCENT_TICKS, Floats, columns, signed, tooltips, typed

_STEPS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
# Room for the words at both ends, in widths of a scale.
_ROOM = 0.2
_ROW_PX = 46
_ROWS_AXIS = alt.Axis(title=None, domain=False, ticks=False, grid=False, labelLimit=190, labelPadding=4)


@dataclass(frozen=True, slots=True)
class FigureRow:
    """One figure: its value in each job, None where it is not known, and the end of its scale."""

    title: str
    values: tuple[float | None, ...]
    written: tuple[str, ...]
    top: float
    top_written: str

    def known_values(self, letters: Sequence[str]) -> list[tuple[str, float, str]]:
        """(letter of the job, place along the row, its value in words) of the jobs that have the figure."""
        each = zip(letters, self.values, self.written, strict=True)
        return [(letter, value / self.top, text) for letter, value, text in each if value is not None]


def round_top(values: Sequence[float]) -> float:
    """A round number that no value is beyond."""
    largest = max(values)
    if largest <= 0:
        return 1.0
    unit = 10.0 ** math.floor(math.log10(largest))
    return float(next(step * unit for step in _STEPS if step * unit >= largest * (1 - 1e-9)))


def figure_signs(rows: Sequence[FigureRow], letters: Sequence[str]) -> pd.DataFrame:
    """One row a figure and job that has it."""
    found = [(order, row.title, *sign) for order, row in enumerate(rows) for sign in row.known_values(letters)]
    return typed(found, columns("order:int figure:str job:str at value:str"))


def figure_words(rows: Sequence[FigureRow], letters: Sequence[str]) -> pd.DataFrame:
    """What stands left of the lowest sign of a row and right of the highest."""
    found = []
    for order, row in enumerate(rows):
        # Equal values stand in the order of the jobs.
        known = sorted(row.known_values(letters), key=lambda each: each[1])
        sides = [(known[0], "left")] if len(known) > 1 else []
        sides += [(known[-1], "right")] if known else []
        found += [(order, row.title, at, f"{letter} {text}", side) for (letter, at, text), side in sides]
    return typed(found, columns("order:int figure:str at words:str side:str"))


def figure_scales(rows: Sequence[FigureRow]) -> pd.DataFrame:
    """One row a figure: its scale, and the span between its lowest and its highest value."""
    found = []
    for order, row in enumerate(rows):
        known = [value / row.top for value in row.values if value is not None]
        found.append((order, row.title, 0.0, 1.0, min(known), max(known), "0", row.top_written))
    return typed(found, columns("order:int figure:str from to low high zero:str top:str"))


def dumbbells(signs: pd.DataFrame, words: pd.DataFrame, scales: pd.DataFrame) -> alt.LayerChart:
    """All rows of figures below each other."""
    y = alt.Y("figure:N", sort=BY_ORDER, axis=_ROWS_AXIS)
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
    colors, shapes = signed(JOBS)
    marks = (
        alt.Chart(signs)
        .mark_point(filled=True, size=130, opacity=1, stroke="white", strokeWidth=1)
        .encode(
            x=x("at"),
            y=y,
            color=alt.Color("job:N", scale=colors, legend=None),
            shape=alt.Shape("job:N", scale=shapes, legend=None),
            tooltip=tooltips(("figure:N", "figure"), ("job:N", "job"), ("value:N", "value")),
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


#: Points of a curve at most.
MOST_POINTS = 1_000
# The axis ends this much after the slowest hundredth, in parts of the width before it.
_BEYOND = 0.15


@dataclass(frozen=True, slots=True)
class Times:
    """The step times of one job; its label begins with its letter."""

    letter: str
    label: str
    seconds: Floats


def until_s(jobs: Sequence[Times]) -> float:
    """Where the axis ends: steps far beyond the others would press all curves into a corner. What lies beyond is counted, not
    drawn."""
    longest = max(float(each.seconds.max()) for each in jobs)
    slow = max(float(np.quantile(each.seconds, 0.99)) for each in jobs)
    fast = min(float(each.seconds.min()) for each in jobs)
    return min(longest, slow + _BEYOND * (slow - fast))


def beyond(jobs: Sequence[Times]) -> list[int]:
    """How many times of each job lie beyond the axis."""
    end = until_s(jobs)
    return [int((each.seconds > end).sum()) for each in jobs]


def ecdf_curves(jobs: Sequence[Times]) -> pd.DataFrame:
    """Rows ``job seconds share_pct``, each job from 0 % on, up to the end of the axis."""
    end, frames = until_s(jobs), []
    for each in jobs:
        seconds = np.sort(each.seconds)
        share = 100 * np.arange(1, len(seconds) + 1) / len(seconds)
        if len(seconds) > MOST_POINTS:
            kept = np.unique(np.linspace(0, len(seconds) - 1, MOST_POINTS).round().astype(int))
            seconds, share = seconds[kept], share[kept]
        drawn = seconds <= end
        seconds, share = seconds[drawn], share[drawn]
        # From nothing at its fastest step to what it has reached where the axis ends.
        along = {
            "seconds": [*seconds[:1], *seconds, end],
            "share_pct": [0.0, *share, *share[-1:]] if len(share) else [0.0],
        }
        frames.append(pd.DataFrame({"job": each.label, **along}))
    return typed(pd.concat(frames).reset_index(drop=True), columns("job:str seconds share_pct"))


def ecdf_medians(jobs: Sequence[Times]) -> pd.DataFrame:
    """One row a job: where its curve crosses 50 %."""
    rows = [(each.label, each.letter, float(np.median(each.seconds)), 50.0, 0.0) for each in jobs]
    return typed(rows, columns("job:str letter:str seconds share_pct zero"))


def ecdf(curves: pd.DataFrame, medians: pd.DataFrame, labels: Sequence[str], what: str) -> alt.LayerChart:
    """The share of steps up to each step time, a step curve a job on one axis; at its median a rule down to the axis, a sign
    and the job's letter. ``what`` is the time of."""
    looks = dict(zip(labels, JOBS.values(), strict=False))
    legend = alt.Legend(title=None, orient="top", columns=2, labelLimit=330, symbolSize=110, symbolStrokeWidth=0)
    colors, shapes = signed(looks)
    named = alt.Color("job:N", scale=colors, legend=legend)
    x = alt.X("seconds:Q", axis=alt.Axis(title=f"{what}, s", tickCount=6), scale=alt.Scale(zero=False, nice=False))
    axis = alt.Axis(title="share of steps, %", values=PERCENT_TICKS)
    y = alt.Y("share_pct:Q", axis=axis, scale=alt.Scale(domain=[0, 100]))
    told = tooltips(
        ("job:N", "job"), ("seconds:Q", f"{what}, s", ".4g"), ("share_pct:Q", "cumulative share of steps, %", ".1f")
    )
    lines = (
        alt.Chart(curves)
        .mark_line(interpolate="step-after", strokeWidth=2, strokeJoin="round")
        .encode(x=x, y=y, color=named, order="share_pct:Q", tooltip=told)
    )
    at = alt.Chart(medians).encode(x=x)
    rules = at.mark_rule(strokeDash=[3, 3], strokeWidth=1.5).encode(y=alt.Y("zero:Q"), y2="share_pct:Q", color=named)
    signs = at.mark_point(filled=True, size=110, opacity=1, stroke="white", strokeWidth=1).encode(
        y=y,
        color=named,
        shape=alt.Shape("job:N", scale=shapes, legend=legend),
        tooltip=tooltips(("job:N", "job"), ("seconds:Q", f"median {what}, s", ".4g")),
    )
    letters = at.mark_text(align="right", dx=-9, dy=-9, fontSize=13, fontWeight="bold", color=WORDS)
    return alt.layer(lines, rules, signs, letters.encode(y=y, text="letter:N")).properties(height=280)


@dataclass(frozen=True, slots=True)
class PredictionRow:
    """A job's predicted change of step time and the measured one, None where none was, as (low, middle, high) percent and in
    words."""

    letter: str
    predicted_pct: tuple[float, float, float]
    predicted_words: str
    measured_pct: tuple[float, float, float] | None
    measured_words: str


def prediction_ranges(found: Sequence[PredictionRow]) -> pd.DataFrame:
    """Two rows a job, predicted and measured; one where nothing was measured."""
    rows: list[tuple[int, str, str, float, float, float, str]] = []
    for each in found:
        rows.append((len(rows), f"{each.letter} predicted", "predicted", *each.predicted_pct, each.predicted_words))
        if each.measured_pct is not None:
            rows.append((len(rows), f"{each.letter} measured", "measured", *each.measured_pct, each.measured_words))
    return typed(rows, columns("order:int row:str kind:str low_pct middle_pct high_pct words:str"))


def zero() -> pd.DataFrame:
    """Where nothing changes."""
    return pd.DataFrame({"at_pct": [0.0]})


def prediction(ranges: pd.DataFrame, zero: pd.DataFrame) -> alt.LayerChart:
    """The predicted range above the measured interval, on one axis of percent with zero marked: a bar from low to high with a
    sign at the middle, its words above it."""
    axis = alt.Axis(title="change of step time for the same samples, %", tickCount=6)
    colors, shapes = signed(PREDICTION)
    color = alt.Color("kind:N", scale=colors, legend=None)
    told = tooltips(
        ("row:N", "job"),
        ("low_pct:Q", "low, %", "+.1f"),
        ("middle_pct:Q", "middle, %", "+.1f"),
        ("high_pct:Q", "high, %", "+.1f"),
    )
    rows = alt.Chart(ranges).encode(y=alt.Y("row:N", sort=BY_ORDER, axis=_ROWS_AXIS))
    bars = rows.mark_rule(strokeWidth=10, opacity=0.4).encode(
        x=alt.X("low_pct:Q", axis=axis, scale=alt.Scale(zero=True)), x2="high_pct:Q", color=color, tooltip=told
    )
    signs = rows.mark_point(filled=True, size=110, opacity=1, stroke="white", strokeWidth=1).encode(
        x=alt.X("middle_pct:Q"), color=color, shape=alt.Shape("kind:N", scale=shapes, legend=None), tooltip=told
    )
    nothing = alt.Chart(zero).mark_rule(color=WORDS, strokeDash=[3, 3]).encode(x=alt.X("at_pct:Q"))
    said = rows.mark_text(dy=-13, fontSize=12, color=WORDS, align="left").encode(x=alt.value(2), text="words:N")
    return alt.layer(nothing, bars, signs, said).properties(height=alt.Step(42))
