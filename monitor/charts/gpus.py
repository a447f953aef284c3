"""The GPUs of one node: a heatmap GPU x the minutes that were read, and what they do within a step."""

from __future__ import annotations

import altair as alt
import pandas as pd

from monitor.charts.elements import PERCENT_TICKS, columns, tooltips, typed
from monitor.charts.utilization import PERCENT, PERCENT_LEGEND

#: Of a row, pixels.
ROW_PX = 26
STEP_HEIGHT_PX = 220
_CHROME_PX = 92
_CELLS = columns("gpu:str number:int at:str minute:time mean_pct low_pct high_pct memory_pct samples:int")


def minute_cells(gpus: pd.DataFrame, days: bool, zone: object) -> pd.DataFrame:
    """A row a GPU of the node and minute that was read: ``gpu number at minute mean_pct low_pct high_pct memory_pct samples``.

    ``gpus`` is the Gpus frame of one node; ``days``: the minutes are named with their day.
    """
    if gpus.empty:
        return typed([], _CELLS)
    found = gpus.assign(minute=gpus["timestamp"].dt.floor("min")).groupby(["gpu", "minute"])
    busy = found["utilization_pct"]
    cells = pd.DataFrame(
        {
            "mean_pct": busy.mean(),
            "low_pct": busy.min(),
            "high_pct": busy.max(),
            "memory_pct": found["memory_pct"].max(),
            "samples": found.size(),
        }
    ).reset_index()
    local = cells["minute"].dt.tz_convert(zone)
    cells = cells.assign(
        number=cells["gpu"],
        gpu="GPU " + cells["gpu"].astype("str"),
        at=local.dt.strftime("%d %b %H:%M" if days else "%H:%M"),
    )
    return typed(cells, _CELLS)


def gpu_heatmap(cells: pd.DataFrame) -> alt.Chart:
    """GPU x minute, color 0-100 %; a column is one minute that was read, whatever lies between it and the next."""
    return (
        alt.Chart(cells)
        .mark_rect()
        .encode(
            x=alt.X(
                "at:O",
                sort=alt.EncodingSortField("minute", op="min"),
                scale=alt.Scale(paddingInner=0.04),
                axis=alt.Axis(title=None, labelAngle=0, labelOverlap="greedy", ticks=False, domain=False),
            ),
            y=alt.Y(
                "gpu:N",
                sort=alt.EncodingSortField("number", op="min"),
                scale=alt.Scale(paddingInner=0.08),
                axis=alt.Axis(title=None, ticks=False, domain=False),
            ),
            color=alt.Color("mean_pct:Q", scale=PERCENT, legend=PERCENT_LEGEND),
            tooltip=tooltips(
                ("gpu:N", "GPU"),
                ("at:N", "minute"),
                ("mean_pct:Q", "mean %", ".0f"),
                ("low_pct:Q", "lowest %", ".0f"),
                ("high_pct:Q", "highest %", ".0f"),
                ("memory_pct:Q", "memory, highest %", ".0f"),
                ("samples:Q", "samples"),
            ),
        )
        .properties(height=ROW_PX * max(1, int(cells["gpu"].nunique())) + _CHROME_PX)
    )


def closed(pieces: pd.DataFrame) -> pd.DataFrame:
    """The pieces of a step as ``anatomy`` draws them: a line of steps needs the end of its last piece."""
    last = pieces.tail(1)
    return pd.concat([pieces, last.assign(begin_s=last["end_s"])], ignore_index=True)


def anatomy(drawn: pd.DataFrame) -> alt.LayerChart:
    """GPU use within a step: the mean as a line of steps, and the range of eight samples in ten."""
    percent = alt.Axis(title="GPU, %", values=PERCENT_TICKS)
    base = alt.Chart(drawn).encode(
        x=alt.X(
            "begin_s:Q",
            title="seconds of the step",
            scale=alt.Scale(nice=False, zero=True),
            axis=alt.Axis(grid=False, format="~g"),
        )
    )
    band = base.mark_area(opacity=0.2, interpolate="step-after").encode(
        y=alt.Y("low_pct:Q", scale=PERCENT, axis=percent), y2=alt.Y2("high_pct:Q")
    )
    mean = base.mark_line(interpolate="step-after").encode(
        y=alt.Y("mean_pct:Q", scale=PERCENT, axis=percent),
        tooltip=tooltips(
            ("begin_s:Q", "from, s", ".2f"),
            ("end_s:Q", "to, s", ".2f"),
            ("mean_pct:Q", "mean %", ".0f"),
            ("low_pct:Q", "p10 %", ".0f"),
            ("high_pct:Q", "p90 %", ".0f"),
            ("samples:Q", "samples"),
        ),
    )
    return alt.layer(band, mean).properties(height=STEP_HEIGHT_PX)
