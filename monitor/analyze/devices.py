"""How many of a host's GPUs are in use? CloudWatch gives sums over a host, so it is told from what a sum cannot pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

# One GPU at full load is 100 in the host's sum; ten more allow for sampling and for contexts on the others.
SLACK_PCT = 10.0
NEARLY_EVERY = 0.95
# A sum that stays this near to what k GPUs can give is k GPUs at full load.
PINNED_PCT = 1.5
ABOVE_PCT = 0.3
FEWEST_PINNED = 20
# Memory must stay there too: of GPUs whose framework takes nearly all.
PINNED_MEMORY = 0.95
# How far the ratio to the peers may be from k/g, for both GPU and memory.
RATIO = 0.02
FEWEST_PEERS = 2
BUSY_PEERS_PCT = 50.0
HELD_BY_PEERS_PCT = 20.0


@dataclass(frozen=True, slots=True)
class InUse:
    """``used`` of a host's ``gpus`` seem to work; the medians are sums over the host, percent of one GPU."""

    node: str
    used: int
    gpus: int
    busy_sum: float
    held_sum: float
    against: str = ""
    """"peers" where other hosts show the difference, "ceiling" where the sum stays at what ``used`` GPUs can give."""


def by_minute(metrics: pd.DataFrame) -> pd.DataFrame:
    """One row a node and minute with the columns ``gpu memory``, percent of one device, where both are known."""
    names = {"gpu_utilization": "gpu", "gpu_memory_utilization": "memory"}
    rows = metrics[metrics["metric"].isin(names)]
    table = rows.pivot_table(index=["node", "timestamp"], columns="metric", values="value_pct").rename(columns=names)
    return table.reindex(columns=["gpu", "memory"]).dropna().reset_index()


def within(table: pd.DataFrame, gpus: Mapping[str, int], used: int, fewest: int) -> tuple[InUse, ...]:
    """The nodes with more than ``used`` GPUs whose sums of utilization and memory fit that many on nearly every minute."""
    found = []
    for name, rows in table.groupby("node", observed=True):
        count = gpus.get(str(name), 0)
        if count <= used or len(rows) < fewest:
            continue
        busy, held = rows["gpu"] * count, rows["memory"] * count
        most = 100.0 * used + SLACK_PCT
        if ((busy <= most) & (held <= most)).mean() >= NEARLY_EVERY:
            found.append(InUse(str(name), used, count, float(busy.median()), float(held.median())))
    return tuple(found)


def fewer_than_peers(
    table: pd.DataFrame, gpus: Mapping[str, int], kinds: Mapping[str, str], fewest: int
) -> tuple[InUse, ...]:
    """The nodes whose GPU utilization and memory are both the same k/g of the median of their peers of the same type."""
    if table["node"].nunique() <= FEWEST_PEERS:
        return ()
    known = table.groupby("node", observed=True).filter(lambda rows: len(rows) >= fewest)
    median = known.groupby("node", observed=True)[["gpu", "memory"]].median()
    found = []
    for name, mine in median.iterrows():
        count = gpus.get(str(name), 0)
        like = [other for other in median.index if other != name and kinds.get(other) == kinds.get(str(name))]
        if count < 2 or len(like) < FEWEST_PEERS:
            continue
        peers = median.loc[like].median()
        if peers["gpu"] < BUSY_PEERS_PCT or peers["memory"] < HELD_BY_PEERS_PCT:
            continue
        busy, held = mine["gpu"] / peers["gpu"], mine["memory"] / peers["memory"]
        used = round(busy * count)
        if 1 <= used < count and max(abs(busy - used / count), abs(held - used / count)) <= RATIO:
            found.append(_of(str(name), used, count, mine, "peers"))
    return tuple(found)


def at_a_ceiling(table: pd.DataFrame, gpus: Mapping[str, int]) -> tuple[InUse, ...]:
    """The nodes whose summed utilization stays just below what k of their GPUs can give, their memory likewise.

    Only where it is so on all nodes: one of several that happens to be there is no proof.
    """
    found: list[InUse] = []
    for name, rows in table.groupby("node", observed=True):
        count = gpus.get(str(name), 0)
        if count < 2 or len(rows) < FEWEST_PINNED:
            continue
        middle, top = rows["gpu"].median(), rows["gpu"].max()
        for used in range(1, count):
            most = 100.0 * used / count
            pinned = middle >= most - PINNED_PCT and top <= most + ABOVE_PCT
            full = rows["memory"].median() >= PINNED_MEMORY * most and rows["memory"].max() <= most + ABOVE_PCT
            if pinned and full:
                found.append(_of(str(name), used, count, rows[["gpu", "memory"]].median(), "ceiling"))
    return tuple(found) if len(found) == table["node"].nunique() else ()


def _of(name: str, used: int, count: int, medians: pd.Series, against: str) -> InUse:
    return InUse(name, used, count, float(medians["gpu"]) * count, float(medians["memory"]) * count, against)
