"""Who ran where: hosts, ranks and counts, from the facts that the job itself printed.

The host named in an MPI tag is the toolkit's arithmetic (rank // processes per host + 1) and is wrong whenever the
hosts stand in another order; the map that mpirun prints, or the host list it was started with, is right.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from monitor.model import natural_order
from monitor.parse.events import configured
from monitor.parse.numbers import MOST_PROCESSES, count, process_number
from monitor.parse.rows import EventRow

_ACCUMULATION = re.compile(r"grad(?:ient)?_accum(?:ulation)?(?:_steps)?\W{1,5}(?P<value>\d{1,6})\b")


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
    samples_per_epoch: frozenset[int] = frozenset()
    """As many as Keras says that it trains on: its bars count samples then."""
    samples_per_process: int | None = None
    """A script's batch_size: what one step of a process with one GPU takes."""
    images_per_step: int | None = None
    """The batch_size among the options that a program prints as JSON: of the whole job where those are NVIDIA's models."""
    tokens_per_step: int | None = None
    """As many as all processes together take in one optimizer step, where the log says it and never another number."""
    accumulation: int | None = None
    """Micro-batches that one optimizer step takes, where the log says it and never another."""
    mean_step_s: float | None = None
    """The mean of the run's steps, as the trainer says at its end and never otherwise."""
    stream_rank_host: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    """The maps of streams that print their own: a job that was started again may have its hosts in another order."""
    first_rank: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Streams of one node each, by torchrun's command: the node's first rank, and how many processes it runs."""

    def node_of(self, rank: int | None, tag_host: str, stream: str, stream_node: str) -> str:
        """The node a line was written on, or "" where the log cannot tell."""
        if rank is not None:
            known = self.stream_rank_host.get(stream, self.rank_host)
            if rank in known:
                return known[rank]
            if tag_host:
                return tag_host
            begin, count = self.first_rank.get(stream, (0, 0))
            if begin <= rank < begin + count:
                return stream_node
            # mpirun starts rank 0 on the host it runs on, and all ranks write into that host's stream.
            return stream_node if rank == 0 or len(self.hosts) <= 1 else ""
        return tag_host or ("" if stream in self.merged else stream_node)

    def rank_of(self, local_rank: int, stream: str) -> int | None:
        """The global rank of a node's process, in a stream that says which of torchrun's nodes it is; else None."""
        begin, count = self.first_rank.get(stream, (0, 0))
        return begin + local_rank if 0 <= local_rank < count else None


def identify(events: Sequence[EventRow]) -> Identity:
    """The identity told by ``events``, which stand in the order of their streams' lines."""
    environment, order = _environment(events), _rank_order(events)
    streams: dict[str, list[EventRow]] = {}
    for event in events:
        streams.setdefault(event.stream, []).append(event)
    maps = {stream: ranks for stream, said in streams.items() if (ranks := _ranks(said, environment))}
    # A map that a stream printed says nothing of another attempt, but is the best guess where that printed none.
    rank_host = next(iter(maps.values()), {})
    told = [*environment.get("distribution_hosts", []), *environment.get("hosts", [])]
    hosts = dict.fromkeys([*rank_host.values(), *(host for host, _ in order), *told])
    if not rank_host:
        each = environment.get("processes_per_host") or environment.get("num_gpus") or 0
        rank_host = _slots([(host, each) for host in environment.get("distribution_hosts", [])])
    speakers: dict[str, set[str]] = {}
    for event in events:
        if event.rank is None and (host := _speaker(event)):
            speakers.setdefault(event.stream, set()).add(host)
    hosts |= dict.fromkeys(sorted({host for said in speakers.values() for host in said}, key=natural_order))
    planned = _counts(events, "planned-steps")
    per_epoch = _counts(events, "steps-per-epoch")
    samples = _counts(events, "samples-per-step")
    of_process = _counts(events, "samples-per-process")
    images = _counts(events, "images-per-step")
    tokens = {event.text for event in events if event.kind == "tokens-per-step"}
    host_type, host_group = _groups(environment)
    merged = frozenset(stream for stream, said in speakers.items() if len(said) > 1)
    return Identity(
        hosts=tuple(hosts),
        rank_host=rank_host,
        gpus=environment.get("num_gpus"),
        vcpus=environment.get("num_cpus"),
        host_type=host_type,
        host_group=host_group,
        merged=merged,
        planned_steps=planned[-1] if planned else None,
        steps_per_epoch=per_epoch[-1] if per_epoch else None,
        samples_per_step=samples[-1] if samples else None,
        samples_per_epoch=frozenset(_counts(events, "samples-per-epoch")),
        samples_per_process=of_process[0] if len(set(of_process)) == 1 else None,
        images_per_step=images[0] if len(set(images)) == 1 else None,
        tokens_per_step=count(tokens.pop().removeprefix("tokens=")) if len(tokens) == 1 else None,
        accumulation=_accumulation(events),
        mean_step_s=_mean_step_s(events),
        stream_rank_host=maps if len(maps) > 1 else {},
        first_rank={
            stream: block
            for stream, said in streams.items()
            if stream not in merged and stream not in maps and (block := _first_rank(said))
        },
    )


def _ranks(events: Sequence[EventRow], environment: Mapping[str, Any]) -> dict[int, str]:
    """Rank -> host as the events of one stream tell: mpirun's map, else the order of its hosts with their slots."""
    order = _rank_order(events)
    return _as_hosts(_rank_map(events), order, environment) or _slots(order)


def _counts(events: Sequence[EventRow], kind: str) -> list[int]:
    found = (count(event.text) for event in events if event.kind == kind)
    return [number for number in found if number is not None]


def _accumulation(events: Sequence[EventRow]) -> int | None:
    said = {
        count(match["value"])
        for event in events
        if event.kind in {configured.OTHERS, configured.GIVEN}
        and (match := _ACCUMULATION.search(event.text)) is not None
    }
    return said.pop() if len(said) == 1 else None


def _mean_step_s(events: Sequence[EventRow]) -> float | None:
    rates = {event.text for event in events if event.kind == "run-rate"}
    return 1.0 / float(rates.pop()) if len(rates) == 1 else None


def _slots(order: Sequence[tuple[str, int]]) -> dict[int, str]:
    ranks = (host for host, each in order for _ in range(min(each, MOST_PROCESSES)))
    return dict(enumerate(islice(ranks, MOST_PROCESSES)))


def _first_rank(events: Sequence[EventRow]) -> tuple[int, int] | None:
    """From torchrun's command, where all that stand in the stream agree; None where the node's number is not known."""
    commands = {event.text for event in events if event.kind == "torchrun"}
    if len(commands) != 1:
        return None
    nodes, each, node = map(process_number, commands.pop().split())
    if nodes is None or each is None or node is None or node >= nodes:
        return None
    return node * each, each


def _rank_map(events: Sequence[EventRow]) -> dict[int, str]:
    """From mpirun's --display-map: a host's line, then a line for each rank on it."""
    found: dict[int, str] = {}
    host = ""
    for event in events:
        if event.kind == "rank-map-node":
            host = event.text
        elif event.kind == "rank-map-rank" and host and (rank := process_number(event.text)) is not None:
            found[rank] = host
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
        known = [str(environment["current_host"])]
    if len(known) != len(names):
        return {}
    real = dict(zip(names, known, strict=True))
    return {rank: real[host] for rank, host in rank_host.items()}


def _rank_order(events: Sequence[EventRow]) -> list[tuple[str, int]]:
    for event in events:
        if event.kind == "rank-order" and event.text:
            pairs = (part.rpartition(":") for part in event.text.split(","))
            return [(host, each) for host, _, slots in pairs if (each := process_number(slots)) is not None]
    return []


def _environment(events: Sequence[EventRow]) -> dict[str, Any]:
    """The kept keys of the toolkit's environment; the fullest print of a key wins, counts as int."""
    merged: dict[str, Any] = {}
    for event in events:
        if event.kind != "environment":
            continue
        for key, value in json.loads(event.text).items():
            if key in {"num_gpus", "num_cpus", "processes_per_host"}:
                if (each := process_number(value)) is not None:
                    merged[key] = each
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
