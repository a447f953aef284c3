"""Where do a user's thresholds lie in a chart? A thin line each, across it, with its name."""

from __future__ import annotations

import altair as alt
import pandas as pd

from monitor.charts.colours import THRESHOLD

_DTYPES = {"name": "str", "at": "float64"}


def lines(named: dict[str, float]) -> pd.DataFrame:
    """Rows ``name at``; none where there is no threshold."""
    return pd.DataFrame({"name": list(named), "at": list(named.values())}).astype(_DTYPES)


def with_lines(chart: alt.LayerChart, drawn: pd.DataFrame, axis: str) -> alt.LayerChart:
    """The chart with a line and a name for each row of ``drawn``, on its axis of that title.

    The layers are there without rows too: a threshold that is saved changes the data alone, and the viewer's zoom stays.
    """
    where = alt.Y("at:Q", axis=alt.Axis(title=axis))
    told = [alt.Tooltip("name:N", title="threshold")]
    rule = alt.Chart(drawn).mark_rule(color=THRESHOLD, strokeDash=[5, 3], opacity=0.85).encode(y=where, tooltip=told)
    name = (
        alt.Chart(drawn)
        .mark_text(color=THRESHOLD, align="left", baseline="bottom", dy=-2, fontSize=11)
        .encode(x=alt.value(4), y=where, text="name:N", tooltip=told)
    )
    return alt.layer(*chart.layer, rule, name).properties(height=chart.height)
