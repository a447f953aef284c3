"""How many of a host's GPUs are in use, how many training processes it runs, and which network NCCL chose between the nodes.
CloudWatch gives sums over a host, so the first is told from what a sum cannot hide.

"Bootstrap : Using eth0" tells how ranks find one another, always by sockets, and says nothing of the data. Libfabric may be
in use with its own TCP provider: the line that names the provider counts before the one that names the plug-in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import pandas as pd

from monitor.model import Job, Parameter, moment_of

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


# "model parallel world size: 4" is a group's size, not the world's.
_WORLD = re.compile(
    r"(?i)(?:\b(?P<of>[a-z]+)[ -])?\b(?:global_)?world[ _]sizes?\s{0,4}(?:\.{2,80}|[:=])?\s{0,4}\[?(?P<size>\d{1,6})\b"
)
_GROUPS = frozenset({"local", "parallel", "data", "model", "tensor", "pipeline", "expert", "context", "dp", "tp", "pp"})
_OTHERS = (re.compile(r"\bMEMBER: \d{1,6}/(?P<size>\d{1,6})\b"), re.compile(r"num processes: (?P<size>\d{1,6})\b"))


@dataclass(frozen=True, slots=True)
class Processes:
    """``each`` on every host; ``certain`` where the launcher was told so, not where it follows from the world's size."""

    each: int
    said_by: str
    certain: bool
    line: str | None = None


def processes_per_host(job: Job, events: pd.DataFrame) -> Processes | None:
    """How many processes each host runs; None where nothing tells, or where hosts differ."""
    found = job.configuration.get("processes_per_host")
    if found is not None and isinstance(found.value, int) and not isinstance(found.value, bool) and found.value > 0:
        return Processes(found.value, f"processes_per_host {found.value} ({found.read_from})", True)
    return _by_launcher(events) or _by_world(job, events)


def _by_launcher(events: pd.DataFrame) -> Processes | None:
    texts = {kind: list(rows["text"].unique()) for kind, rows in events.groupby("kind", observed=True)}
    counts = {int(text.split()[1]) for text in texts.get("torchrun", ()) if len(text.split()) == 3}
    if len(counts) == 1 and (each := counts.pop()) > 0:
        return Processes(each, f"torchrun --nproc_per_node={each} (log)", True)
    for text in texts.get("environment", ()):
        each = json.loads(text).get("processes_per_host")
        if (told := Parameter(each, "").whole) is not None and 0 < told < 10**6:
            return Processes(told, f"processes_per_host {each} (environment in the log)", True)
    slots = {int(part.rpartition(":")[2]) for text in texts.get("rank-order", ()) for part in text.split(",") if part}
    if len(slots) == 1 and (each := slots.pop()) > 0:
        return Processes(each, f"mpirun --host …:{each} (log)", True)
    return None


def _by_world(job: Job, events: pd.DataFrame) -> Processes | None:
    """From the largest world that any line tells of: hosts that train apart have smaller ones."""
    hosts = sum(1 for node in job.nodes if node.gpus)
    told = [
        (size, str(text))
        for text in events.loc[events["kind"] == "world-size", "text"].unique()
        if (size := world_size(str(text)))
    ]
    if not hosts or not told:
        return None
    size, line = max(told)
    return Processes(size // hosts, f"world size {size}", False, line) if size % hosts == 0 else None


def world_size(text: str) -> int | None:
    """The number of processes of the whole job that a line tells, None where it tells none."""
    for match in _WORLD.finditer(text):
        if (match["of"] or "").lower() not in _GROUPS:
            return int(match["size"])
    return next((int(found["size"]) for other in _OTHERS if (found := other.search(text))), None)


_KINDS = ("network", "network-problem", "transport", "nccl-setting")
_SLOW_PROVIDER = re.compile(r"elected [Pp]rovider is (?!efa)(?:tcp|sockets|udp|net)\b")
_EFA = re.compile(r"elected [Pp]rovider is efa|Using network (?:AWS )?Libfabric")
_SOCKETS = re.compile(
    r"Using network Socket|NET/Socket ?: ?Using|^NET/Socket|\bNCCL_NET (?:set by environment )?to Socket\b"
)
_ABSENT = re.compile(
    r"NET/OFI.{0,80}(?:[Cc]ould(?:n't| not) find any optimal provider|initialization failed|[Nn]o eligible)"
    r"|fi_getinfo.{0,120}\befa\b.{0,60}(?:empty list|[Nn]o data|failed)"
    r"|fi_getinfo.{0,60}(?:failed|[Nn]o data).{0,120}\befa\b"
)


@dataclass(frozen=True, slots=True)
class Slow:
    """A node whose log shows sockets chosen, or EFA asked for and absent; with the line that says it."""

    node: str
    """"" where the line does not tell."""
    what: Literal["sockets", "absent"]
    line: str
    at: datetime | None


def without_efa(events: pd.DataFrame) -> tuple[Slow, ...]:
    """The nodes that do not use EFA by their own lines, by name; empty where lines show EFA, or nothing at all."""
    rows = events[events["kind"].isin(_KINDS)]
    found = []
    for name, mine in rows.groupby("node", observed=True):
        said = mine["text"].astype("str")
        tcp = said.str.contains(_SLOW_PROVIDER)
        if not tcp.any() and said.str.contains(_EFA).any():
            continue
        for what, hit in (("sockets", tcp | said.str.contains(_SOCKETS)), ("absent", said.str.contains(_ABSENT))):
            if hit.any():
                row = mine[hit].iloc[0]
                at = moment_of(row["timestamp"])
                text = f"via {row['text']}" if row["kind"] == "transport" else str(row["text"])
                found.append(Slow(str(name), what, text, at))  # type: ignore[arg-type]
                break
    # A line without a node may be of any: where another shows EFA, it accuses nobody.
    return tuple(one for one in found if one.node) or tuple(found)
