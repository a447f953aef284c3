"""Where do a user's thresholds lie in a chart? A thin line each, across it, with its name."""

from __future__ import annotations

import altair as alt
import pandas as pd

from monitor.charts.colours import THRESHOLD

#: Lines nearer than this share of the highest value would write their names over one another.
NEAR = 0.09
_DTYPES = {"name": "str", "at": "float64", "above": "str", "below": "str"}


def lines(named: dict[str, float], highest: float = 0.0) -> pd.DataFrame:
    """Rows ``name at above below``, the lowest first; none where there is no threshold.

    The name stands above its line; of lines that lie close together that of the lowest stands below, and those between are
    told by the pointer alone.
    """
    order = sorted(named, key=lambda name: named[name])
    rows = []
    for place, name in enumerate(order):
        near_below = place > 0 and named[name] - named[order[place - 1]] < NEAR * highest
        near_above = place + 1 < len(order) and named[order[place + 1]] - named[name] < NEAR * highest
        rows.append((name, named[name], "" if near_above else name, name if near_above and not near_below else ""))
    return pd.DataFrame(rows, columns=list(_DTYPES)).astype(_DTYPES)


def with_lines(chart: alt.LayerChart, drawn: pd.DataFrame, axis: str) -> alt.LayerChart:
    """The chart with a line and its name for each row of ``drawn``, on its axis of that title.

    The layers are there without rows too: a threshold that is saved changes the data alone, and the viewer's zoom stays.
    """
    where = alt.Y("at:Q", axis=alt.Axis(title=axis))
    told = [alt.Tooltip("name:N", title="threshold")]
    rule = alt.Chart(drawn).mark_rule(color=THRESHOLD, strokeDash=[5, 3], opacity=0.85).encode(y=where, tooltip=told)
    names = [
        alt.Chart(drawn)
        .mark_text(color=THRESHOLD, align="left", baseline=baseline, dy=dy, fontSize=11)
        .encode(x=alt.value(4), y=where, text=f"{side}:N", tooltip=told)
        for side, baseline, dy in (("above", "bottom", -2), ("below", "top", 3))
    ]
    return alt.layer(*chart.layer, rule, *names).properties(height=chart.height)
