"""Did a prediction hold? Its range above the measured interval, on one axis of percent with zero marked."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from monitor.charts.colours import FORETOLD, WORDS

Range = tuple[float, float, float]
_DTYPES = {
    "order": "int64",
    "row": "str",
    "kind": "str",
    "low_pct": "float64",
    "middle_pct": "float64",
    "high_pct": "float64",
    "words": "str",
}


def ranges(found: Sequence[tuple[str, Range, str, Range | None, str]]) -> pd.DataFrame:
    """Two rows a pair out of (job's letter, predicted, in words, measured, in words); one where nothing was measured."""
    rows: list[tuple[int, str, str, float, float, float, str]] = []
    for letter, predicted, said, measured, beside in found:
        rows.append((len(rows), f"{letter} predicted", "predicted", *predicted, said))
        if measured is not None:
            rows.append((len(rows), f"{letter} measured", "measured", *measured, beside))
    return pd.DataFrame(rows, columns=list(_DTYPES)).astype(_DTYPES)


def zero() -> pd.DataFrame:
    """Where nothing changes."""
    return pd.DataFrame({"at_pct": [0.0]})


def foretold(ranges: pd.DataFrame, zero: pd.DataFrame) -> alt.LayerChart:
    """A bar from low to high with a sign at the middle, its words above it."""
    names = list(FORETOLD)
    y = alt.Y(
        "row:N",
        sort=alt.EncodingSortField("order", op="min"),
        axis=alt.Axis(title=None, domain=False, ticks=False, grid=False, labelLimit=190, labelPadding=4),
    )
    axis = alt.Axis(title="change of step time for the same samples, %", tickCount=6)
    span = alt.X("low_pct:Q", axis=axis, scale=alt.Scale(zero=True))
    colour = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=names, range=[colour for colour, _ in FORETOLD.values()]),
        legend=None,
    )
    rows = alt.Chart(ranges).encode(y=y)
    tooltip = [
        alt.Tooltip("row:N", title="job"),
        alt.Tooltip("low_pct:Q", title="low, %", format="+.1f"),
        alt.Tooltip("middle_pct:Q", title="middle, %", format="+.1f"),
        alt.Tooltip("high_pct:Q", title="high, %", format="+.1f"),
    ]
    bars = rows.mark_rule(strokeWidth=10, opacity=0.4).encode(x=span, x2="high_pct:Q", color=colour, tooltip=tooltip)
    signs = rows.mark_point(filled=True, size=110, opacity=1, stroke="white", strokeWidth=1).encode(
        x=alt.X("middle_pct:Q"),
        color=colour,
        shape=alt.Shape(
            "kind:N", scale=alt.Scale(domain=names, range=[shape for _, shape in FORETOLD.values()]), legend=None
        ),
        tooltip=tooltip,
    )
    nothing = alt.Chart(zero).mark_rule(color=WORDS, strokeDash=[3, 3]).encode(x=alt.X("at_pct:Q"))
    said = rows.mark_text(dy=-13, fontSize=12, color=WORDS, align="left").encode(x=alt.value(2), text="words:N")
    return alt.layer(nothing, bars, signs, said).properties(height=alt.Step(42))
