"""How do step time and memory depend on one parameter? A curve each, one below the other; a flat one means no effect.

Start, change and advice are marked by shape and color. Step time is percent of the start's and begins at zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import altair as alt
import pandas as pd

from monitor.charts.colours import CURVE_MARKS, LIMIT

Mark = Literal["start", "change", "advised"]
_POINT_DTYPES = {
    "order": "int64",
    "label": "str",
    "time_pct": "float64",
    "low_pct": "float64",
    "high_pct": "float64",
    "memory_gib": "float64",
}
_MARK_DTYPES = {"mark": "str", "label": "str", "order": "int64", "time_pct": "float64", "memory_gib": "float64"}
# Both charts have their left edges in one line.
_MARGIN_PX = 44


@dataclass(frozen=True, slots=True)
class At:
    """A marked point: the value of the parameter there, and what is known of step time and memory."""

    mark: Mark
    value: Any
    time_relative: float | None
    memory_gib: float | None


def label_of(value: Any) -> str:
    """How a value is written at the axis."""
    return ("off", "on")[value] if isinstance(value, bool) else f"{value:,}" if isinstance(value, int) else str(value)


def points(values: Sequence[tuple[Any, float | None, float | None, float | None, float | None]]) -> pd.DataFrame:
    """Rows ``order label time_pct low_pct high_pct memory_gib`` out of (value, middle, low, high, memory) in order."""
    rows = [
        (place, label_of(value), *(None if each is None else 100 * each for each in times), memory)
        for place, (value, *times, memory) in enumerate(values)
    ]
    return pd.DataFrame(rows, columns=list(_POINT_DTYPES)).astype(_POINT_DTYPES)


def marks(shown: pd.DataFrame, marked: Sequence[At]) -> pd.DataFrame:
    """The marks whose value is on the curve; the advised one first, since the others lie on it where they meet."""
    order = dict(zip(shown["label"], shown["order"], strict=True))
    rows = [
        (
            at.mark,
            label,
            order[label],
            None if at.time_relative is None else 100 * at.time_relative,
            at.memory_gib,
        )
        for at in sorted(marked, key=lambda at: at.mark != "advised")
        if (label := label_of(at.value)) in order
    ]
    return pd.DataFrame(rows, columns=list(_MARK_DTYPES)).astype(_MARK_DTYPES)


def limits(limit_gib: float | None) -> pd.DataFrame:
    """The memory of the device, ``limit_gib``: one row, or none."""
    return pd.DataFrame({"limit_gib": [] if limit_gib is None else [limit_gib]}, dtype="float64")


def step_time_curve(shown: pd.DataFrame, marked: pd.DataFrame, knob: str) -> alt.LayerChart:
    """The middle as a line, its range as a band."""
    percent = alt.Axis(
        title="step time, % of the starting point", tickCount=5, minExtent=_MARGIN_PX, maxExtent=_MARGIN_PX
    )
    # The chart of the memory below has the same axis, with its labels.
    x = _along(knob, None)
    base = alt.Chart(shown).encode(x=x)
    band = base.mark_area(opacity=0.22).encode(
        y=alt.Y("low_pct:Q", axis=percent, scale=alt.Scale(zero=True)), y2=alt.Y2("high_pct:Q")
    )
    line = base.mark_line(point=alt.OverlayMarkDef(size=22)).encode(
        y=alt.Y("time_pct:Q", axis=percent),
        tooltip=[
            alt.Tooltip("label:N", title=knob),
            alt.Tooltip("time_pct:Q", title="step time, %", format=".1f"),
            alt.Tooltip("low_pct:Q", title="range from, %", format=".1f"),
            alt.Tooltip("high_pct:Q", title="range to, %", format=".1f"),
        ],
    )
    signs = _signs(marked, alt.Y("time_pct:Q", axis=percent), x, "step time, %")
    return alt.layer(band, line, *signs).properties(height=240)


def memory_curve(shown: pd.DataFrame, marked: pd.DataFrame, knob: str, limit: pd.DataFrame) -> alt.LayerChart:
    """GiB of the fullest GPU, with the device's memory as a line."""
    gib = alt.Y(
        "memory_gib:Q",
        axis=alt.Axis(title="memory, GiB", tickCount=3, minExtent=_MARGIN_PX, maxExtent=_MARGIN_PX),
        scale=alt.Scale(zero=True),
    )
    x = _along(knob, knob)
    line = (
        alt.Chart(shown)
        .mark_line(point=alt.OverlayMarkDef(size=22))
        .encode(
            x=x,
            y=gib,
            tooltip=[
                alt.Tooltip("label:N", title=knob),
                alt.Tooltip("memory_gib:Q", title="GPU memory, GiB", format=".1f"),
            ],
        )
    )
    rule = (
        alt.Chart(limit)
        .mark_rule(color=LIMIT, strokeWidth=1.5)
        .encode(y="limit_gib:Q", tooltip=[alt.Tooltip("limit_gib:Q", title="memory of the GPU, GiB", format=",.0f")])
    )
    signs = _signs(marked, gib, x, "GPU memory, GiB", legend=False)
    return alt.layer(line, rule, *signs).properties(height=160)


def _along(knob: str, title: str | None) -> alt.X:
    return alt.X(
        "label:N",
        sort=alt.EncodingSortField("order", op="min"),
        axis=alt.Axis(title=title, labelAngle=0, grid=False),
        scale=alt.Scale(type="point", padding=0.4),
    )


def _signs(marked: pd.DataFrame, y: alt.Y, x: alt.X, what: str, legend: bool = True) -> list[alt.Chart]:
    """Shape and color say the same; the advised point lies below the others, and is larger."""
    names = list(CURVE_MARKS)
    colours, shapes = ([look[place] for look in CURVE_MARKS.values()] for place in (0, 1))
    shown = alt.Legend(title=None, orient="top", symbolSize=110, symbolStrokeWidth=0) if legend else None
    # In their order: what comes later lies on top.
    return [
        alt.Chart(marked)
        .mark_point(filled=True, opacity=1, stroke="white", strokeWidth=1)
        .encode(
            x=x,
            y=y,
            color=alt.Color("mark:N", scale=alt.Scale(domain=names, range=colours), legend=shown),
            shape=alt.Shape("mark:N", scale=alt.Scale(domain=names, range=shapes), legend=shown),
            size=alt.condition(alt.datum.mark == "advised", alt.value(360), alt.value(120)),
            tooltip=[
                alt.Tooltip("mark:N", title="point"),
                alt.Tooltip("label:N", title="value"),
                alt.Tooltip(f"{y.shorthand.partition(':')[0]}:Q", title=what, format=".1f"),
            ],
        )
    ]
