"""How far did the steps get, and when did they stop? For logs that name steps but give no step times."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd

from monitor.charts.time_axis import Span, cut, edges, time_axis, time_scale, window

POINTS = 400


def reached(steps: pd.DataFrame, limit: int = POINTS, within: Span | None = None) -> pd.DataFrame:
    """Rows ``at step``: the step that was last reported by then, at most ``limit`` of them, first and last included."""
    known = steps[steps["step"].notna() & steps["timestamp"].notna()].sort_values("timestamp", kind="stable")
    known = cut(known, within, "timestamp", "timestamp")
    if len(known) > limit:
        known = known.iloc[np.unique(np.linspace(0, len(known) - 1, limit).astype("int64"))]
    return pd.DataFrame({"at": known["timestamp"], "step": known["step"]}).reset_index(drop=True)


def progress_of(points: pd.DataFrame, ends: pd.DataFrame) -> alt.LayerChart:
    """Step number over time; the line ends with the last report, the axis with the time shown."""
    line = (
        alt.Chart(points)
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("at:T", axis=time_axis(), scale=time_scale()),
            y=alt.Y("step:Q", axis=alt.Axis(title="step", tickCount=5, format=",d")),
            tooltip=[
                alt.Tooltip("step:Q", title="step", format=",d"),
                alt.Tooltip("at:T", title="at", format="%d %b %H:%M:%S"),
            ],
        )
    )
    return alt.layer(line, window(ends)).properties(height=220)


def progress(steps: pd.DataFrame, span: Span) -> alt.LayerChart:
    """The progress of all of a job."""
    return progress_of(reached(steps), edges(span))
