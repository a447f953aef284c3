"""Single GPUs of a node, by the samples of a profiler: how busy and how full each was, which is unlike its siblings, and
whether processes run on other GPUs than they were meant to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import pandas as pd

from monitor.analyze.utilization import distribution
from monitor.model import GpuStats


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
    return tuple(_found(gpus[gpus["even"]], processes))


def _found(gpus: pd.DataFrame, processes: int | None) -> Iterator[WrongGpus]:
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
