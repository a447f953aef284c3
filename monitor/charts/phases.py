"""Where did the time go? One bar from the request to the end, as long as the job's wall time."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from monitor.charts.colours import TIME_KINDS
from monitor.model import Bucket
from monitor.words import duration, usd
from monitor.words import phase as called

#: A segment carries its name when it is at least this share of the bar, and its minutes and dollars from this one on.
NAMED_SHARE = 0.09
TOLD_SHARE = 0.22
BAR_PX = 34
# In minutes, the largest first.
_UNITS = {"days": 1440.0, "hours": 60.0, "minutes": 1.0}

KIND_OF = {
    "productive": "training",
    "evaluation": "training",
    "checkpoint": "training",
    "pending": "start and finish",
    "starting": "start and finish",
    "downloading": "start and finish",
    "image": "start and finish",
    "initialization": "start and finish",
    "uploading": "start and finish",
    "slow-excess": "lost",
    "stall": "lost",
    "lost-work": "lost",
    "interrupted": "lost",
    "idle-tail": "lost",
}


def segments(buckets: Sequence[Bucket]) -> pd.DataFrame:
    """Rows ``name phase kind minutes cost_usd share unit start end middle label``, in the order given, none of zero length.

    ``phase`` is the name for people; the places along the bar are in ``unit``: minutes, hours or days.
    """
    frame = pd.DataFrame(
        [(bucket.name, bucket.seconds / 60, bucket.cost_usd) for bucket in buckets if bucket.seconds > 0],
        columns=["name", "minutes", "cost_usd"],
    ).astype({"minutes": "float64", "cost_usd": "float64"})
    frame["phase"] = [called(name) for name in frame["name"]]
    frame["kind"] = [KIND_OF.get(name, "not known") for name in frame["name"]]
    frame["share"] = frame["minutes"] / frame["minutes"].sum()
    frame["unit"] = unit = unit_of(buckets)
    frame["end"] = (frame["minutes"] / _UNITS[unit]).cumsum()
    frame["start"] = frame["end"] - frame["minutes"] / _UNITS[unit]
    frame["middle"] = (frame["start"] + frame["end"]) / 2
    frame["label"] = [
        _label(*row) if kind != "not known" else ""
        for *row, kind in frame[["phase", "minutes", "cost_usd", "share", "kind"]].itertuples(index=False)
    ]
    return frame


def unit_of(buckets: Sequence[Bucket]) -> str:
    """In what the bar is drawn: days beyond three of them, hours beyond three of those, else minutes."""
    whole = sum(bucket.seconds for bucket in buckets) / 60
    return next((unit for unit, minutes in _UNITS.items() if whole > 3 * minutes), "minutes")


def _label(phase: str, minutes: float, cost_usd: float, share: float) -> str:
    if share < NAMED_SHARE:
        return ""
    told = [phase, duration(minutes * 60), *([usd(cost_usd)] if cost_usd > 0 else [])]
    return " · ".join(told) if share >= TOLD_SHARE else phase


def phase_bar(buckets: Sequence[Bucket]) -> alt.LayerChart:
    """The bar of the sums of a job's phases."""
    return phase_bar_of(segments(buckets))


def phase_bar_of(frame: pd.DataFrame) -> alt.LayerChart:
    """One horizontal bar; its color says what kind of time a segment was."""
    base = alt.Chart(frame)
    along = alt.X("start:Q", axis=alt.Axis(title=None, grid=False, tickCount=8, offset=6), scale=alt.Scale(nice=False))
    bar = base.mark_bar(height=BAR_PX).encode(
        x=along,
        x2="end:Q",
        color=alt.Color(
            "kind:N",
            scale=alt.Scale(domain=list(TIME_KINDS), range=list(TIME_KINDS.values())),
            legend=alt.Legend(title=None, orient="top", symbolType="square"),
        ),
        tooltip=[
            alt.Tooltip("phase:N", title="phase"),
            alt.Tooltip("kind:N", title="kind"),
            alt.Tooltip("minutes:Q", title="minutes", format=",.1f"),
            alt.Tooltip("share:Q", title="share", format=".1%"),
            alt.Tooltip("cost_usd:Q", title="USD", format=",.2f"),
        ],
    )
    edges = base.mark_tick(color="white", thickness=1, size=BAR_PX).encode(x=along)
    names = base.mark_text(color="white", fontWeight=600).encode(x=alt.X("middle:Q"), text="label:N")
    return alt.layer(bar, edges, names).properties(height=112)
