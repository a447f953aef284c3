"""Which values would CloudWatch hold for each host of a sample job? Host sums, one a minute, coarser when old."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from monitor.demo.schedule import Attempt, SampleJob
from monitor.demo.story import Load, SlowNode, Story
from monitor.demo.work import Kind

MINUTE = timedelta(minutes=1)
# CloudWatch keeps one-minute points for 15 days and five-minute points for 63 (its own documentation).
FINE_FOR = timedelta(days=15)
COARSE = timedelta(minutes=5)
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
    story: Story, node: str, minute: _Minute, bias: tuple[float, float, float], rng: random.Random
) -> Mapping[str, float]:
    hardware = story.hardware(node)
    load = story.data_load if node in story.data_nodes and story.data_load is not None else story.load
    gpu_pct, gpu_memory_pct, cpu_pct, memory_pct = _mean_level(story, node, load, minute)
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


def _mean_level(story: Story, node: str, load: Load, minute: _Minute) -> tuple[float, float, float, float]:
    """GPU, GPU memory, CPU and memory in percent, weighted by what filled the minute."""
    total_s = sum(minute.seconds.values()) or 1.0
    gpu_pct = gpu_memory_pct = cpu_pct = memory_pct = 0.0
    for kind, seconds in minute.seconds.items():
        share = seconds / total_s
        levels = _level(story, node, load, kind, minute.after_s)
        gpu_pct += share * levels[0]
        gpu_memory_pct += share * levels[1]
        cpu_pct += share * levels[2]
        memory_pct += share * levels[3]
    return gpu_pct, gpu_memory_pct, cpu_pct, memory_pct


def _level(story: Story, node: str, load: Load, kind: Kind, after_s: float) -> tuple[float, float, float, float]:
    fault = story.fault
    gpu_pct = load.gpu_pct
    if isinstance(fault, SlowNode) and fault.node == node and after_s > fault.after_s:
        gpu_pct = fault.gpu_pct
    match kind:
        case "setup":
            return 0.4, 1.5, 5.0 + load.cpu_pct / 4, 0.45 * load.memory_pct
        case "step":
            return gpu_pct, load.gpu_memory_pct, load.cpu_pct, load.memory_pct
        case "checkpoint":
            return 5.0, load.gpu_memory_pct, 0.5 * load.cpu_pct + 2.0, load.memory_pct + 1.5
        case "stall":
            # Every rank spins in a collective that never ends, and one host thread a rank watches it.
            return (
                100.0,
                load.gpu_memory_pct,
                100.0 * story.processes_per_node / story.hardware(node).vcpus,
                (load.memory_pct),
            )
        case "failure":
            return 20.0, 0.5 * load.gpu_memory_pct, 4.0, 0.6 * load.memory_pct
        case "exit":
            return 0.0, 0.3, 1.5, 0.2 * load.memory_pct


def _coarse(points: Iterator[HostMinute]) -> Iterator[HostMinute]:
    """Means over aligned five minutes: all that CloudWatch has kept of an old job."""
    gathered: dict[tuple[datetime, str], list[HostMinute]] = {}
    for point in points:
        gathered.setdefault((_five_minutes(point.timestamp), point.node), []).append(point)
    for (begin, node), parts in gathered.items():
        names = parts[0].values
        yield HostMinute(begin, node, {name: sum(p.values[name] for p in parts) / len(parts) for name in names})


def _five_minutes(moment: datetime) -> datetime:
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return moment - since % COARSE


def _clip(pct: float) -> float:
    return round(min(100.0, max(0.0, pct)), 4)
