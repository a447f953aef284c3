"""Which GPU of a node is less or more busy than its siblings, or holds less or more memory: minute by minute, of samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pandas as pd

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
