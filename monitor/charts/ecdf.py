"""How are the step times of several jobs distributed? One curve per job on one axis: the share of steps up to each
step time.

Steps far beyond the others would press all curves into a corner, so the axis ends a little after the slowest hundredth;
what lies beyond is counted, not drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from monitor.charts.colours import JOBS, WORDS

#: Points of a curve at most.
MOST_POINTS = 1_000
# The axis ends this much after the slowest hundredth, in parts of the width before it.
_ROOM = 0.15
_DTYPES = {"job": "str", "seconds": "float64", "share_pct": "float64"}
_MEDIAN_DTYPES = {"job": "str", "letter": "str", "seconds": "float64", "share_pct": "float64", "zero": "float64"}


@dataclass(frozen=True, slots=True)
class Times:
    """The step times of one job; its label begins with its letter."""

    letter: str
    label: str
    seconds: NDArray[np.float64]


def until_s(jobs: Sequence[Times]) -> float:
    """Where the axis ends."""
    longest = max(float(each.seconds.max()) for each in jobs)
    slow = max(float(np.quantile(each.seconds, 0.99)) for each in jobs)
    fast = min(float(each.seconds.min()) for each in jobs)
    return min(longest, slow + _ROOM * (slow - fast))


def beyond(jobs: Sequence[Times]) -> list[int]:
    """How many times of each job lie beyond the axis."""
    end = until_s(jobs)
    return [int((each.seconds > end).sum()) for each in jobs]


def curves(jobs: Sequence[Times]) -> pd.DataFrame:
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
        rows = pd.DataFrame(
            {
                "job": each.label,
                "seconds": [*seconds[:1], *seconds, end],
                "share_pct": [0.0, *share, *share[-1:]] if len(share) else [0.0],
            }
        )
        frames.append(rows)
    return pd.concat(frames).reset_index(drop=True).astype(_DTYPES)


def medians(jobs: Sequence[Times]) -> pd.DataFrame:
    """One row a job: where its curve crosses 50 %."""
    rows = [(each.label, each.letter, float(np.median(each.seconds)), 50.0, 0.0) for each in jobs]
    return pd.DataFrame(rows, columns=list(_MEDIAN_DTYPES)).astype(_MEDIAN_DTYPES)


def ecdf(curves: pd.DataFrame, medians: pd.DataFrame, labels: Sequence[str], what: str) -> alt.LayerChart:
    """A step curve a job; at its median a rule down to the axis, a sign and the job's letter. ``what`` is the time of."""
    looks = list(JOBS.values())[: len(labels)]
    legend = alt.Legend(title=None, orient="top", columns=2, labelLimit=330, symbolSize=110, symbolStrokeWidth=0)
    colours = alt.Scale(domain=list(labels), range=[colour for colour, _ in looks])
    shapes = alt.Scale(domain=list(labels), range=[shape for _, shape in looks])
    named = alt.Color("job:N", scale=colours, legend=legend)
    x = alt.X("seconds:Q", axis=alt.Axis(title=f"{what}, s", tickCount=6), scale=alt.Scale(zero=False, nice=False))
    y = alt.Y(
        "share_pct:Q",
        axis=alt.Axis(title="share of steps, %", values=[0, 25, 50, 75, 100]),
        scale=alt.Scale(domain=[0, 100]),
    )
    tooltip = [
        alt.Tooltip("job:N", title="job"),
        alt.Tooltip("seconds:Q", title=f"{what}, s", format=".4g"),
        alt.Tooltip("share_pct:Q", title="cumulative share of steps, %", format=".1f"),
    ]
    lines = (
        alt.Chart(curves)
        .mark_line(interpolate="step-after", strokeWidth=2, strokeJoin="round")
        .encode(x=x, y=y, color=named, order="share_pct:Q", tooltip=tooltip)
    )
    rules = (
        alt.Chart(medians)
        .mark_rule(strokeDash=[3, 3], strokeWidth=1.5)
        .encode(x=x, y=alt.Y("zero:Q"), y2="share_pct:Q", color=named)
    )
    signs = (
        alt.Chart(medians)
        .mark_point(filled=True, size=110, opacity=1, stroke="white", strokeWidth=1)
        .encode(
            x=x,
            y=y,
            color=named,
            shape=alt.Shape("job:N", scale=shapes, legend=legend),
            tooltip=[
                alt.Tooltip("job:N", title="job"),
                alt.Tooltip("seconds:Q", title=f"median {what}, s", format=".4g"),
            ],
        )
    )
    letters = (
        alt.Chart(medians)
        .mark_text(align="right", dx=-9, dy=-9, fontSize=13, fontWeight="bold", color=WORDS)
        .encode(x=x, y=y, text="letter:N")
    )
    return alt.layer(lines, rules, signs, letters).properties(height=280)
