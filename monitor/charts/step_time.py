"""What steps tell over a job: their times in buckets few enough to draw, the slow node beside them, the steps reached; loss and
learning rate: one line, its spread, and a mark where the loss was not a number.

The reports are put in order once (``work_of``); any part of the time follows quickly.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from monitor.charts.colors import CHANGE, LIMIT, OUTLIER
from monitor.charts.elements import (
    MOMENT,
    Floats,
    Ints,
    Span,
    clipped,
    columns,
    edges,
    instants,
    over_time,
    thinned,
    tooltips,
    typed,
    window,
)

#: Points of one series at most: more than there are pixels only costs.
BUCKETS = 400
#: Reports above this multiple of the median are dots of their own, drawn no higher than the ceiling.
OUTLIER_TIMES = 2.0
CEILING_TIMES = 2.5
OUTLIERS = 200

_BUCKETS = columns(
    "series:str order:int at:time low_s p10_s median_s mean_s p90_s high_s first_step:number reports:int p10_drawn_s "
    "median_drawn_s p90_drawn_s"
)
_LEVELS = ["low_s", "p10_s", "median_s", "mean_s", "p90_s", "high_s"]
_NO_STEP = -1


@dataclass(frozen=True, slots=True)
class WorkTimes:
    """The reports with a time of work and a place in time, in the order of their steps."""

    names: tuple[str, ...]
    node: Ints
    at_ms: Ints
    key: Ints
    """The same for the same step of all nodes; rises."""
    step: Ints
    seconds: Floats

    def __len__(self) -> int:
        return len(self.key)

    def chosen(self, mask: NDArray[np.bool_]) -> WorkTimes:
        return WorkTimes(
            self.names, self.node[mask], self.at_ms[mask], self.key[mask], self.step[mask], self.seconds[mask]
        )

    def within(self, span: Span | None) -> WorkTimes:
        """The reports of that time; all of them for None."""
        if span is None:
            return self
        start, end = (round(edge.timestamp() * 1000) for edge in span)
        return self.chosen((self.at_ms >= start) & (self.at_ms <= end))

    @property
    def observed(self) -> int:
        """How many nodes report."""
        return len(np.unique(self.node))


def timed(steps: pd.DataFrame) -> pd.DataFrame:
    """The reports that give a time of work: with a duration, and no warm-up."""
    return steps[steps["step_time_s"].notna() & ~steps["warm_up"]]


def work_of(steps: pd.DataFrame) -> WorkTimes:
    """The reports to draw, put in order.

    The same step of all nodes belongs together; where steps carry no number, each report stands for itself.
    """
    rows = timed(steps)
    rows = rows[rows["timestamp"].notna()]
    at_ms = rows["timestamp"].to_numpy("datetime64[ms]").astype("int64")
    step = rows["step"].to_numpy("int64", na_value=_NO_STEP)
    numbered = not (step == _NO_STEP).any()
    segment = rows["segment"].to_numpy("int64", na_value=0)
    turn = np.argsort(segment * 2**40 + step if numbered else at_ms, kind="stable")
    key = (segment * 2**40 + step)[turn] if numbered else np.arange(len(rows))
    codes, names = pd.factorize(rows["node"])
    seconds = rows["step_time_s"].to_numpy("float64")
    return WorkTimes(tuple(map(str, names)), codes[turn].astype("int64"), at_ms[turn], key, step[turn], seconds[turn])


def node_medians(work: WorkTimes) -> dict[str, float]:
    """The median step time in seconds of each node that reports."""
    turn = np.argsort(work.node, kind="stable")
    places, first = np.unique(work.node[turn], return_index=True)
    parts = np.split(work.seconds[turn], first[1:]) if len(places) else []
    return {work.names[place]: float(np.median(part)) for place, part in zip(places, parts, strict=True)}


def against_peers(medians: Mapping[str, float], node: str) -> tuple[float, float]:
    """A node's median and the median of those of the others, of which there is at least one."""
    return medians[node], float(np.median([each for name, each in medians.items() if name != node]))


def buckets(work: WorkTimes, slow: str | None = None, limit: int = BUCKETS) -> pd.DataFrame:
    """Rows ``series order at`` with the levels of each bucket, for all nodes and for the ``slow`` one, if it reports.

    Consecutive steps share a bucket so that there are at most ``limit`` of them. An empty row stands in each silence of
    more than five times the usual distance, so that no line is joined over it.
    """
    if not len(work):
        return typed([], _BUCKETS)
    parts = [_series(work, median_of(work), 0, limit)]
    own = work.chosen(work.node == work.names.index(slow)) if slow in work.names else None
    if own is not None and 0 < len(own) < len(work):
        parts.append(_series(own, f"{slow}, slowest", 1, limit))
    frame = pd.concat(parts, ignore_index=True)
    top = ceiling(work, max(_highest_lasting(part["median_s"]) for part in parts))
    for name in ("p10", "median", "p90"):
        frame[f"{name}_drawn_s"] = frame[f"{name}_s"].clip(upper=top)
    return frame.astype(_BUCKETS)


def median_of(work: WorkTimes) -> str:
    """What the line of all reports is called: ``median of 4 nodes``, or the one node that reports."""
    places = np.unique(work.node)
    return (work.names[places[0]] or "all reports") if len(places) == 1 else f"median of {len(places)} nodes"


def outliers(work: WorkTimes) -> pd.DataFrame:
    """The longest reports above twice the median, ``at node step step_time_s drawn_s``; at most 200."""
    kinds = columns("at:time node:str step:number step_time_s drawn_s")
    if not len(work):
        return typed([], kinds)
    far = np.flatnonzero(work.seconds > OUTLIER_TIMES * np.median(work.seconds))
    longest = far[np.argsort(-work.seconds[far], kind="stable")[:OUTLIERS]]
    seconds, step = work.seconds[longest], pd.array(work.step[longest], dtype="Int64")
    step[step == _NO_STEP] = pd.NA
    dots = {
        "at": instants(work.at_ms[longest]),
        "node": [work.names[place] for place in work.node[longest]],
        "step": step,
        "step_time_s": seconds,
        "drawn_s": np.minimum(seconds, ceiling(work, 0.0)),
    }
    return typed(pd.DataFrame(dots), kinds)


def ceiling(work: WorkTimes, highest_line_s: float) -> float:
    """Where far-off values are cut for drawing: one checkpoint of a minute must not press steps of a second flat."""
    return max(CEILING_TIMES * float(np.median(work.seconds)), highest_line_s) if len(work) else highest_line_s


def _highest_lasting(medians: pd.Series) -> float:
    """The highest level that two buckets in a row have: a slow step alone in its bucket is a dot, no level of the line."""
    known = medians.dropna()
    lasting = np.minimum(known.iloc[1:].to_numpy(), known.iloc[:-1].to_numpy())
    return float(lasting.max()) if len(lasting) else 0.0


def _series(work: WorkTimes, name: str, order: int, limit: int) -> pd.DataFrame:
    new = np.ones(len(work), dtype=bool)
    new[1:] = work.key[1:] != work.key[:-1]
    turn = np.cumsum(new) - 1
    count = int(turn[-1]) + 1
    place = turn * min(limit, count) // count
    sizes = np.bincount(place)
    first = np.cumsum(sizes) - sizes
    levels = np.array([_levels(part) for part in np.split(work.seconds, first[1:])])
    since = work.at_ms[0]
    at_ms = since + np.bincount(place, work.at_ms - since) / sizes
    frame = pd.DataFrame(
        {
            "series": name,
            "order": order,
            "at": instants(np.floor(at_ms).astype("int64")),
            **dict(zip(_LEVELS, levels.T, strict=True)),
            "first_step": pd.array(np.minimum.reduceat(work.step, first), dtype="Int64"),
            "reports": sizes,
        }
    )
    frame["first_step"] = frame["first_step"].mask(frame["first_step"] == _NO_STEP)
    return _with_silences(frame)


def _levels(values: Floats) -> tuple[float, ...]:
    """Lowest, p10, median, mean, p90 and highest of one bucket; a sort of its own, since there may be millions in all."""
    ordered = np.sort(values)
    last = len(ordered) - 1
    found = []
    for share in (0.1, 0.5, 0.9):
        low = int(share * last)
        high = min(low + 1, last)
        found.append(float(ordered[low] + (share * last - low) * (ordered[high] - ordered[low])))
    p10, median, p90 = found
    return float(ordered[0]), p10, median, float(ordered.mean()), p90, float(ordered[-1])


def _with_silences(frame: pd.DataFrame) -> pd.DataFrame:
    distance = frame["at"].diff().shift(-1)
    silent = distance > 5 * distance.median()
    breaks = frame[silent].assign(**dict.fromkeys(_LEVELS, np.nan), reports=0)
    breaks["at"] = breaks["at"] + distance.median()
    return pd.concat([frame, breaks]).sort_values("at", kind="stable", ignore_index=True) if len(breaks) else frame


AXIS = "seconds a step"

#: Moments at which the pace changed for good, with what is said of each.
Changes = tuple[tuple[datetime, str], ...]


def changed(changes: Changes, span: Span) -> pd.DataFrame:
    """The changes of that time, ``at said left``; ``left``: the words end at the rule, as there is no room behind it."""
    start, end = (pd.Timestamp(edge) for edge in span)
    middle = start + (end - start) / 2
    rows = [(at, said, pd.Timestamp(at) > middle) for at, said in changes]
    return clipped(typed(rows, columns("at:time said:str left:bool")), span, "at", "at").reset_index(drop=True)


def step_frames(
    work: WorkTimes, span: Span, within: Span | None = None, changes: Changes = (), slow: str | None = None
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """What ``step_time_of`` draws: buckets, far-off steps, changes of pace, and the ends of the time shown."""
    shown = work.within(within)
    return buckets(shown, slow), outliers(shown), changed(changes, within or span), edges(within or span)


def step_time_of(levels: pd.DataFrame, far: pd.DataFrame, changes: pd.DataFrame, ends: pd.DataFrame) -> alt.LayerChart:
    """Median and p10-p90 band over all nodes, the slow node by name where there is one, far-off steps as dots.

    A layer a series, which are named in the specification: marks that a field parts are kept by the browser for long after
    they are gone.
    """
    time = over_time("at")
    seconds = alt.Axis(title=AXIS, tickCount=5)
    names = series_names(levels)
    legend = alt.Legend(
        title=None, orient="top", symbolType="stroke", symbolOpacity=1, symbolStrokeWidth=2, labelLimit=300
    )
    # Datums have no scale or legend of their own; these belong to marks that nobody sees.
    named = [
        alt.Chart(ends)
        .transform_calculate(series=json.dumps(name))
        .mark_line(opacity=0, tooltip=None)
        .encode(
            x=alt.value(0),
            y=alt.value(0),
            color=alt.Color("series:N", scale=alt.Scale(domain=list(names)), legend=legend),
        )
        for name in names
    ]
    bands: list[alt.Chart] = []
    medians: list[alt.Chart] = []
    for order, name in enumerate(names):
        base = (
            alt.Chart(levels)
            .transform_filter(alt.datum.order == order)
            .encode(x=time, color=alt.ColorDatum(name, type="nominal"))
        )
        band = base.mark_area(fillOpacity=0.2).encode(
            y=alt.Y("p10_drawn_s:Q", axis=seconds, scale=alt.Scale(zero=True)), y2=alt.Y2("p90_drawn_s:Q")
        )
        bands.append(band)
        medians.append(base.mark_line().encode(y=alt.Y("median_drawn_s:Q", axis=seconds), tooltip=_TOLD))
    dots = (
        alt.Chart(far)
        .mark_point(color=OUTLIER, size=18, shape="triangle-up", filled=True, opacity=0.8)
        .encode(
            x=time,
            y=alt.Y("drawn_s:Q", axis=seconds),
            tooltip=tooltips(
                ("node:N", "node"),
                ("step:Q", "step", ",d"),
                ("step_time_s:Q", "took, s", ".3~g"),
                ("at:T", "at", MOMENT),
            ),
        )
    )
    return alt.layer(*named, *bands, *medians, dots, *_rules(changes, time), window(ends)).properties(height=240)


def step_time(steps: pd.DataFrame, span: Span, slow: str | None = None) -> alt.LayerChart:
    """The step times of all of a job."""
    return step_time_of(*step_frames(work_of(steps), span, slow=slow))


def series_names(levels: pd.DataFrame) -> tuple[str, ...]:
    """The series of ``buckets`` in their order; the specification hangs on them."""
    return tuple(levels.sort_values("order")["series"].drop_duplicates())


_TOLD = tooltips(
    ("series:N", "series"),
    ("at:T", "at", MOMENT),
    ("first_step:Q", "from step", ",d"),
    ("median_s:Q", "median, s", ".3~g"),
    ("p10_s:Q", "p10, s", ".3~g"),
    ("p90_s:Q", "p90, s", ".3~g"),
    ("high_s:Q", "longest, s", ".3~g"),
    ("reports:Q", "reports", ",d"),
)


def _rules(changes: pd.DataFrame, time: alt.X) -> tuple[alt.Chart, ...]:
    """A rule where the pace changed for good, and its words on the side with room; at the foot, where no line is."""
    told = tooltips(("said:N", "change"), ("at:T", "at", MOMENT))
    rule = alt.Chart(changes).mark_rule(color=CHANGE, strokeDash=[2, 2], strokeWidth=1.5).encode(x=time, tooltip=told)
    words = tuple(
        alt.Chart(changes)
        .transform_filter(alt.datum.left == left)
        .mark_text(
            color=CHANGE,
            fontWeight=600,
            baseline="bottom",
            align="right" if left else "left",
            dx=-5 if left else 5,
            dy=-3,
        )
        .encode(x=time, y=alt.value("height"), text="said:N", tooltip=told)
        for left in (True, False)
    )
    return rule, *words


def reached(steps: pd.DataFrame, limit: int = BUCKETS, within: Span | None = None) -> pd.DataFrame:
    """Rows ``at step``: the step that was last reported by then, at most ``limit`` of them, first and last included."""
    known = steps[steps["step"].notna() & steps["timestamp"].notna()].sort_values("timestamp", kind="stable")
    known = clipped(known, within, "timestamp", "timestamp")
    known = thinned(known, limit)
    return pd.DataFrame({"at": known["timestamp"], "step": known["step"]}).reset_index(drop=True)


def progress_of(points: pd.DataFrame, ends: pd.DataFrame) -> alt.LayerChart:
    """Step number over time, for logs that give no step times; the line ends with the last report, the axis with the time
    shown."""
    line = (
        alt.Chart(points)
        .mark_line(interpolate="step-after")
        .encode(
            x=over_time("at"),
            y=alt.Y("step:Q", axis=alt.Axis(title="step", tickCount=5, format=",d")),
            tooltip=tooltips(("step:Q", "step", ",d"), ("at:T", "at", MOMENT)),
        )
    )
    return alt.layer(line, window(ends)).properties(height=220)


def progress(steps: pd.DataFrame, span: Span) -> alt.LayerChart:
    """The progress of all of a job."""
    return progress_of(reached(steps), edges(span))


#: Points at most: more than there are pixels only costs.
POINTS = 400
MARKS = 200
_LOSS_LEVELS = columns("at:time low median high step:number reports:int")


def levels(rows: pd.DataFrame, column: str, within: Span | None = None) -> pd.DataFrame:
    """Rows ``at low median high step reports`` of a column of ``at step …``: consecutive reports put together where there are
    more than ``POINTS``; ``step`` is their first, ``at`` the time of their last."""
    known = clipped(rows[rows[column].notna()], within, "at", "at")
    if known.empty:
        return typed([], _LOSS_LEVELS)
    place = np.arange(len(known)) * min(POINTS, len(known)) // len(known)
    values = known[column].groupby(place)
    frame = pd.DataFrame(
        {
            "at": known["at"].groupby(place).last(),
            "low": values.min(),
            "median": values.median(),
            "high": values.max(),
            "step": known["step"].groupby(place).min(),
            "reports": values.size(),
        }
    )
    return frame.reset_index(drop=True).astype(_LOSS_LEVELS)


def no_numbers(rows: pd.DataFrame, within: Span | None = None) -> pd.DataFrame:
    """The reports whose loss is NaN or infinite, ``at step``: at most ``MARKS``, first and last among them."""
    bad = clipped(rows.loc[rows["bad"], ["at", "step"]], within, "at", "at")
    return thinned(bad, MARKS).reset_index(drop=True)


def loss_frames(rows: pd.DataFrame, span: Span, within: Span | None = None) -> tuple[pd.DataFrame, ...]:
    """What ``loss_of`` draws: points, marks, and the ends of the time shown."""
    return levels(rows, "loss", within), no_numbers(rows, within), edges(within or span)


def rate_frames(rows: pd.DataFrame, span: Span, within: Span | None = None) -> tuple[pd.DataFrame, ...]:
    """What ``rate_of`` draws."""
    return levels(rows, "learning_rate", within), edges(within or span)


def loss_of(points: pd.DataFrame, bad: pd.DataFrame, ends: pd.DataFrame, log: bool = False) -> alt.LayerChart:
    """The loss, with a cross at the top where it was NaN or infinite."""
    crosses = (
        alt.Chart(bad)
        .mark_point(color=LIMIT, shape="cross", angle=45, size=45, filled=True, yOffset=6)
        .encode(
            x=over_time("at"),
            y=alt.value(0),
            tooltip=tooltips(("step:Q", "NaN or infinite at step", ",d"), ("at:T", "at", MOMENT)),
        )
    )
    return alt.layer(*_line(points, "training loss", log), crosses, window(ends)).properties(height=220)


def rate_of(points: pd.DataFrame, ends: pd.DataFrame) -> alt.LayerChart:
    """The learning rate."""
    return alt.layer(*_line(points, "learning rate", False), window(ends)).properties(height=220)


def _line(points: pd.DataFrame, title: str, log: bool) -> tuple[alt.Chart, ...]:
    scale = alt.Scale(type="log", nice=False) if log else alt.Scale(zero=False)
    y = alt.Y("median:Q", axis=alt.Axis(title=title, tickCount=5, format=".3~g"), scale=scale)
    base = alt.Chart(points).encode(x=over_time("at"))
    told = tooltips(
        ("step:Q", "step", ",d"),
        ("median:Q", title, ".5~g"),
        ("low:Q", "lowest", ".5~g"),
        ("high:Q", "highest", ".5~g"),
        ("reports:Q", "reports", ",d"),
        ("at:T", "at", MOMENT),
    )
    band = base.mark_area(opacity=0.2).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q")
    return band, base.mark_line().encode(y=y, tooltip=told)
