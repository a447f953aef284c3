"""What does a host do in the very samples in which its GPUs wait? Cores, I/O wait and network beside the GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

#: Below it, as the mean of a node's GPUs in one sample, they wait for most of it or for all of it.
WAITING_PCT = 60.0
#: A node's GPUs wait in so many of its evenly chosen samples, or it is no matter.
LEAST_SHARE = 0.2
FEWEST_SAMPLES = 20
FEWEST_MINUTES = 3
# Lines of one sample are written within milliseconds.
_TOGETHER = pd.Timedelta(milliseconds=500)
_MOSTLY = 0.8


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
    busy = _busy(gpus)
    even = _busy(gpus[gpus["even"]])
    joined = _joined(busy, hosts)
    found = []
    for node, rows in joined.groupby("node", observed=True):
        usual = even[even["node"] == node]["gpu_pct"]
        share = float((usual < WAITING_PCT).mean()) if len(usual) else 0.0
        waiting = rows[rows["gpu_pct"] < WAITING_PCT]
        minutes = waiting["timestamp"].dt.floor("min").nunique()
        if share < LEAST_SHARE or len(waiting) < FEWEST_SAMPLES or minutes < FEWEST_MINUTES:
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
        if share >= _MOSTLY:
            yield Traffic(str(node), float(carried["gbps"].median()), share, len(carried))


def _busy(gpus: pd.DataFrame) -> pd.DataFrame:
    """``node timestamp gpu_pct``: the mean over the GPUs of a node, by sample."""
    means = gpus.groupby(["node", "timestamp"], observed=True)["utilization_pct"].mean()
    return means.rename("gpu_pct").reset_index()


def _joined(busy: pd.DataFrame, hosts: pd.DataFrame) -> pd.DataFrame:
    if busy.empty or hosts.empty:
        return hosts.iloc[:0].assign(gpu_pct=pd.Series(dtype="float64"))
    return pd.merge_asof(
        hosts.sort_values("timestamp"),
        busy.sort_values("timestamp"),
        on="timestamp",
        by="node",
        direction="nearest",
        tolerance=_TOGETHER,
    ).dropna(subset=["gpu_pct"])
