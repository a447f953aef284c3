"""Single GPUs of a node, by the samples of a profiler: how busy and how full each was, which is unlike its siblings, whether
processes run on other GPUs than they were meant to; and which minutes of which nodes are worth reading of its output.

Minutes that are spread evenly over the job show what is usual, and since when something is not. Whole minutes show what an
average hides: around what the one-minute figures show (the lowest utilization, the fullest memory, checkpoints, the slowest
step, the end of a job that failed), and at two quiet moments.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import pandas as pd

from monitor.analyze.cascade import cascade
from monitor.analyze.utilization import distribution
from monitor.model import GpuStats, Run


def by_gpu(gpus: pd.DataFrame) -> dict[str, tuple[GpuStats, ...]]:
    """node -> the figures of its GPUs, in order. Of the rows that were chosen evenly; the maximum is of all."""
    out: dict[str, list[GpuStats]] = {}
    for (node, gpu), rows in gpus.groupby(["node", "gpu"], observed=True):
        even = rows[rows["even"]] if rows["even"].any() else rows
        most = rows["memory_pct"].max()
        out.setdefault(str(node), []).append(
            GpuStats(
                int(gpu),
                len(even),
                distribution(even["utilization_pct"]),
                distribution(even["memory_pct"]),
                None if pd.isna(most) else float(most),
            )
        )
    return {node: tuple(found) for node, found in out.items()}


# A percentile of fewer samples says nothing, nor do those of one or two minutes.
_FEWEST_SAMPLES = 8
_FEWEST_MINUTES = 3
_BEFORE = timedelta(minutes=5)


#: A GPU with no more than this to do, and no more memory, is used by no process.
EMPTY_PCT = 2.0


def in_use(gpus: pd.DataFrame) -> dict[str, tuple[tuple[int, ...], tuple[int, ...]]]:
    """node -> the numbers of its GPUs that are in use, and of those that are empty, at the 95th percentile of the rows that
    were chosen evenly; nodes of which fewer than three minutes were read are left out."""
    even = gpus[gpus["even"]]
    out = {}
    for node, rows in even.groupby("node", observed=True):
        if rows["timestamp"].dt.floor("min").nunique() < _FEWEST_MINUTES:
            continue
        high = rows.groupby("gpu")[["utilization_pct", "memory_pct"]].quantile(0.95)
        # What is not known is no empty GPU.
        empty = (high["utilization_pct"] <= EMPTY_PCT) & (high["memory_pct"] <= EMPTY_PCT)
        out[str(node)] = tuple(map(int, high.index[~empty])), tuple(map(int, high.index[empty]))
    return out


@dataclass(frozen=True, slots=True)
class Fullest:
    """The GPU of a node that holds most memory, at its 95th percentile."""

    gpu: int
    pct: float


@dataclass(frozen=True, slots=True)
class FullestBefore:
    """The fullest GPU of a node shortly before something, in one sample; and the mean of its host's GPUs in that sample."""

    node: str
    gpu: int
    pct: float
    host_pct: float
    at: datetime


def fullest_before(gpus: pd.DataFrame, node: str, at: datetime) -> FullestBefore | None:
    """Of any sample in the five minutes before ``at``; None where none was read."""
    rows = gpus[(gpus["node"] == node) & (gpus["timestamp"] <= at) & (gpus["timestamp"] > at - _BEFORE)]
    rows = rows[rows["memory_pct"].notna()]
    if rows.empty:
        return None
    one = rows.loc[rows["memory_pct"].idxmax()]
    beside = rows[rows["timestamp"] == one["timestamp"]]["memory_pct"]
    moment = one["timestamp"].to_pydatetime()
    return FullestBefore(node, int(one["gpu"]), float(one["memory_pct"]), float(beside.mean()), moment)


def fullest(gpus: pd.DataFrame) -> dict[str, Fullest]:
    """By node, of the rows that were chosen evenly; nodes of which too few were read are left out."""
    even = gpus[gpus["even"] & gpus["memory_pct"].notna()]
    out: dict[str, Fullest] = {}
    for node, rows in even.groupby("node", observed=True):
        minutes = rows["timestamp"].dt.floor("min").nunique()
        if minutes < _FEWEST_MINUTES or rows["timestamp"].nunique() < _FEWEST_SAMPLES:
            continue
        high = rows.groupby("gpu")["memory_pct"].quantile(0.95)
        out[str(node)] = Fullest(int(high.idxmax()), float(high.max()))
    return out


#: Two GPUs differ, and nothing tells which of them is at fault.
FEWEST_GPUS = 3
#: Of a node, in which a GPU must differ.
FEWEST_MINUTES = 3
LEAST_POINTS = 10.0
_SIGMAS = 5.0
_MAD = 1.4826
# From the first minute in which it differs on, in so many of them.
_LASTING = 0.75
# More of a node's GPUs that differ are a pattern (stages, expert groups), and no single odd one.
_MOST_ODD = 0.25


@dataclass(frozen=True, slots=True)
class UnlikeGpu:
    """A GPU with its own medians and its siblings' over the minutes from ``since`` on."""

    node: str
    gpu: int
    of: int
    """How many GPUs of the node were seen."""
    busy_pct: float
    siblings_busy_pct: float
    held_pct: float
    siblings_held_pct: float
    since: datetime
    until: datetime
    minutes: int
    from_the_start: bool
    """It differs in the first minute that was read."""

    @property
    def points(self) -> float:
        """How far its utilization is from its siblings': negative where it is less busy."""
        return self.busy_pct - self.siblings_busy_pct

    @property
    def name(self) -> str:
        return f"{self.node}/gpu{self.gpu}"


def unlike_gpus(gpus: pd.DataFrame) -> tuple[UnlikeGpu, ...]:
    """The odd ones, the most different first. ``gpus`` is the Gpus frame of steady work; its evenly chosen minutes count."""
    even = gpus[gpus["even"]]
    if even.empty:
        return ()
    minutes = even.assign(minute=even["timestamp"].dt.floor("min"))
    means = minutes.groupby(["node", "minute", "gpu"], observed=True)[["utilization_pct", "memory_pct"]].mean()
    found = [one for node, rows in means.groupby("node", observed=True) for one in _of_node(str(node), rows)]
    return tuple(sorted(found, key=lambda one: -abs(one.points)))


def _of_node(node: str, means: pd.DataFrame) -> Iterator[UnlikeGpu]:
    busy = means["utilization_pct"].droplevel("node").unstack("gpu").dropna()
    held = means["memory_pct"].droplevel("node").unstack("gpu").reindex(busy.index)
    count = busy.shape[1]
    if count < FEWEST_GPUS or len(busy) < FEWEST_MINUTES:
        return
    odd = {gpu: since for gpu in busy.columns if (since := _since(busy, gpu)) is not None}
    if not odd or len(odd) > max(1.0, _MOST_ODD * count):
        return
    for gpu, since in odd.items():
        rows, memory = busy.iloc[since:], held.iloc[since:]
        others = [other for other in busy.columns if other not in odd]
        yield UnlikeGpu(
            node,
            int(gpu),
            count,
            float(rows[gpu].median()),
            float(rows[others].median(axis=1).median()),
            float(memory[gpu].median()),
            float(memory[others].median(axis=1).median()),
            rows.index[0].to_pydatetime(),
            rows.index[-1].to_pydatetime(),
            len(rows),
            since == 0,
        )


def _since(busy: pd.DataFrame, gpu: int) -> int | None:
    """The place of the first minute from which on the GPU differs, always the same way; None where it does not."""
    siblings = busy.drop(columns=gpu)
    median = siblings.median(axis=1)
    spread = _MAD * siblings.sub(median, axis=0).abs().median(axis=1)
    away = busy[gpu] - median
    beyond = away.abs() > np.maximum(LEAST_POINTS, _SIGMAS * spread)
    for sign in (-1, 1):
        flagged = (beyond & (np.sign(away) == sign)).to_numpy()
        first = int(np.argmax(flagged))
        if flagged.sum() >= FEWEST_MINUTES and flagged[-1] and flagged[first:].mean() >= _LASTING:
            return first
    return None


_FEWEST_WRONG_MINUTES = 3
# A GPU that is shared holds more than one process needs: by so much, and so many points.
_TIMES = 1.3
_POINTS = 15.0


@dataclass(frozen=True, slots=True)
class WrongGpus:
    """A node with GPUs that no process uses although there is one for each, or although another GPU has two."""

    node: str
    gpus: int
    empty: tuple[int, ...]
    shared: tuple[int, ...]
    """Those that hold much more memory than the other GPUs in use; empty where that is not what tells."""
    shared_held_pct: float | None
    """Median memory of the fullest of them."""
    others_held_pct: float

    @property
    def used(self) -> int:
        return self.gpus - len(self.empty)


def wrong_gpus(gpus: pd.DataFrame, processes: int | None) -> tuple[WrongGpus, ...]:
    """By node. ``gpus`` is the Gpus frame of steady work, of which the evenly chosen minutes count; ``processes`` is how many
    each host starts, None where nobody knows."""
    return tuple(_wrong_gpus(gpus[gpus["even"]], processes))


def _wrong_gpus(gpus: pd.DataFrame, processes: int | None) -> Iterator[WrongGpus]:
    for node, rows in gpus.groupby("node", observed=True):
        minutes = int(rows["timestamp"].dt.floor("min").nunique())
        figures = rows.groupby("gpu")[["utilization_pct", "memory_pct"]].quantile(0.95).dropna()
        if minutes < _FEWEST_WRONG_MINUTES or len(figures) < 2:
            continue
        empty = (figures["utilization_pct"] <= EMPTY_PCT) & (figures["memory_pct"] <= EMPTY_PCT)
        used = figures[~empty]
        if not empty.any() or used.empty:
            continue
        held = used["memory_pct"]
        usual = float(held.median())
        # Of two that are in use, the emptier one tells what one process needs.
        base = float(held.min()) if len(held) == 2 else usual
        shared = held[(held >= _TIMES * base) & (held - base >= _POINTS)] if len(held) > 1 else held.iloc[:0]
        too_many = processes is not None and len(figures) >= processes > len(used)
        if shared.empty and not too_many:
            continue
        if len(shared) > int(empty.sum()):
            # More of them than GPUs that lack a process: stages or ranks that hold more by right.
            if not too_many:
                continue
            shared = shared.iloc[:0]
        yield WrongGpus(
            str(node),
            len(figures),
            tuple(int(gpu) for gpu in figures.index[empty]),
            tuple(int(gpu) for gpu in shared.index),
            float(shared.max()) if len(shared) else None,
            base,
        )


#: As many at most, of each of so many nodes.
EVEN_MINUTES = 12
EVEN_NODES = 16
#: Whole minutes at most.
FOUND_MINUTES = 14
#: Checkpoints of which the minute is looked at.
SAVES = 4
_MINUTE_S = 60
# Below this share of its median a minute is low.
_LOW = 0.8
_HIGH_MEMORY_PCT = 80.0
_SLOW = 1.5


@dataclass(frozen=True, slots=True)
class Wanted:
    """A minute of a node."""

    node: str
    at_s: int
    """Unix seconds, of its beginning."""
    even: bool
    """One of those that are spread evenly, of which the beginning will do."""


def wanted(run: Run, start: datetime, end: datetime, metrics: pd.DataFrame) -> tuple[Wanted, ...]:
    """The minutes to read from ``start`` to ``end``, what matters most first; ``metrics`` are those of steady work."""
    first, last = math.ceil(start.timestamp() / _MINUTE_S), math.floor(end.timestamp() / _MINUTE_S) - 1
    if last < first:
        return ()
    ended = run.job.ended
    # How a job ended is seen after the work that is judged.
    newest = last if ended is None else max(last, int(ended.timestamp()) // _MINUTE_S)
    found = [Wanted(node, at * _MINUTE_S, False) for node, at in _telling(run, metrics) if first <= at <= newest]
    # On a grid that only becomes coarser as a job goes on, so what was read of a running job is not read in vain.
    every = 1
    while (last - first) // every + 1 > EVEN_MINUTES:
        every *= 2
    even = [at for at in range(first, last + 1) if at % every == 0] or [first]
    if run.job.is_running and even[-1] != last:
        # What is going on now is of more interest than the grid.
        even.append(last)
    nodes = _nodes(run, metrics)
    spread = [Wanted(node, at * _MINUTE_S, True) for at in _inside_out(even) for node in nodes]
    return (*tuple(dict.fromkeys(found))[:FOUND_MINUTES], *spread)


def _nodes(run: Run, metrics: pd.DataFrame) -> list[str]:
    """All nodes that have GPUs; of very many, half are the least busy ones, and half are spread evenly."""
    names = [node.name for node in run.job.nodes if node.gpus != 0]
    if len(names) <= EVEN_NODES:
        return names
    half = EVEN_NODES // 2
    means = _of(metrics, "gpu_utilization").groupby("node", observed=True)["value_pct"].mean().nsmallest(half)
    stride = len(names) / (EVEN_NODES - len(means))
    evenly = [names[int(place * stride)] for place in range(EVEN_NODES - len(means))]
    return list(dict.fromkeys([*map(str, means.index), *evenly]))


def _inside_out(minutes: list[int]) -> list[int]:
    """First, last and middle ones first: if there is no room for all, what is read still covers the job."""
    ends = [minutes[0], minutes[-1], minutes[len(minutes) // 2]]
    return list(dict.fromkeys([*ends, *minutes]))


def _telling(run: Run, metrics: pd.DataFrame) -> Iterator[tuple[str, int]]:
    """Nodes and minutes since the epoch: what each is chosen for stands beside it."""
    busy, held = _of(metrics, "gpu_utilization"), _of(metrics, "gpu_memory_utilization")
    if len(busy):
        usual = busy.groupby("node", observed=True)["value_pct"].median()
        least = str(usual.idxmin())
        quiet = busy[busy["node"] == least]
        near = quiet.iloc[(quiet["value_pct"] - usual[least]).abs().argsort().iloc[:2]]
        yield from _positions(near)  # quiet moments of the least busy node
        low = busy[busy["value_pct"] < _LOW * busy["node"].map(usual).astype("float64")]
        yield from _positions(low.nsmallest(2, "value_pct"))  # the lowest minutes
    if len(held) and held["value_pct"].max() >= _HIGH_MEMORY_PCT:
        yield from _positions(held.nlargest(1, "value_pct"))  # the fullest memory
    yield from _saves(run)
    yield from _slowest(run)
    if run.job.status == "Failed" and run.job.ended is not None:
        yield from _failure(run, run.job.ended)
    if len(busy):
        # One more quiet moment, of another node: for comparison.
        most = busy[busy["node"] == str(usual.idxmax())]
        yield from _positions(most.iloc[len(most) // 2 : len(most) // 2 + 1])


def _saves(run: Run) -> Iterator[tuple[str, int]]:
    """The minutes of some checkpoints, spread over all of them, on the node that tells of them."""
    told = run.events[run.events["kind"].str.startswith("checkpoint") & run.events["timestamp"].notna()]
    told = told[told["node"] != ""]
    if len(told):
        minutes = told.assign(minute=told["timestamp"].dt.floor("min")).drop_duplicates("minute")
        places = np.linspace(0, len(minutes) - 1, min(len(minutes), SAVES)).astype(int)
        yield from _positions(minutes.iloc[places])  # checkpoints


def _failure(run: Run, ended: datetime) -> Iterator[tuple[str, int]]:
    """The last minutes of the node on which the failure began; of the first two where nobody knows."""
    begun = cascade(run.events, run.steps)
    at = ended if begun is None or begun.at is None else begun.at
    known = () if begun is None or not begun.node else (begun.node,)
    for node in known or run.job.node_names[:2]:
        yield node, int(at.timestamp()) // _MINUTE_S
        yield node, int(at.timestamp()) // _MINUTE_S - 1


def _slowest(run: Run) -> Iterator[tuple[str, int]]:
    steps = run.steps
    known = steps[~steps["warm_up"] & steps["step_time_s"].notna() & steps["timestamp"].notna() & (steps["node"] != "")]
    if len(known) and known["step_time_s"].max() >= _SLOW * known["step_time_s"].median():
        slow = known.nlargest(1, "step_time_s")
        ends = slow["timestamp"] - pd.to_timedelta(slow["step_time_s"].clip(upper=3600), unit="s")
        yield from _positions(slow.assign(timestamp=ends))


def _of(metrics: pd.DataFrame, metric: str) -> pd.DataFrame:
    return metrics[metrics["metric"] == metric]


def _positions(rows: pd.DataFrame) -> Iterator[tuple[str, int]]:
    for node, at in zip(rows["node"], rows["timestamp"], strict=True):
        yield str(node), int(at.timestamp()) // _MINUTE_S
