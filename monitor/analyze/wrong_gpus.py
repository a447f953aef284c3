"""Do processes run on other GPUs than they were meant to? Some GPUs of a node are empty, while others hold too much."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from monitor.analyze.gpus import EMPTY_PCT

FEWEST_MINUTES = 3
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
    minutes: int

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
        if minutes < FEWEST_MINUTES or len(figures) < 2:
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
            minutes,
        )
