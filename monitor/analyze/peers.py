"""Which nodes differ from their peers, at the same step or in the same minute, by robust statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pandas as pd

from monitor.model import Job, natural_order

SIGMAS = 5.0
LEAST_SHARE = 0.10
# A node is named for what it does in this many of so many minutes, not for one.
OF_MINUTES = 10
FLAGGED_MINUTES = 5
# With two nodes there is a difference but no telling whose fault it is.
FEWEST_PEERS = 3
# MAD of nodes that agree to the last digit is 0; nothing is measured finer than this share of the median.
FINEST = 0.005
# Percent of a device: a smaller difference of utilization is none, whatever its share.
LEAST_POINTS = 5.0
# A node whose GPUs hold so much more or less memory than its peers' does other work, or uses fewer GPUs.
OTHER_MEMORY = 0.10
# A node that is different for a while only (its data are cached later) is not called slow for its utilization.
LASTING = 0.5
# Nodes share their steps where so many of them are numbered alike.
SAME_STEPS = 0.8
_MOST_STEPS = 20_000
_MAD = 1.4826


@dataclass(frozen=True, slots=True)
class Outlier:
    """A node with its own median and its peers' over the minutes in which it differed."""

    node: str
    value: float
    peers: float
    start: datetime | None
    """None where lines have no times."""
    end: datetime | None
    minutes: int
    alone: bool = False
    """There is one peer only: which of the two is at fault, this does not say."""
    peer: str = ""
    """Its name, if there is one only."""


def slow_nodes(steps: pd.DataFrame, peer_group: Mapping[str, str]) -> tuple[Outlier, ...]:
    """The nodes whose step times exceed their peers', the slowest first; empty where none does, or it cannot be told."""
    if len(set(steps["node"].unique()) - {""}) < 2:
        return ()
    known = (steps["node"] != "") & ~steps["warm_up"] & steps["step_time_s"].notna()
    rows = steps.loc[known, ["node", "segment", "step", "timestamp", "step_time_s"]]
    if rows.empty:
        return ()
    return _outliers_of(_by_step(rows), peer_group, only_above=True)


def unlike_nodes(metrics: pd.DataFrame, peer_group: Mapping[str, str]) -> tuple[Outlier, ...]:
    """The nodes whose GPU utilization differs from their peers', either way, the most different first."""
    rows = metrics[metrics["metric"] == "gpu_utilization"]
    if rows["node"].nunique() < 2:
        return ()
    table = rows.groupby(["timestamp", "node"], observed=True)["value_pct"].mean().unstack()
    found = _outliers_of(table, peer_group, only_above=False, least=LEAST_POINTS)
    if not found:
        return ()
    held = metrics[metrics["metric"] == "gpu_memory_utilization"].groupby("node", observed=True)["value_pct"].median()
    return tuple(one for one in found if _lasts(one, table) and not _other_work(one, held, peer_group))


def _lasts(one: Outlier, table: pd.DataFrame) -> bool:
    since = table.index >= pd.Timestamp(one.start)
    return one.minutes >= LASTING * int(table.loc[since, one.node].notna().sum())


def _other_work(one: Outlier, held: pd.Series, peer_group: Mapping[str, str]) -> bool:
    group = peer_group.get(one.node, "")
    peers = [name for name in held.index if peer_group.get(str(name), "") == group and name != one.node]
    if one.node not in held.index or not peers:
        return False
    usual = float(held[peers].median())
    return bool(abs(float(held[one.node]) - usual) > OTHER_MEMORY * usual)


def _by_step(rows: pd.DataFrame) -> pd.DataFrame:
    """A row a minute and a column a node. Where nodes number the same steps, each is measured by its peers at that step."""
    numbered = rows[rows["step"].notna()]
    keys = numbered["segment"].to_numpy("int64") << 40 | numbered["step"].to_numpy("int64")
    places, distinct = pd.factorize(keys, sort=True)
    stride = max(1, -(-len(distinct) // _MOST_STEPS))
    kept = places % stride == 0
    places, sampled = places[kept] // stride, numbered[kept]
    nodes, names = pd.factorize(sampled["node"], sort=True)
    count = -(-len(distinct) // stride)
    cells = places * len(names) + nodes
    size = count * len(names)
    with np.errstate(invalid="ignore"):
        means = np.bincount(cells, sampled["step_time_s"], size) / np.bincount(cells, minlength=size)
    table = means.reshape(count, len(names))
    if not count or float(np.isfinite(table).mean(axis=0).min()) < SAME_STEPS:
        stamped = rows.dropna(subset=["timestamp"])
        minutes = stamped.assign(minute=stamped["timestamp"].dt.floor("min"))
        return minutes.pivot_table(index="minute", columns="node", values="step_time_s", aggfunc="median")
    usual = pd.DataFrame(table).median(axis=1)
    first = np.unique(places, return_index=True)[1]
    moments = sampled["timestamp"].iloc[first].reset_index(drop=True)
    # Without times the steps themselves are the clock.
    bins = usual.cumsum() // 60 if moments.isna().any() else moments.dt.floor("min")
    relative = pd.DataFrame(table, columns=names).div(usual, axis=0)
    return relative.groupby(bins.to_numpy()).median().mul(usual.groupby(bins.to_numpy()).median(), axis=0)


def _outliers_of(
    table: pd.DataFrame, peer_group: Mapping[str, str], only_above: bool, least: float = 0.0
) -> tuple[Outlier, ...]:
    found: list[Outlier] = []
    groups: dict[str, list[str]] = {}
    for node in table.columns:
        groups.setdefault(peer_group.get(str(node), ""), []).append(node)
    for names in groups.values():
        if len(names) >= FEWEST_PEERS:
            found += _outliers(table[names], only_above, least)
        elif len(names) == 2 and len(peer_group) <= 2:
            found += _pair(table[names], only_above, least)
    return tuple(sorted(found, key=lambda one: -abs(one.value / one.peers - 1)))


def _outliers(table: pd.DataFrame, only_above: bool, least: float) -> list[Outlier]:
    table = table[table.notna().sum(axis=1) >= FEWEST_PEERS]
    if table.empty:
        return []
    median = table.median(axis=1)
    away = table.sub(median, axis=0)
    share = away.abs().div(median, axis=0)
    # The spread of one minute is of few nodes; that of all minutes is of many.
    known = share.to_numpy()[np.isfinite(share.to_numpy())]
    usual = float(np.median(known)) * len(table.columns) / (len(table.columns) - 1) if len(known) else 0.0
    spread = _MAD * np.maximum(share.median(axis=1), usual).clip(lower=FINEST) * median
    limit = np.maximum(np.maximum(SIGMAS * spread, LEAST_SHARE * median), least)
    flagged = (away if only_above else away.abs()).gt(limit, axis=0)
    out = []
    for node in table.columns[_often(flagged)]:
        minutes = table.index[flagged[node]]
        peers = table.loc[minutes].drop(columns=node).median(axis=1)
        out.append(_outlier(str(node), table.loc[minutes, node], peers))
    return out


def _pair(table: pd.DataFrame, only_above: bool, least: float) -> list[Outlier]:
    """Of two nodes the slower one (of utilization: the lower), where they differ; its noise is that from minute to minute."""
    table = table.dropna()
    if len(table) < FLAGGED_MINUTES:
        return []
    one, other = table.columns
    ratio = np.log((table[one] / table[other]).clip(lower=1e-3, upper=1e3))
    noise = max(_MAD * float(ratio.diff().abs().median()) / np.sqrt(2.0), FINEST)
    apart = (table[one] - table[other]).abs()
    flagged = (ratio.abs() > max(SIGMAS * noise, np.log1p(LEAST_SHARE))) & (apart >= least)
    for sign, node, peer in ((1, one, other), (-1, other, one)):
        mine = flagged & (np.sign(ratio) == (sign if only_above else -sign))
        if _often(mine.to_frame())[0]:
            rows = table[mine]
            found = _outlier(str(node), rows[node], rows[peer])
            return [
                Outlier(found.node, found.value, found.peers, found.start, found.end, found.minutes, True, str(peer))
            ]
    return []


def _often(flagged: pd.DataFrame) -> np.ndarray:
    if flagged.to_numpy().sum(axis=0).max(initial=0) < FLAGGED_MINUTES:  # as of most nodes: no window can hold so many
        return np.zeros(len(flagged.columns), dtype=bool)
    counts = flagged.astype("float64").rolling(OF_MINUTES, min_periods=FLAGGED_MINUTES).sum()
    often: np.ndarray = counts.ge(FLAGGED_MINUTES).any().to_numpy()
    return often


def _outlier(node: str, own: pd.Series, peers: pd.Series) -> Outlier:
    timed = isinstance(own.index, pd.DatetimeIndex)
    return Outlier(
        node,
        float(own.median()),
        float(peers.median()),
        own.index[0].to_pydatetime() if timed else None,
        own.index[-1].to_pydatetime() if timed else None,
        len(own),
    )


_DEGREES = ("pipeline_parallel_degree", "partitions")


def peer_groups(job: Job) -> dict[str, str] | None:
    """node -> the name of its group: equal instance type, equal stages of the pipeline. None where the pipeline goes over
    nodes in a way that is not known.

    The order of ranks: the SageMaker library's default placement ("cluster": data, pipeline, tensor, the last one varying
    fastest) and "spread" (tensor, pipeline, data); everywhere else (Megatron, DeepSpeed, torchtitan) the pipeline is the
    outermost dimension.
    """
    types = {node.name: node.instance_type or "" for node in job.nodes}
    p = max(_number(job, name) or 1 for name in _DEGREES)
    if p == 1:
        return types
    t = _number(job, "tensor_parallel_degree") or 1
    counts = {node.gpus for node in job.nodes}
    gpus = counts.pop() if len(counts) == 1 else None
    names = sorted(types, key=natural_order)
    if not gpus or not names or (gpus * len(names)) % (p * t):
        return None
    copies = gpus * len(names) // (p * t)
    if job.smp_version == 1:
        placement = str(_value(job, "placement_strategy") or "cluster").upper()
        if placement not in {"CLUSTER", "SPREAD", "DPT", "TPD"}:
            return None
        inner = t if placement in {"CLUSTER", "DPT"} else copies
    else:
        inner = t * copies
    out = {}
    for place, name in enumerate(names):
        stages = {(rank // inner) % p for rank in range(place * gpus, (place + 1) * gpus)}
        out[name] = f"{types[name]} {','.join(map(str, sorted(stages)))}"
    return out


def _value(job: Job, name: str) -> object:
    found = job.configuration.get(name)
    return None if found is None else found.value


def _number(job: Job, name: str) -> int | None:
    found = job.configuration.get(name)
    return None if found is None else found.whole
