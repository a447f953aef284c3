"""Which node differs from its peers in the same minute, by robust statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import pandas as pd

SIGMAS = 5.0
LEAST_SHARE = 0.10
# A node is named for what it does in this many of so many minutes, not for one.
OF_MINUTES = 10
FLAGGED_MINUTES = 5
# With two nodes there is a difference but no telling whose fault it is.
FEWEST_PEERS = 3
# MAD of nodes that agree to the last digit is 0; nothing is measured finer than this share of the median.
FINEST = 0.005


@dataclass(frozen=True, slots=True)
class Outlier:
    """A node with its own median and its peers' over the minutes in which it differed."""

    node: str
    value: float
    peers: float
    start: datetime
    end: datetime
    minutes: int


def slow_nodes(steps: pd.DataFrame, peer_group: Mapping[str, str]) -> Outlier | None:
    """The node whose step times exceed its peers' the most; None where none does, or where it cannot be told."""
    known = (steps["node"] != "") & ~steps["warm_up"]
    rows = steps.loc[known, ["node", "timestamp", "step_time_s"]].dropna()
    rows = rows.assign(minute=rows["timestamp"].dt.floor("min"))
    return _worst(
        rows.pivot_table(index="minute", columns="node", values="step_time_s", aggfunc="median"), peer_group, True
    )


def unlike_nodes(metrics: pd.DataFrame, peer_group: Mapping[str, str]) -> Outlier | None:
    """The node whose GPU utilization differs from its peers' the most, either way; None where none does."""
    rows = metrics[metrics["metric"] == "gpu_utilization"]
    return _worst(rows.pivot_table(index="timestamp", columns="node", values="value_pct"), peer_group, False)


def _worst(table: pd.DataFrame, peer_group: Mapping[str, str], only_above: bool) -> Outlier | None:
    found = []
    groups: dict[str, list[str]] = {}
    for node in table.columns:
        groups.setdefault(peer_group.get(str(node), ""), []).append(node)
    for names in groups.values():
        if len(names) >= FEWEST_PEERS:
            found += _outliers(table[names], only_above)
    return max(found, key=lambda outlier: abs(outlier.value / outlier.peers - 1), default=None)


def _outliers(table: pd.DataFrame, only_above: bool) -> list[Outlier]:
    table = table[table.notna().sum(axis=1) >= FEWEST_PEERS]
    median = table.median(axis=1)
    spread = 1.4826 * table.sub(median, axis=0).abs().median(axis=1)
    away = table.sub(median, axis=0)
    away = away if only_above else away.abs()
    limit = pd.concat([SIGMAS * spread.clip(lower=FINEST * median), LEAST_SHARE * median], axis=1).max(axis=1)
    flagged = away.gt(limit, axis=0)
    often = flagged.rolling(OF_MINUTES, min_periods=FLAGGED_MINUTES).sum().ge(FLAGGED_MINUTES).any()
    out = []
    for node in table.columns[often]:
        minutes = table.index[flagged[node]]
        peers = table.loc[minutes].drop(columns=node).median(axis=1)
        out.append(
            Outlier(
                str(node),
                float(table.loc[minutes, node].median()),
                float(peers.median()),
                minutes[0].to_pydatetime(),
                minutes[-1].to_pydatetime(),
                len(minutes),
            )
        )
    return out
