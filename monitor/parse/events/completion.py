"""What the log adds to a job: hosts, counts and configuration it printed; for log files also how it went."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pandas as pd

from monitor.model import InstanceGroup, Job, Node, Parameter, Transition, natural_order
from monitor.parse.events import configured
from monitor.parse.identity import Identity
from monitor.parse.numbers import count

# What a launcher prints when it ends the job; with restarts left it prints none of these.
_GAVE_UP = {"root-cause", "launcher-abort"}

Lookup = Callable[[str], Node | None]


def completed(job: Job, identity: Identity, events: pd.DataFrame, table: Lookup, ec2: Lookup) -> Job:
    """``job`` with what its log tells: nodes with their counts, the effective configuration, the launcher.

    Counts of a node come from the bundled ``table``, else from the log, else from ``ec2``; else they stay None. For a
    job known from log files alone also its instances, status and times come from the text.
    """
    if job.source == "logs":
        job = _from_text(job, identity, events)
    nodes = tuple(_counted(node, identity, table, ec2) for node in _nodes(job, identity))
    printed, is_smp1 = _printed(events), bool((events["kind"] == configured.SMP).any())
    launcher = job.launcher
    if launcher is None and len(events):
        kinds = set(events["kind"])
        launcher = "mpi" if "rank-order" in kinds else "torchrun" if "torchrun" in kinds else None
    return replace(
        job,
        nodes=nodes,
        launcher=launcher,
        configuration=_merged(job.configuration or _given(events), printed),
        smp_version=job.smp_version or (1 if is_smp1 else None),
    )


def _nodes(job: Job, identity: Identity) -> Sequence[Node]:
    """The job's nodes, each with the type and group that the log names for it where AWS does not."""
    known = {node.name: node for node in job.nodes}
    names = list(known)
    if job.source == "logs":
        names = sorted({*identity.hosts, *(known if not identity.hosts else ())}, key=natural_order)
    out = []
    for name in names:
        node = known.get(name, Node(name))
        kind = node.instance_type or identity.host_type.get(name) or _only(identity.host_type)
        out.append(replace(node, instance_type=kind, group=node.group or identity.host_group.get(name, "")))
    return out


def _only(types: Mapping[str, str]) -> str | None:
    """The type of all hosts, where the log names just one."""
    kinds = set(types.values())
    return kinds.pop() if len(kinds) == 1 else None


def _counted(node: Node, identity: Identity, table: Lookup, ec2: Lookup) -> Node:
    """The node with its GPUs and vCPUs: of the bundled table, else as the log prints them, else by EC2, else unknown."""
    if node.gpus is not None and node.vcpus is not None:
        return node
    found = table(node.instance_type) if node.instance_type else None
    source = "table"
    # The log prints the counts of the host that wrote it; another type may have others.
    one_type = len(set(identity.host_type.values())) <= 1
    if found is None and one_type and identity.gpus is not None and identity.vcpus is not None:
        found, source = Node("", gpus=identity.gpus, vcpus=identity.vcpus), "log"
    if found is None and node.instance_type:
        found, source = ec2(node.instance_type), "ec2"
    if found is None:
        return node
    return replace(
        found,
        name=node.name,
        instance_type=node.instance_type,
        group=node.group,
        counts_from=found.counts_from or source,
    )


def _merged(given: Mapping[str, Parameter], printed: Mapping[str, Parameter]) -> dict[str, Parameter]:
    """What was given to the library, what was printed, and the script's hyperparameters where nothing else tells."""
    script = {name: known for name, known in given.items() if known.read_from.startswith("hyperparameters")}
    return {**script, **printed, **{name: known for name, known in given.items() if name not in script}}


def _printed(events: pd.DataFrame) -> dict[str, Parameter]:
    """The configuration as libraries print it: the first that says a name counts, SMP's own before any other's."""
    out: dict[str, Parameter] = {}
    for kind in (configured.SMP, configured.OTHERS):
        for text, place in _places(events, kind):
            name, _, value = text.partition(": ")
            out.setdefault(name, Parameter(_value(value), place))
    for text, place in _places(events, "world-size"):
        if (match := configured.WORLD.search(text)) is not None:
            out.setdefault("world_size", Parameter(count(match["count"]), place))
    sizes = {text.partition("=")[2]: place for text, place in _places(events, "model-size")}
    # Of several models nobody knows which is trained.
    for size, place in sizes.items() if len(sizes) == 1 else ():
        out.setdefault("parameters_billion", Parameter(float(size) / 1e9, place))
    return out


def _given(events: pd.DataFrame) -> dict[str, Parameter]:
    """The hyperparameters as the toolkit prints them, for a job that is known from its log alone."""
    for text, place in _places(events, configured.GIVEN):
        script: dict[str, Any] = json.loads(text)
        library = script.pop("mp_parameters", {})
        return {name: Parameter(value, f"hyperparameters, {place}") for name, value in script.items()} | {
            name: Parameter(value, f"mp_parameters, {place}") for name, value in library.items()
        }
    return {}


def _places(events: pd.DataFrame, kind: str) -> Iterator[tuple[str, str]]:
    """The text of each event of a kind, and where it stands."""
    one_stream = events["stream"].nunique() == 1
    for row in events[events["kind"] == kind].itertuples():
        stream = "log" if one_stream else f"log {row.stream.rpartition('/')[2]}"
        yield str(row.text), f"{stream} line {row.line}" if row.line > 0 else stream


def _value(text: str) -> Any:
    if text in {"True", "False"}:
        return text == "True"
    if text in {"None", ""}:
        return None
    exact = count(text.removeprefix("-"))
    if exact is not None:
        return -exact if text[0] == "-" else exact
    # What has too many digits for a number stays the text it is.
    try:
        return text if text.lstrip("-").isdecimal() else float(text)
    except ValueError:
        return text


def _from_text(job: Job, identity: Identity, events: pd.DataFrame) -> Job:
    texts = {kind: list(rows["text"]) for kind, rows in events.groupby("kind", observed=True)}
    transitions = _transitions(texts.get("status", []))
    names = {t.status for t in transitions}
    outcomes = set(texts.get("outcome", []))
    status = next((name for name in ("Failed", "Stopped", "Completed") if name in names), None)
    if status is None and not names.isdisjoint({"MaxRuntimeExceeded", "MaxWaitTimeExceeded"}):
        status = "Stopped"
    if status is None and (outcomes or texts.get("exit-code")):
        failed = "failure" in outcomes or any(code != "0" for code in texts.get("exit-code", []))
        status = "Failed" if failed else "Completed"
    if status is None and not _GAVE_UP.isdisjoint(texts):
        status = "Failed"
    # One file with no word of hosts may come from a job of any size.
    hosts = identity.hosts or (job.node_names if len(job.node_names) > 1 else ())
    types: dict[str, int] = {}
    for host in hosts:
        kind = identity.host_type.get(host) or _only(identity.host_type) or ""
        types[kind] = types.get(kind, 0) + 1
    started = next((t.start for t in transitions if t.status in {"Downloading", "Training"}), None)
    ended = next((t.start for t in reversed(transitions) if t.status in {"Completed", "Failed", "Stopped"}), None)
    # The SDK prints seconds summed over the instances.
    each = max(1, len(hosts))
    return replace(
        job,
        status=status or job.status,
        secondary_status=transitions[-1].status if transitions else None,
        instance_groups=tuple(InstanceGroup("", kind, each) for kind, each in types.items()),
        transitions=transitions,
        created=transitions[0].start if transitions and transitions[0].status in {"Starting", "Pending"} else None,
        started=started,
        ended=ended,
        training_seconds=_seconds(texts.get("training-seconds"), each),
        billable_seconds=_seconds(texts.get("billable-seconds"), each),
    )


def _seconds(texts: list[str] | None, instances: int) -> int | None:
    seconds = count(texts[-1]) if texts else None
    return None if seconds is None else round(seconds / instances)


def _transitions(texts: list[str]) -> tuple[Transition, ...]:
    """From the SDK's status lines, in UTC as the SDK prints them; lines of one status are one entry with its last message,
    but for the pull of the image, which stands inside Training."""
    entries: list[Transition] = []
    for text in texts:
        moment = _moment(text[:19])
        if moment is None:
            continue
        status, _, message = text[20:].partition(" ")
        pulled = bool(entries) and "ownloading the training image" in entries[-1].message
        if entries and entries[-1].status == status and not pulled:
            entries[-1] = replace(entries[-1], message=message)
            continue
        if entries:
            entries[-1] = replace(entries[-1], end=moment)
        entries.append(Transition(status, moment, None, message))
    return tuple(entries)


def _moment(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    except ValueError:
        return None
