"""What a profiler's samples show within a minute: standstills of all GPUs of a node, what the host does while they wait, and
what they do within one step.

One-minute means hide it: two seconds in every ten are "80 %". A profiler's samples show the beginning and the end of each.

A step that takes two seconds has four samples at 500 ms; a hundred such steps together show all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

#: A node stands still while none of its GPUs is so busy.
STILL_PCT = 20.0
#: Less of the time than this is no matter.
LEAST_SHARE = 0.03
FEWEST = 5
FEWEST_STRETCHES = 3
_SHORTEST_S, _LONGEST_S = 1.0, 60.0
# Two samples are the least that has a length.
_FEWEST_SAMPLES = 2
# Samples further apart than this do not show where a stall begins.
_COARSEST_S = 5.0
_HOLE = 3.0
_MAD = 1.4826
_REGULAR = 0.25
_MOSTLY = 2 / 3
# A line about a checkpoint comes so near to the standstill that belongs to it.
_NEAR_S = 10.0
_MOST_STEPS = 10
_OFF_STEP = 0.1

With = Literal["step", "steps", "checkpoint", ""]


@dataclass(frozen=True, slots=True)
class Stalls:
    """The standstills of one node that recur."""

    node: str
    count: int
    """As many were read from their beginning to their end."""
    share: float
    """Of the time that was read."""
    length_s: float
    """Median."""
    period_s: float | None
    """From one beginning to the next, median; None where a checkpoint's cadence is not known."""
    goes_with: With
    steps: int | None
    """So many steps from one to the next, where they go with steps."""
    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Samples without a hole: how long, and the standstills in it that have both ends."""

    begin_s: float
    end_s: float
    still: tuple[tuple[float, float], ...]
    touched: bool
    """Any sample of it is still."""


def recurring_stalls(
    gpus: pd.DataFrame, step_s: float | None, checkpoints_s: Sequence[float] = ()
) -> tuple[Stalls, ...]:
    """The nodes that stand still again and again, most of the time first. ``gpus`` is a Gpus frame.

    ``step_s`` is the median step time; ``checkpoints_s`` are times of lines about checkpoints, as Unix seconds.
    """
    busiest = gpus.groupby(["node", "timestamp"], observed=True)["utilization_pct"].max().reset_index()
    found = []
    for node, rows in busiest.groupby("node", observed=True):
        stretches = tuple(_stretches(_unix_s(rows["timestamp"]), rows["utilization_pct"].to_numpy("float64")))
        one = _of_node(str(node), stretches, step_s, np.sort(np.asarray(checkpoints_s, dtype="float64")))
        if one is not None:
            found.append(one)
    return tuple(sorted(found, key=lambda one: -one.share))


def _stretches(at_s: NDArray[np.float64], busy: NDArray[np.float64]) -> Iterator[_Stretch]:
    gaps = np.diff(at_s)
    if not len(gaps):
        return
    interval_s = float(np.median(gaps))
    if interval_s > _COARSEST_S:
        return
    for part in np.split(np.arange(len(at_s)), np.flatnonzero(gaps > _HOLE * interval_s) + 1):
        still = busy[part] < STILL_PCT
        edges = np.diff(still.astype(np.int8))
        begins, ends = np.flatnonzero(edges == 1) + 1, np.flatnonzero(edges == -1) + 1
        if still[0]:
            ends = ends[1:]
        times = at_s[part]
        spans = tuple(
            (float(times[begin]), float(times[end]))
            for begin, end in zip(begins, ends, strict=False)
            if end - begin >= _FEWEST_SAMPLES and _SHORTEST_S <= times[end] - times[begin] <= _LONGEST_S
        )
        yield _Stretch(float(times[0]), float(times[-1]) + interval_s, spans, bool(still.any()))


def _of_node(
    node: str, stretches: Sequence[_Stretch], step_s: float | None, checkpoints_s: NDArray[np.float64]
) -> Stalls | None:
    spans = [span for stretch in stretches for span in stretch.still]
    read_s = sum(stretch.end_s - stretch.begin_s for stretch in stretches)
    share = sum(end - begin for begin, end in spans) / read_s if read_s else 0.0
    if share < LEAST_SHARE:
        return None
    lengths = [end - begin for begin, end in spans]
    since, until = (datetime.fromtimestamp(at, UTC) for at in (min(spans)[0], max(spans)[1]))

    def said(period_s: float | None, goes_with: With, steps: int | None = None) -> Stalls:
        return Stalls(node, len(spans), share, float(np.median(lengths)), period_s, goes_with, steps, since, until)

    if _go_with(spans, stretches, checkpoints_s):
        apart = np.diff(checkpoints_s)
        apart = apart[apart > 2 * _NEAR_S]
        return said(float(np.median(apart)) if len(apart) else None, "checkpoint")
    period_s = _period_s(stretches)
    if period_s is None or len(spans) < FEWEST:
        return None
    steps = _steps(period_s, step_s)
    return said(period_s, "" if steps is None else "step" if steps == 1 else "steps", steps)


def _go_with(
    spans: Sequence[tuple[float, float]], stretches: Sequence[_Stretch], checkpoints_s: NDArray[np.float64]
) -> bool:
    """Whether two in three standstills lie beside a line about a checkpoint, where little of what was read does."""

    def beside(begin: float, end: float) -> bool:
        first, last = np.searchsorted(checkpoints_s, [begin - _NEAR_S, end + _NEAR_S])
        return bool(last > first)

    hits = sum(beside(*span) for span in spans)
    if hits < FEWEST_STRETCHES or hits < _MOSTLY * len(spans):
        return False
    # Who writes a checkpoint every few seconds has a line of it beside everything.
    moments = [at for stretch in stretches for at in np.arange(stretch.begin_s, stretch.end_s)]
    return bool(np.mean([beside(at, at) for at in moments]) < hits / len(spans) / 2) or _alone(spans, stretches)


def _alone(spans: Sequence[tuple[float, float]], stretches: Sequence[_Stretch]) -> bool:
    """No stretch has more than one: they are as rare as checkpoints."""
    return all(len(stretch.still) <= 1 for stretch in stretches) and len(spans) >= FEWEST_STRETCHES


def _period_s(stretches: Sequence[_Stretch]) -> float | None:
    """From one to the next, where that is regular, and nearly every stretch that is long enough shows one."""
    apart = np.concatenate([np.diff([begin for begin, _ in stretch.still]) for stretch in stretches])
    if len(apart) < FEWEST - 1:
        return None
    period_s = float(np.median(apart))
    if _MAD * float(np.median(np.abs(apart - period_s))) > _REGULAR * period_s:
        return None
    long = [stretch for stretch in stretches if stretch.end_s - stretch.begin_s >= 1.5 * period_s]
    if len(long) < FEWEST_STRETCHES or sum(stretch.touched for stretch in long) < _MOSTLY * len(long):
        return None
    return period_s


def _steps(period_s: float, step_s: float | None) -> int | None:
    """How many steps a period is; None where it is no whole number of them, or too many to tell."""
    if not step_s:
        return None
    steps = round(period_s / step_s)
    near = abs(period_s / step_s - steps) <= _OFF_STEP
    return steps if 1 <= steps <= _MOST_STEPS and near else None


def _unix_s(times: pd.Series) -> NDArray[np.float64]:
    at_s: NDArray[np.float64] = (
        times.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy("datetime64[ms]").astype("int64") / 1e3
    )
    return at_s


#: Below it, as the mean of a node's GPUs in one sample, they wait for most of it or for all of it.
WAITING_PCT = 60.0
#: A node's GPUs wait in so many of its evenly chosen samples, or it is no matter.
LEAST_WAITING = 0.2
FEWEST_SAMPLES = 20
FEWEST_MINUTES = 3
# Lines of one sample are written within milliseconds.
_TOGETHER = pd.Timedelta(milliseconds=500)
_MOSTLY_AT_LIMIT = 0.8


@dataclass(frozen=True, slots=True)
class Waits:
    """A node, its medians over the samples in which its GPUs wait, and what is different when they work."""

    node: str
    share: float
    """Of all samples that were chosen evenly."""
    gpu_pct: float
    cores: int
    full_cores: float
    full_share: float
    """In what share of the waits a core is full."""
    cpu_pct: float
    """Of the cores that are not full; NaN where all are."""
    waiting_cores: float
    waiting_cores_at_work: float
    """NaN where no sample was read in which the GPUs work."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """What a node's network carried in the samples that were read: the busier direction."""

    node: str
    gbps: float
    """Median, Gbit/s."""
    share_near_limit: float
    samples: int


def waits(gpus: pd.DataFrame, hosts: pd.DataFrame) -> tuple[Waits, ...]:
    """The nodes whose GPUs wait often and were seen doing so, the most waiting first. Both frames are of steady work."""
    if gpus.empty or hosts.empty:
        return ()
    busy = _busy(gpus)
    even = _busy(gpus[gpus["even"]])
    joined = _joined(busy, hosts)
    found = []
    for node, rows in joined.groupby("node", observed=True):
        usual = even[even["node"] == node]["gpu_pct"]
        share = float((usual < WAITING_PCT).mean()) if len(usual) else 0.0
        waiting = rows[rows["gpu_pct"] < WAITING_PCT]
        minutes = waiting["timestamp"].dt.floor("min").nunique()
        if share < LEAST_WAITING or len(waiting) < FEWEST_SAMPLES or minutes < FEWEST_MINUTES:
            continue
        full = waiting["full_cores"].astype("float64")
        found.append(
            Waits(
                str(node),
                share,
                float(waiting["gpu_pct"].median()),
                int(waiting["cores"].max()),
                float(full[full > 0].median()) if (full > 0).any() else 0.0,
                float((full > 0).mean()),
                float(waiting["cpu_pct"].median()),
                float(waiting["waiting_cores"].median()),
                float(rows.loc[rows["gpu_pct"] >= WAITING_PCT, "waiting_cores"].median()),
            )
        )
    return tuple(sorted(found, key=lambda one: -one.share))


def traffic(hosts: pd.DataFrame, limits_gbps: dict[str, float], near: float) -> tuple[Traffic, ...]:
    """Nodes whose network carries at least ``near`` of its limit in four of five samples, the busiest first."""
    return tuple(sorted(_traffic(hosts, limits_gbps, near), key=lambda one: -one.gbps))


def _traffic(hosts: pd.DataFrame, limits_gbps: dict[str, float], near: float) -> Iterator[Traffic]:
    for node, rows in hosts.groupby("node", observed=True):
        limit = limits_gbps.get(str(node))
        carried = rows.assign(gbps=rows[["received_bytes_s", "sent_bytes_s"]].max(axis=1) * 8e-9).dropna(
            subset=["gbps"]
        )
        minutes = carried["timestamp"].dt.floor("min").nunique()
        if limit is None or len(carried) < FEWEST_SAMPLES or minutes < FEWEST_MINUTES:
            continue
        share = float((carried["gbps"] >= near * limit).mean())
        if share >= _MOSTLY_AT_LIMIT:
            yield Traffic(str(node), float(carried["gbps"].median()), share, len(carried))


def _busy(gpus: pd.DataFrame) -> pd.DataFrame:
    """``node timestamp gpu_pct``: the mean over the GPUs of a node, by sample."""
    means = gpus.groupby(["node", "timestamp"], observed=True)["utilization_pct"].mean()
    return means.rename("gpu_pct").reset_index()


def _joined(busy: pd.DataFrame, hosts: pd.DataFrame) -> pd.DataFrame:
    if busy.empty:
        return hosts.iloc[:0].assign(gpu_pct=pd.Series(dtype="float64"))
    return pd.merge_asof(
        hosts.sort_values("timestamp"),
        busy.sort_values("timestamp"),
        on="timestamp",
        by="node",
        direction="nearest",
        tolerance=_TOGETHER,
    ).dropna(subset=["gpu_pct"])


PIECES = 20
FEWEST_IN_A_STEP = 60
FEWEST_STEPS = 10
# A step must be as long as this many samples are apart, or each would be a blur of several.
_FEWEST_IN_A_STEP = 2.0
# A report may stand for several steps; the beginning of one is known less and less, the further it lies before its report.
_MOST_STEPS_BACK = 10.0


@dataclass(frozen=True, slots=True)
class StepAnatomy:
    """The GPU use of a node within a step."""

    node: str
    pieces: pd.DataFrame
    """``piece begin_s end_s mean_pct low_pct high_pct samples``: mean, and p10 to p90, of the mean over the node's GPUs."""
    step_s: float
    """Median of the steps that were sampled."""
    steps: int
    samples: int


def step_anatomy(gpus: pd.DataFrame, steps: pd.DataFrame, node: str) -> StepAnatomy | None:
    """None where too few samples lie in steps of a known time, or samples are too far apart.

    Where the node prints no steps, those of all nodes are taken: in synchronous training they are the same. The line of a
    step is taken for its end, so the picture may be turned by as long as a line takes to come out.
    """
    mine = gpus[gpus["node"] == node]
    means = mine.groupby("timestamp")["utilization_pct"].mean()
    known = steps[steps["timestamp"].notna() & steps["step_time_s"].gt(0) & ~steps["warm_up"]]
    own = known[known["node"] == node]
    known = (own if len(own) else known).sort_values("timestamp").drop_duplicates("timestamp")
    if len(means) < FEWEST_IN_A_STEP or known.empty:
        return None
    at_s, ends_s = _unix_s(means.index.to_series()), _unix_s(known["timestamp"])
    times_s = known["step_time_s"].to_numpy("float64")
    place = np.searchsorted(ends_s, at_s, "left")
    inside = place < len(ends_s)
    place, at_s, busy = place[inside], at_s[inside], means.to_numpy("float64")[inside]
    before = (ends_s[place] - at_s) / times_s[place]
    begun = np.where(place > 0, ends_s[place - 1], -np.inf)
    inside = (before <= _MOST_STEPS_BACK) & (at_s >= begun) & ~np.isnan(busy)
    place, before, busy, at_s = place[inside], before[inside], busy[inside], at_s[inside]
    step_s = float(np.median(times_s[place])) if len(place) else 0.0
    whole = np.unique(np.column_stack([place, np.floor(before)]), axis=0) if len(place) else np.empty((0, 2))
    if len(busy) < FEWEST_IN_A_STEP or len(whole) < FEWEST_STEPS:
        return None
    if step_s < _FEWEST_IN_A_STEP * float(np.median(np.diff(at_s))):
        return None
    phase = 1.0 - np.mod(before, 1.0)
    piece = np.minimum((phase * PIECES).astype("int64"), PIECES - 1)
    table = pd.DataFrame({"piece": piece, "busy": busy}).groupby("piece")["busy"]
    pieces = pd.DataFrame(
        {
            "mean_pct": table.mean(),
            "low_pct": table.quantile(0.1),
            "high_pct": table.quantile(0.9),
            "samples": table.size(),
        }
    ).reset_index()
    width_s = step_s / PIECES
    pieces = pieces.assign(begin_s=pieces["piece"] * width_s, end_s=(pieces["piece"] + 1) * width_s)
    return StepAnatomy(node, pieces, step_s, len(whole), len(busy))
