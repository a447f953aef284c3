"""A fleet's hours: waste by owner and use as ranked bars, and the uses week by week."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from monitor.charts.elements import colored, tooltips

#: Use -> color: apart in lightness as well as in hue; what bought nothing is warm, what is unknown is gray. What bought
#: nothing stands at the axis, so that bars can be compared by it.
USES = {
    "failed": "#b3362b",
    "lost": "#dd8a3e",
    "idle": "#8a62b5",
    "waiting": "#e3b23c",
    "unknown": "#bcc2ca",
    "trained": "#3b7fc4",
}
ROW_PX = 30
WEEKS_PX = 200
_ORDER = list(USES)


def owners_frame(rows: Sequence[tuple[str, str, float, float]]) -> pd.DataFrame:
    """(owner, use, amount, GPU-hours) of each, as the frame of ``owners_bars``."""
    frame = pd.DataFrame(rows, columns=["owner", "use", "amount", "gpu_hours"])
    frame["place"] = [_ORDER.index(use) for use in frame["use"]]
    return frame


def owners_bars(frame: pd.DataFrame, order: Sequence[str], title: str, around_px: int = 0) -> alt.Chart:
    """A bar an owner, in the order given, divided by use; all of them are the bill. ``around_px`` is for legend and axis,
    where the height of a chart is that of all of it."""
    return (
        alt.Chart(frame, height=ROW_PX * max(1, len(order)) + 4 + around_px)
        .mark_bar()
        .encode(
            x=alt.X("sum(amount):Q", title=title, axis=alt.Axis(tickCount=5, grid=True)),
            y=alt.Y(
                "owner:N",
                sort=list(order),
                title=None,
                scale=alt.Scale(paddingInner=0.35, paddingOuter=0.2),
                axis=alt.Axis(labelLimit=180, ticks=False, domain=False),
            ),
            color=_color(),
            order=alt.Order("place:Q"),
            tooltip=[
                alt.Tooltip("owner:N"),
                alt.Tooltip("use:N"),
                *tooltips(("sum(amount):Q", title, ",.2f"), ("sum(gpu_hours):Q", "GPU-hours", ",.1f")),
            ],
        )
    )


def weeks_frame(rows: Sequence[tuple[str, str, float]]) -> pd.DataFrame:
    """(week, use, amount) as the frame of ``weeks_bars``."""
    frame = pd.DataFrame(rows, columns=["week", "use", "amount"])
    frame["place"] = [_ORDER.index(use) for use in frame["use"]]
    return frame


def weeks_bars(frame: pd.DataFrame, title: str) -> alt.Chart:
    """A column a week, divided by use."""
    return (
        alt.Chart(frame, height=WEEKS_PX)
        .mark_bar()
        .encode(
            x=alt.X("week:O", title=None, axis=alt.Axis(labelAngle=0, labelOverlap=True)),
            y=alt.Y("sum(amount):Q", title=title, axis=alt.Axis(tickCount=4)),
            color=_color(columns=3),
            order=alt.Order("place:Q"),
            tooltip=[alt.Tooltip("week:O"), alt.Tooltip("use:N"), *tooltips(("sum(amount):Q", title, ",.2f"))],
        )
    )


def _color(columns: int = 6) -> alt.Color:
    return alt.Color("use:N", scale=colored(USES), title=None, legend=alt.Legend(orient="top", columns=columns))
