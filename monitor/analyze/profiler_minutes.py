"""Which minutes of which nodes are worth reading of a profiler's output? A whole day of it may take hundreds of gigabytes.

Minutes that are spread evenly over the job show what is usual, and since when something is not. Whole minutes show what an
average hides: around what the one-minute figures show (the lowest utilization, the fullest memory, checkpoints, the slowest
step, the end of a job that failed), and at two quiet moments.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pandas as pd

from monitor.analyze.cascade import cascade
from monitor.model import Run

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
        yield from _places(near)  # quiet moments of the least busy node
        low = busy[busy["value_pct"] < _LOW * busy["node"].map(usual).astype("float64")]
        yield from _places(low.nsmallest(2, "value_pct"))  # the lowest minutes
    if len(held) and held["value_pct"].max() >= _HIGH_MEMORY_PCT:
        yield from _places(held.nlargest(1, "value_pct"))  # the fullest memory
    yield from _saves(run)
    yield from _slowest(run)
    if run.job.status == "Failed" and run.job.ended is not None:
        yield from _failure(run, run.job.ended)
    if len(busy):
        # One more quiet moment, of another node: for comparison.
        most = busy[busy["node"] == str(usual.idxmax())]
        yield from _places(most.iloc[len(most) // 2 : len(most) // 2 + 1])


def _saves(run: Run) -> Iterator[tuple[str, int]]:
    """The minutes of some checkpoints, spread over all of them, on the node that tells of them."""
    told = run.events[run.events["kind"].str.startswith("checkpoint") & run.events["timestamp"].notna()]
    told = told[told["node"] != ""]
    if len(told):
        minutes = told.assign(minute=told["timestamp"].dt.floor("min")).drop_duplicates("minute")
        places = np.linspace(0, len(minutes) - 1, min(len(minutes), SAVES)).astype(int)
        yield from _places(minutes.iloc[places])  # checkpoints


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
        yield from _places(slow.assign(timestamp=ends))


def _of(metrics: pd.DataFrame, metric: str) -> pd.DataFrame:
    return metrics[metrics["metric"] == metric]


def _places(rows: pd.DataFrame) -> Iterator[tuple[str, int]]:
    for node, at in zip(rows["node"], rows["timestamp"], strict=True):
        yield str(node), int(at.timestamp()) // _MINUTE_S
