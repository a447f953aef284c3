"""Who ran where: hosts, ranks and counts, from the facts that the job itself printed.

The host named in an MPI tag is the toolkit's arithmetic (rank // processes per host + 1) and is wrong whenever the
hosts stand in another order; the map that mpirun prints, or the host list it was started with, is right.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from monitor.parse.rows import EventRow


@dataclass(frozen=True, slots=True)
class Identity:
    """What the log says about hosts. Everything is empty or None where it says nothing."""

    hosts: tuple[str, ...] = ()
    """All hosts of the job, in the order of their ranks where that is known."""
    rank_host: Mapping[int, str] = field(default_factory=dict)
    gpus: int | None = None
    vcpus: int | None = None
    host_type: Mapping[str, str] = field(default_factory=dict)
    host_group: Mapping[str, str] = field(default_factory=dict)
    merged: frozenset[str] = frozenset()
    """Streams in which several hosts speak without saying which line is whose."""
    planned_steps: int | None = None
    steps_per_epoch: int | None = None
    samples_per_step: int | None = None
    """DeepSpeed's train_batch_size: what one optimizer step of the whole job takes."""

    def node_of(self, rank: int | None, tag_host: str, stream: str, stream_node: str) -> str:
        """The node a line was written on, or "" where the log cannot tell."""
        if rank is not None:
            if rank in self.rank_host:
                return self.rank_host[rank]
            if tag_host:
                return tag_host
            # mpirun starts rank 0 on the host it runs on, and all ranks write into that host's stream.
            return stream_node if rank == 0 or len(self.hosts) <= 1 else ""
        return tag_host or ("" if stream in self.merged else stream_node)


def identify(events: Sequence[EventRow]) -> Identity:
    """The identity told by ``events``, which stand in the order of their streams' lines."""
    environment, order = _environment(events), _rank_order(events)
    rank_host = _as_hosts(_rank_map(events), order, environment)
    hosts: list[str] = list(dict.fromkeys([*rank_host.values(), *(host for host, _ in order)]))
    for host in [*environment.get("distribution_hosts", []), *environment.get("hosts", [])]:
        if host not in hosts:
            hosts.append(host)
    if not rank_host:
        slots = order or [
            (host, environment.get("num_gpus") or 0) for host in environment.get("distribution_hosts", [])
        ]
        rank_host = dict(enumerate(host for host, count in slots for _ in range(count)))
    speakers: dict[str, set[str]] = {}
    for event in events:
        if event.rank is None and (host := _speaker(event)):
            speakers.setdefault(event.stream, set()).add(host)
    for host in sorted({host for said in speakers.values() for host in said}, key=_host_number):
        if host not in hosts:
            hosts.append(host)
    planned = [int(event.text) for event in events if event.kind == "planned-steps"]
    per_epoch = [int(event.text) for event in events if event.kind == "steps-per-epoch"]
    samples = [int(event.text) for event in events if event.kind == "samples-per-step"]
    host_type, host_group = _groups(environment)
    return Identity(
        hosts=tuple(hosts),
        rank_host=rank_host,
        gpus=environment.get("num_gpus"),
        vcpus=environment.get("num_cpus"),
        host_type=host_type,
        host_group=host_group,
        merged=frozenset(stream for stream, said in speakers.items() if len(said) > 1),
        samples_per_step=samples[-1] if samples else None,
        planned_steps=planned[-1] if planned else None,
        steps_per_epoch=per_epoch[-1] if per_epoch else None,
    )


def _host_number(host: str) -> tuple[int, str]:
    digits = host.rpartition("-")[2]
    return (int(digits) if digits.isdecimal() else 1 << 30, host)


def _rank_map(events: Sequence[EventRow]) -> dict[int, str]:
    """From mpirun's --display-map: a host's line, then a line for each rank on it."""
    found: dict[int, str] = {}
    host = ""
    for event in events:
        if event.kind == "rank-map-node":
            host = event.text
        elif event.kind == "rank-map-rank" and host:
            found[int(event.text)] = host
    return found


def _as_hosts(
    rank_host: dict[int, str], order: Sequence[tuple[str, int]], environment: Mapping[str, Any]
) -> dict[int, str]:
    """The map with SageMaker's names (algo-N) where mpirun names hosts by their addresses; empty where none fit."""
    names = list(dict.fromkeys(rank_host.values()))
    if all(name.startswith("algo-") for name in names):
        return rank_host
    known = [host for host, _ in order]
    if not known and environment.get("current_host"):
        known = [environment["current_host"]]
    if len(known) != len(names):
        return {}
    real = dict(zip(names, known, strict=True))
    return {rank: real[host] for rank, host in rank_host.items()}


def _rank_order(events: Sequence[EventRow]) -> list[tuple[str, int]]:
    for event in events:
        if event.kind == "rank-order" and event.text:
            pairs = (part.rpartition(":") for part in event.text.split(","))
            return [(host, int(slots)) for host, _, slots in pairs]
    return []


def _environment(events: Sequence[EventRow]) -> dict[str, Any]:
    """The kept keys of the toolkit's environment; the fullest print of a key wins, counts as int."""
    merged: dict[str, Any] = {}
    for event in events:
        if event.kind != "environment":
            continue
        for key, value in json.loads(event.text).items():
            if key in {"num_gpus", "num_cpus"}:
                if str(value).isdecimal():
                    merged[key] = int(value)
            elif isinstance(value, list) or key not in merged:
                merged[key] = value
    return merged


def _groups(environment: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    types: dict[str, str] = {}
    groups: dict[str, str] = {}
    for group in environment.get("instance_groups", []):
        for host in group.get("hosts") or []:
            types[host] = group.get("instance_type") or ""
            groups[host] = group.get("instance_group_name") or ""
    current = environment.get("current_host")
    if current and current not in types and environment.get("current_instance_type"):
        types[current] = environment["current_instance_type"]
    return {host: kind for host, kind in types.items() if kind}, groups


def _speaker(event: EventRow) -> str:
    if event.kind == "speaker":
        return event.text
    if event.kind == "environment":
        return str(json.loads(event.text).get("current_host") or "")
    return ""
