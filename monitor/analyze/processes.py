"""How many training processes does a host run, and who says so? The configuration, the launcher, or the world's size."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

import pandas as pd

from monitor.model import Job, Parameter

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
