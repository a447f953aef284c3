"""How long did steps take, in few enough buckets to draw? The reports are put in order once; any part follows quickly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from monitor.charts.time_axis import Span

#: Points of one series at most: more than there are pixels only costs.
BUCKETS = 400
#: A node is drawn by name when its median is this much above the median of its peers.
SLOWER = 1.03
#: Reports above this multiple of the median are dots of their own, drawn no higher than the ceiling.
OUTLIER_TIMES = 2.0
CEILING_TIMES = 2.5
OUTLIERS = 200

_BUCKET_DTYPES = {
    "series": "str",
    "order": "int64",
    "at": "datetime64[ms, UTC]",
    "low_s": "float64",
    "p10_s": "float64",
    "median_s": "float64",
    "mean_s": "float64",
    "p90_s": "float64",
    "high_s": "float64",
    "first_step": "Int64",
    "reports": "int64",
    "p10_drawn_s": "float64",
    "median_drawn_s": "float64",
    "p90_drawn_s": "float64",
}
_LEVELS = ["low_s", "p10_s", "median_s", "mean_s", "p90_s", "high_s"]
_DOT_DTYPES = {
    "at": "datetime64[ms, UTC]",
    "node": "str",
    "step": "Int64",
    "step_time_s": "float64",
    "drawn_s": "float64",
}
_NO_STEP = -1
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


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


@dataclass(frozen=True, slots=True)
class Work:
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

    def chosen(self, kept: Bools) -> Work:
        return Work(self.names, self.node[kept], self.at_ms[kept], self.key[kept], self.step[kept], self.seconds[kept])

    def within(self, span: Span | None) -> Work:
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


def work_of(steps: pd.DataFrame) -> Work:
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
    return Work(tuple(map(str, names)), codes[turn].astype("int64"), at_ms[turn], key, step[turn], seconds[turn])


def slowest(work: Work) -> Slowest | None:
    """The slowest of at least two nodes that report their steps, else None."""
    turn = np.argsort(work.node, kind="stable")
    places, first = np.unique(work.node[turn], return_index=True)
    if len(places) < 2:
        return None
    medians = np.array([float(np.median(part)) for part in np.split(work.seconds[turn], first[1:])])
    worst = int(np.argmax(medians))
    return Slowest(work.names[places[worst]], float(medians[worst]), float(np.median(np.delete(medians, worst))))


def buckets(work: Work, limit: int = BUCKETS) -> pd.DataFrame:
    """Rows ``series order at`` with the levels of each bucket, for all nodes and, if one stands out, the slowest.

    Consecutive steps share a bucket so that there are at most ``limit`` of them. An empty row stands in each silence of
    more than five times the usual distance, so that no line is joined over it.
    """
    if not len(work):
        return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in _BUCKET_DTYPES.items()})
    parts = [_series(work, median_of(work), 0, limit)]
    odd = slowest(work)
    if odd is not None and odd.stands_out:
        own = work.chosen(work.node == work.names.index(odd.node))
        parts.append(_series(own, f"{odd.node}, slowest", 1, limit))
    frame = pd.concat(parts, ignore_index=True)
    top = ceiling(work, max(_highest_lasting(part["median_s"]) for part in parts))
    for name in ("p10", "median", "p90"):
        frame[f"{name}_drawn_s"] = frame[f"{name}_s"].clip(upper=top)
    return frame.astype(_BUCKET_DTYPES)


def median_of(work: Work) -> str:
    """What the line of all reports is called: ``median of 4 nodes``, or the one node that reports."""
    places = np.unique(work.node)
    return (work.names[places[0]] or "all reports") if len(places) == 1 else f"median of {len(places)} nodes"


def outliers(work: Work) -> pd.DataFrame:
    """The longest reports above twice the median, ``at node step step_time_s drawn_s``; at most 200."""
    if not len(work):
        return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in _DOT_DTYPES.items()})
    far = np.flatnonzero(work.seconds > OUTLIER_TIMES * np.median(work.seconds))
    longest = far[np.argsort(-work.seconds[far], kind="stable")[:OUTLIERS]]
    seconds = work.seconds[longest]
    return (
        pd.DataFrame(
            {
                "at": _instants(work.at_ms[longest]),
                "node": [work.names[place] for place in work.node[longest]],
                "step": pd.array(work.step[longest], dtype="Int64"),
                "step_time_s": seconds,
                "drawn_s": np.minimum(seconds, ceiling(work, 0.0)),
            }
        )
        .assign(step=lambda rows: rows["step"].mask(rows["step"] == _NO_STEP))
        .astype(_DOT_DTYPES)
    )


def ceiling(work: Work, highest_line_s: float) -> float:
    """Where far-off values are cut for drawing: one checkpoint of a minute must not press steps of a second flat."""
    return max(CEILING_TIMES * float(np.median(work.seconds)), highest_line_s) if len(work) else highest_line_s


def _highest_lasting(medians: pd.Series) -> float:
    """The highest level that two buckets in a row have: a slow step alone in its bucket is a dot, no level of the line."""
    known = medians.dropna()
    lasting = np.minimum(known.iloc[1:].to_numpy(), known.iloc[:-1].to_numpy())
    return float(lasting.max()) if len(lasting) else 0.0


def _series(work: Work, name: str, order: int, limit: int) -> pd.DataFrame:
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
            "at": _instants(np.floor(at_ms).astype("int64")),
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


def _instants(ms: Ints) -> pd.Series:
    return pd.Series(ms.astype("datetime64[ms]")).dt.tz_localize("UTC")
