"""Where a condition holds along one node's figures, and for long enough: true, false or unknown, from begin to end; the
tracks of one metric of a job, or the reason why there are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from monitor.alert.conditions import Lasting, Threshold
from monitor.model import natural_order

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Track:
    """The figures of one node (or of all, or of the job), in time; all arrays are of one length."""

    node: str | None
    begins: Floats
    """Seconds since 1970, or since the first sample where the lines carry no time; NaN where nothing tells of time."""
    ends: Floats
    values: Floats
    usual: Floats
    """The job's own median so far; NaN where there is none (yet)."""
    breaks: Bools
    """A gap lies before the sample."""
    steps_before: Ints
    """How many steps were done when the sample begins."""
    steps_after: Ints
    keys: Ints
    """What samples of several nodes are matched by: the minute, or the step."""
    has_clock: bool = True
    slack_s: float = 0.0
    """A span that is shorter by this much still is "some ten minutes"."""
    rates: Floats | None = None
    """Of figures that move by themselves: how fast each sample grows toward its value, which it has at its end."""

    @property
    def is_sampled(self) -> bool:
        """False where figures are known at every moment."""
        return self.rates is None

    @property
    def has_time(self) -> bool:
        """Whether it can be told how long something lasted."""
        return len(self.ends) == 0 or bool(np.isfinite(self.ends[-1]))


@dataclass(frozen=True, slots=True)
class SampleSpan:
    """A stretch without a break that lasted as long as it must; places are those of the track's samples."""

    first: int
    last: int
    done: int
    """With this sample it had lasted long enough."""


@dataclass(frozen=True, slots=True)
class Walk:
    """What came of a condition along a track."""

    spans: tuple[SampleSpan, ...] = ()
    """Where it held for long enough."""
    standing: SampleSpan | None = None
    """The span that fires at the end: nothing false came after it."""
    latest: int | None = None
    """The newest sample that is known."""


def limits(track: Track, when: Threshold) -> Floats:
    """The number that each sample is compared with."""
    return when.value * track.usual if when.relative else np.full(len(track.values), when.value)


def holds(values: Floats, limit: Floats, when: Threshold) -> NDArray[np.int8]:
    """1 where the condition is true, 0 where it is false, -1 where a number is missing."""
    with np.errstate(invalid="ignore"):
        true = {
            "<": np.less,
            "<=": np.less_equal,
            ">": np.greater,
            ">=": np.greater_equal,
        }[when.op](values, limit)
    return np.where(np.isnan(values) | np.isnan(limit), -1, true).astype(np.int8)


def walk(track: Track, when: Threshold) -> Walk:
    """Follows the condition along the track: for one look, for a watch (at each look anew, so that late figures are no case of
    their own) and for a backtest alike."""
    truth = holds(track.values, limits(track, when), when)
    known = np.flatnonzero(truth >= 0)
    if not len(known):
        return Walk()
    spans = spans_of(track, truth, 1, when.lasting)
    false = known[truth[known] == 0]
    since_false = int(false[-1]) if len(false) else -1
    standing = next((span for span in spans if span.first > since_false), None)
    return Walk(spans, standing, int(known[-1]))


def spans_of(track: Track, truth: NDArray[np.int8], value: int, lasting: Lasting | None) -> tuple[SampleSpan, ...]:
    """The stretches of ``value`` (1 true, 0 false) that last long enough; a gap breaks them."""
    known = np.flatnonzero(truth >= 0)
    if not len(known):
        return ()
    same = truth[known] == value
    gaps = np.cumsum(track.breaks | (truth < 0))[known]
    starts = np.ones(len(known), dtype=bool)
    starts[1:] = (same[1:] != same[:-1]) | (gaps[1:] != gaps[:-1])
    first = np.flatnonzero(starts)
    last = np.append(first[1:], len(known)) - 1
    spans = []
    for a, b in zip(first[same[first]], last[same[first]], strict=True):
        done = _lasted(track, known[a : b + 1], lasting)
        if done is not None:
            spans.append(SampleSpan(int(known[a]), int(known[b]), done))
    return tuple(spans)


def _lasted(track: Track, places: Ints, lasting: Lasting | None) -> int | None:
    """The sample with which a stretch had lasted long enough; None where it never did."""
    a = places[0]
    if lasting is None:
        return int(a)
    if lasting.steps is not None:
        done = track.steps_after[places] - track.steps_before[a] >= lasting.steps
    else:
        assert lasting.seconds is not None
        # Sums of floats: a microsecond is none.
        done = track.ends[places] - track.begins[a] >= lasting.seconds - track.slack_s - 1e-6
    return int(places[np.argmax(done)]) if done.any() else None


def median_so_far(keys: Ints, values: Floats, least: int) -> tuple[Ints, Floats]:
    """(the different keys in order, the median of all values with smaller keys): NaN until ``least`` keys are done."""
    order = np.argsort(keys, kind="stable")
    different, starts = np.unique(keys[order], return_index=True)
    medians = pd.Series(values[order]).expanding().median().to_numpy("float64")
    before = np.full(len(different), np.nan)
    before[least:] = medians[starts[least:] - 1]
    return different, before


@dataclass(frozen=True, slots=True)
class Tracked:
    """One track a node, in the order of their names."""

    tracks: tuple[Track, ...] = ()
    unit: str = ""
    why_none: str = ""
    """A sentence; empty where there are tracks."""


def steps_done(steps: pd.DataFrame, node: str) -> Floats:
    """When each different step was first reported, in seconds since 1970 and in order: by the node or, where it prints
    none, by any."""
    rows = steps.loc[steps["timestamp"].notna(), ["node", "segment", "step", "timestamp"]]
    own = rows[rows["node"] == node]
    rows = (own if len(own) else rows).sort_values("timestamp")
    done: Floats = seconds(rows.drop_duplicates(["segment", "step"])["timestamp"]).to_numpy("float64")
    return done


def seconds(times: pd.Series) -> pd.Series:
    """Instants as seconds since 1970; NaN where there is none."""
    return (times - pd.Timestamp(0, tz="UTC")).dt.total_seconds()


def in_order(tracks: Sequence[Track]) -> tuple[Track, ...]:
    return tuple(sorted(tracks, key=lambda track: natural_order(track.node or "")))
