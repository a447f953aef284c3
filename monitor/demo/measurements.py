"""What is measured of a sample job: CloudWatch's host sums, one a minute, coarser when old, and a profiler's objects.

The objects are made from the documented form alone, for the demo, tests and benchmarks: one a node and minute, JSON lines,
``8 + 2 vCPUs + 2 GPUs`` of them a sample.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monitor.demo.story import BUCKET, Attempt, Kind, Load, OddGpu, SampleJob, SlowNode, Story

MINUTE = timedelta(minutes=1)
# CloudWatch keeps one-minute points for 15 days and five-minute points for 63 (its own documentation).
FINE_FOR = timedelta(days=15)
COARSE = timedelta(minutes=5)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# A container that was there for less of a minute leaves no point.
LEAST_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class HostMinute:
    """The values of one host in the minute (or five) that begins at ``timestamp``, under CloudWatch's names."""

    timestamp: datetime
    node: str
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class _Minute:
    begin: datetime
    seconds: Mapping[Kind, float]
    after_s: float
    """Seconds since the container began, at the minute's end."""
    checkpoints: int


def host_minutes(job: SampleJob, now: datetime) -> Iterator[HostMinute]:
    """All points of the job, oldest first; of a running job endless, so stop at the minute that has not passed."""
    minutes = (point for attempt in job.attempts for point in _attempt(job.story, attempt))
    old = job.ended is not None and job.attempts and now - job.attempts[0].began > FINE_FOR
    return _coarse(minutes) if old else minutes


def _attempt(story: Story, attempt: Attempt) -> Iterator[HostMinute]:
    rng = random.Random(f"{story.base_name}/{attempt.number}/metrics")
    bias = {node: (rng.gauss(0, 0.7), rng.gauss(0, 0.5), rng.gauss(0, 0.4)) for node in story.nodes}
    for minute in _minutes(story, attempt):
        for node in story.nodes:
            yield HostMinute(minute.begin, node, _values(story, node, minute, bias[node], rng))


def _minutes(story: Story, attempt: Attempt) -> Iterator[_Minute]:
    """How long the job did what, minute by minute of the wall clock."""
    begin = attempt.began.replace(second=0, microsecond=0)
    seconds: dict[Kind, float] = {}
    checkpoints = 0
    for span in attempt.spans(story):
        at_s = span.start_s
        while True:
            minute_end_s = (begin + MINUTE - attempt.began).total_seconds()
            part_end_s = min(span.end_s, minute_end_s)
            seconds[span.kind] = seconds.get(span.kind, 0.0) + part_end_s - at_s
            if span.end_s < minute_end_s:
                break
            yield _Minute(begin, seconds, minute_end_s, checkpoints)
            seconds, begin, at_s = {}, begin + MINUTE, minute_end_s
            if at_s >= span.end_s:
                break
        checkpoints += span.kind == "checkpoint"
    if sum(seconds.values()) >= LEAST_SECONDS:
        yield _Minute(begin, seconds, (begin + MINUTE - attempt.began).total_seconds(), checkpoints)


def _values(
    story: Story, node: str, minute: _Minute, bias: tuple[float, ...], rng: random.Random
) -> Mapping[str, float]:
    hardware = story.hardware(node)
    load = story.data_load if node in story.data_nodes and story.data_load is not None else story.load
    total_s = sum(minute.seconds.values()) or 1.0
    gpu_pct = gpu_memory_pct = cpu_pct = memory_pct = 0.0
    for kind, seconds in minute.seconds.items():
        level, share = _level(story, node, load, kind, minute.after_s), seconds / total_s
        gpu_pct += share * level.gpu_pct
        gpu_memory_pct += share * level.gpu_memory_pct
        cpu_pct += share * level.cpu_pct
        memory_pct += share * level.memory_pct
    # Noise is of what is going on: an idle device is quietly idle.
    busy = min(1.0, gpu_pct / 30)
    gpu_pct += busy * (bias[0] + rng.gauss(0, load.gpu_noise_pct))
    if minute.seconds.get("stall", 0.0) >= 59.0:
        gpu_pct = 100.0
    gpu_memory_pct += min(1.0, gpu_memory_pct / 30) * (bias[1] + rng.gauss(0, 0.12))
    cpu_pct += bias[2] * 0.5 + rng.gauss(0, 0.03 * cpu_pct + 0.1)
    memory_pct += bias[2] + rng.gauss(0, 0.15)
    # Old checkpoints are deleted, so the space is bounded.
    disk_pct = load.disk_pct + 0.5 * min(minute.checkpoints, 4) + rng.gauss(0, 0.02)
    values = {
        "CPUUtilization": _clip(cpu_pct) * hardware.vcpus,
        "MemoryUtilization": _clip(memory_pct),
        "DiskUtilization": _clip(disk_pct),
    }
    if hardware.gpus:
        in_use = story.gpus_in_use or hardware.gpus
        values["GPUUtilization"] = _clip(gpu_pct) * in_use
        values["GPUMemoryUtilization"] = _clip(gpu_memory_pct) * in_use
    return values


def _level(story: Story, node: str, load: Load, kind: Kind, after_s: float) -> Load:
    """How busy a node is with what it does, before any noise."""
    gpu_memory_pct, cpu_pct, memory_pct = load.gpu_memory_pct, load.cpu_pct, load.memory_pct
    match kind:
        case "setup":
            return replace(load, gpu_pct=0.4, gpu_memory_pct=1.5, cpu_pct=5 + cpu_pct / 4, memory_pct=0.45 * memory_pct)
        case "step":
            fault = story.fault
            if isinstance(fault, SlowNode) and fault.node == node and after_s > fault.after_s:
                return replace(load, gpu_pct=fault.gpu_pct)
            return load
        case "checkpoint":
            return replace(load, gpu_pct=5, cpu_pct=0.5 * cpu_pct + 2, memory_pct=memory_pct + 1.5)
        case "stall":
            # Every rank spins in a collective that never ends, and one host thread a rank watches it.
            return replace(load, gpu_pct=100, cpu_pct=100 * story.processes_per_node / story.hardware(node).vcpus)
        case "failure":
            return replace(
                load, gpu_pct=20, gpu_memory_pct=0.5 * gpu_memory_pct, cpu_pct=4, memory_pct=0.6 * memory_pct
            )
        case "exit":
            return replace(load, gpu_pct=0, gpu_memory_pct=0.3, cpu_pct=1.5, memory_pct=0.2 * memory_pct)


def _coarse(points: Iterator[HostMinute]) -> Iterator[HostMinute]:
    """Means over aligned five minutes: all that CloudWatch has kept of an old job."""
    gathered: dict[tuple[datetime, str], list[HostMinute]] = {}
    for point in points:
        begin = point.timestamp - (point.timestamp - _EPOCH) % COARSE
        gathered.setdefault((begin, point.node), []).append(point)
    for (begin, node), parts in gathered.items():
        names = parts[0].values
        yield HostMinute(begin, node, {name: sum(p.values[name] for p in parts) / len(parts) for name in names})


def _clip(pct: float) -> float:
    return round(min(100.0, max(0.0, pct)), 4)


MINUTE_S = 60


@dataclass(frozen=True)
class Sampled:
    """What a host did in the samples of a minute. Arrays have a row for each sample."""

    gpu_pct: ArrayLike
    """A column for each GPU; so has the next."""
    gpu_memory_pct: ArrayLike
    core_pct: ArrayLike
    """A column for each vCPU; so has the next."""
    io_wait_pct: ArrayLike
    memory_pct: float = 20.0
    received_bytes_s: float = 2e6
    sent_bytes_s: float = 2e6
    read_bytes_s: float = 1e6
    written_bytes_s: float = 1e5


def key_of(prefix: str, job: str, node: str, begins_s: int, hours: bool = True) -> str:
    """Where the object of a node and minute lies below a bucket."""
    hour = f"{datetime.fromtimestamp(begins_s, UTC):%Y%m%d%H}/" if hours else ""
    folder = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
    return f"{folder}{job}/profiler-output/system/incremental/{hour}{begins_s}.{node}.json"


def minute(node: str, begins_s: int, host: Sampled, offset_s: float = 0.0) -> bytes:
    """The lines of a node and minute. ``offset_s`` is how far the clock of the node goes wrong."""
    gpus, memory, cores, waits = (
        np.atleast_2d(np.asarray(values, dtype="float64"))
        for values in (host.gpu_pct, host.gpu_memory_pct, host.core_pct, host.io_wait_pct)
    )
    interval_s = MINUTE_S / max(1, len(gpus), len(cores))
    out: list[str] = []
    for sample in range(max(len(gpus), len(cores))):
        at = begins_s + offset_s + interval_s * sample

        def line(kind: str, name: str, dimension: str, value: float, later_s: float, at: float = at) -> str:
            stamp = f"{at + later_s:.4f}"
            return (
                f'{{"Type":"{kind}","Name":"{name}","Dimension":"{dimension}","Value":{value:g},'
                f'"NodeId":"{node}","Timestamp":{stamp}}}\n'
            )

        for number, (used, waited) in enumerate(zip(_row(cores, sample), _row(waits, sample), strict=True)):
            out.append(line("cpu", f"cpu{number}", "CPUUtilization", used, 0.0012))
            out.append(line("cpu", f"cpu{number}", "I/OWaitPercentage", waited, 0.0012))
        for number, (used, full) in enumerate(zip(_row(gpus, sample), _row(memory, sample), strict=True)):
            out.append(line("gpu", f"gpu{number}", "GPUUtilization", used, 0.0101))
            out.append(line("gpu", f"gpu{number}", "GPUMemoryUtilization", full, 0.0101))
        out.append(line("memory", "MemoryUsedPercent", "", host.memory_pct, 0.0))
        out.append(line("i/o", "IOPS", "", host.read_bytes_s / 131_072, 0.0005))
        out.append(line("i/o", "ReadThroughputInBytesPerSecond", "", host.read_bytes_s, 0.0005))
        out.append(line("i/o", "WriteThroughputInBytesPerSecond", "", host.written_bytes_s, 0.0005))
        for whose in ("Algorithm", "Platform"):
            out.append(line("network", "ReceiveBytesPerSecond", whose, host.received_bytes_s, 0.0009))
            out.append(line("network", "TransmitBytesPerSecond", whose, host.sent_bytes_s, 0.0009))
    return "".join(out).encode()


def _row(table: NDArray[np.float64], sample: int) -> Sequence[float]:
    row: list[float] = table[sample].tolist() if sample < len(table) else []
    return row


#: The longest that a job can ask for: a job of an hour is small enough to be made while somebody waits.
INTERVAL_MS = 60_000


def profiler_path(story: Story) -> str:
    """ProfilerConfig's S3OutputPath."""
    return f"{BUCKET}/{story.base_name}"


def objects(job: SampleJob, now: datetime) -> Iterator[tuple[str, bytes]]:
    """Key and content of every object of a job that is over; nothing of a job that has no profiler."""
    if job.story.profiled is None:
        return
    dice = random.Random(f"{job.story.base_name}/profiler")
    for point in host_minutes(job, now):
        hardware = job.story.hardware(point.node)
        if not hardware.gpus:
            continue
        busy_pct = point.values["GPUUtilization"] / hardware.gpus
        held_pct = point.values["GPUMemoryUtilization"] / hardware.gpus
        cpu_pct = point.values["CPUUtilization"] / hardware.vcpus
        busy = [_near(level, dice) for level in _by_gpu(job.story.profiled, job.story, point.node, busy_pct)]
        cores = [[_near(cpu_pct, dice) for _ in range(hardware.vcpus)]]
        held = [[round(held_pct, 1)] * hardware.gpus]
        sampled = Sampled([busy], held, cores, np.full((1, hardware.vcpus), 0.2), point.values["MemoryUtilization"])
        begins_s = int(point.timestamp.timestamp())
        yield key_of(job.story.base_name, job.name, point.node, begins_s), minute(point.node, begins_s, sampled)


def _by_gpu(odd: OddGpu, story: Story, node: str, busy_pct: float) -> list[float]:
    """The host's mean over its GPUs. Where it is low, the odd GPU is fully busy and its siblings wait for it."""
    gpus = story.hardware(node).gpus
    if node != odd.node or not odd.below_pct / 2 < busy_pct < odd.below_pct:
        return [busy_pct] * gpus
    others = (busy_pct * gpus - odd.busy_pct) / (gpus - 1)
    return [odd.busy_pct if gpu == odd.gpu else others for gpu in range(gpus)]


def _near(level: float, dice: random.Random) -> float:
    return round(min(100.0, max(0.0, level + min(1.0, level / 30) * dice.gauss(0, 0.8))), 2)
