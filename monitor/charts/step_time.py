"""How long does a step take, does it stay so, and which node is slowest?"""

from __future__ import annotations

from dataclasses import dataclass

import altair as alt
import numpy as np
import pandas as pd

from monitor.charts.colours import OUTLIER
from monitor.charts.time_axis import Span, time_axis, time_scale, window

#: Points of one series at most: more than there are pixels only costs.
BUCKETS = 400
#: A node is drawn by name when its median is this much above the median of its peers.
SLOWER = 1.03
#: Reports above this multiple of the job's median are dots of their own, drawn no higher than the ceiling.
OUTLIER_TIMES = 2.0
CEILING_TIMES = 2.5
OUTLIERS = 200
ALL_NODES = "all nodes, median"
AXIS = "seconds a step"

_BUCKET_DTYPES = {
    "series": "str",
    "order": "int64",
    "at": "datetime64[ms, UTC]",
    "p10_s": "float64",
    "median_s": "float64",
    "p90_s": "float64",
    "first_step": "Int64",
    "reports": "int64",
    "p90_drawn_s": "float64",
}


@dataclass(frozen=True, slots=True)
class Slowest:
    """The node whose median step time is longest, beside the median of the other nodes' medians."""

    node: str
    median_s: float
    peers_s: float

    @property
    def times(self) -> float:
        return self.median_s / self.peers_s

    @property
    def stands_out(self) -> bool:
        return self.times >= SLOWER


def timed(steps: pd.DataFrame) -> pd.DataFrame:
    """The reports that give a time of work: with a duration, and no warm-up."""
    return steps[steps["step_time_s"].notna() & ~steps["warm_up"]]


def slowest(steps: pd.DataFrame) -> Slowest | None:
    """The slowest of at least two nodes that report their steps, else None."""
    medians = timed(steps).groupby("node", observed=True)["step_time_s"].median()
    if len(medians) < 2:
        return None
    node = str(medians.idxmax())
    return Slowest(node, float(medians.max()), float(medians.drop(node).median()))


def buckets(steps: pd.DataFrame, limit: int = BUCKETS) -> pd.DataFrame:
    """Rows ``series order at p10_s median_s p90_s first_step reports`` for all nodes and, if one stands out, the slowest.

    Consecutive steps share a bucket so that there are at most ``limit`` of them. An empty row stands in each silence of
    more than five times the usual distance, so that no line is joined over it.
    """
    work = timed(steps)
    work = work[work["timestamp"].notna()]
    odd = slowest(work)
    if work.empty:
        return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in _BUCKET_DTYPES.items()})
    parts = [_series(work, ALL_NODES, 0, limit)]
    if odd is not None and odd.stands_out:
        parts.append(_series(work[work["node"] == odd.node], f"{odd.node}, slowest", 1, limit))
    frame = pd.concat(parts, ignore_index=True)
    frame["p90_drawn_s"] = frame["p90_s"].clip(upper=ceiling(work, float(frame["median_s"].max())))
    return frame.astype(_BUCKET_DTYPES)


def _series(work: pd.DataFrame, name: str, order: int, limit: int) -> pd.DataFrame:
    place = _buckets_of(work, limit)
    sizes = np.bincount(place)
    p10, median, p90 = _quantiles(work["step_time_s"].to_numpy(), place, sizes, (0.1, 0.5, 0.9))
    frame = pd.DataFrame(
        {
            "series": name,
            "order": order,
            "at": _mean_times(work["timestamp"], place, sizes),
            "p10_s": p10,
            "median_s": median,
            "p90_s": p90,
            "first_step": work["step"].groupby(place).min().array,
            "reports": sizes,
        }
    )
    return _with_silences(frame)


def _buckets_of(work: pd.DataFrame, limit: int) -> np.ndarray:
    """The bucket of each report, 0, 1, ... in the order of time, none of them empty.

    The same step of all nodes belongs together; where steps carry no number, each report stands for itself.
    """
    if work["step"].notna().all():
        key = work["segment"].fillna(0).to_numpy("int64") * 2**40 + work["step"].to_numpy("int64")
    else:
        key = work["timestamp"].to_numpy().argsort(kind="stable").argsort(kind="stable")
    distinct, turn = np.unique(key, return_inverse=True)
    count = len(distinct)
    return np.asarray(turn * min(limit, count) // max(count, 1))


def _quantiles(
    values: np.ndarray, place: np.ndarray, sizes: np.ndarray, wanted: tuple[float, ...]
) -> tuple[np.ndarray, ...]:
    """Quantiles of each bucket, interpolated; one sort in place of one a bucket, since there may be millions of reports."""
    ordered = values[np.lexsort((values, place))]
    start = np.cumsum(sizes) - sizes
    found = []
    for quantile in wanted:
        exact = start + quantile * (sizes - 1)
        low = np.floor(exact).astype("int64")
        high = np.minimum(low + 1, start + sizes - 1)
        found.append(ordered[low] + (exact - low) * (ordered[high] - ordered[low]))
    return tuple(found)


def _mean_times(times: pd.Series, place: np.ndarray, sizes: np.ndarray) -> pd.Series:
    since_s = (times - times.min()).dt.total_seconds().to_numpy()
    mean_s = np.bincount(place, weights=since_s) / sizes
    return times.min() + pd.to_timedelta(pd.Series(mean_s), unit="s")


def _with_silences(frame: pd.DataFrame) -> pd.DataFrame:
    distance = frame["at"].diff().shift(-1)
    silent = distance > 5 * distance.median()
    breaks = frame[silent].assign(p10_s=np.nan, median_s=np.nan, p90_s=np.nan, reports=0)
    breaks["at"] = breaks["at"] + distance.median()
    return pd.concat([frame, breaks]).sort_values("at", kind="stable", ignore_index=True) if len(breaks) else frame


def outliers(steps: pd.DataFrame) -> pd.DataFrame:
    """The longest reports above twice the median, ``at node step step_time_s drawn_s``; at most 200."""
    work = timed(steps)
    work = work[work["timestamp"].notna()]
    median = work["step_time_s"].median()
    longest = work[work["step_time_s"] > OUTLIER_TIMES * median].nlargest(OUTLIERS, "step_time_s")
    return pd.DataFrame(
        {
            "at": longest["timestamp"],
            "node": longest["node"],
            "step": longest["step"],
            "step_time_s": longest["step_time_s"],
            "drawn_s": longest["step_time_s"].clip(upper=ceiling(work, 0.0)),
        }
    ).reset_index(drop=True)


def ceiling(work: pd.DataFrame, highest_line_s: float) -> float:
    """Where far-off values are cut for drawing: one checkpoint of a minute must not press steps of a second flat."""
    return max(CEILING_TIMES * float(work["step_time_s"].median()), highest_line_s)


def step_time(steps: pd.DataFrame, span: Span) -> alt.LayerChart:
    """Median and p10-p90 band over all nodes, the slowest node by name where one stands out, far-off steps as dots."""
    time = alt.X("at:T", axis=time_axis(), scale=time_scale())
    seconds = alt.Axis(title=AXIS, tickCount=5)
    series = alt.Color(
        "series:N",
        sort=alt.EncodingSortField("order", op="min"),
        legend=alt.Legend(
            title=None, orient="top", symbolType="stroke", symbolOpacity=1, symbolStrokeWidth=2, labelLimit=300
        ),
    )
    base = alt.Chart(buckets(steps)).encode(x=time, color=series)
    band = base.mark_area(opacity=0.2).encode(
        y=alt.Y("p10_s:Q", axis=seconds, scale=alt.Scale(zero=True)), y2=alt.Y2("p90_drawn_s:Q")
    )
    median = base.mark_line().encode(
        y=alt.Y("median_s:Q", axis=seconds),
        tooltip=[
            alt.Tooltip("series:N", title="series"),
            alt.Tooltip("at:T", title="at", format="%d %b %H:%M:%S"),
            alt.Tooltip("first_step:Q", title="from step", format=",d"),
            alt.Tooltip("median_s:Q", title="median, s", format=".3~g"),
            alt.Tooltip("p10_s:Q", title="p10, s", format=".3~g"),
            alt.Tooltip("p90_s:Q", title="p90, s", format=".3~g"),
        ],
    )
    dots = (
        alt.Chart(outliers(steps))
        .mark_point(color=OUTLIER, size=18, shape="triangle-up", filled=True, opacity=0.8)
        .encode(
            x=time,
            y=alt.Y("drawn_s:Q", axis=seconds),
            tooltip=[
                alt.Tooltip("node:N", title="node"),
                alt.Tooltip("step:Q", title="step", format=",d"),
                alt.Tooltip("step_time_s:Q", title="took, s", format=".3~g"),
                alt.Tooltip("at:T", title="at", format="%d %b %H:%M:%S"),
            ],
        )
    )
    return alt.layer(band, median, dots, window(span)).properties(height=240)
