"""Which objects did the profiler of a sample job leave? One a node and minute, to the same figures as its host metrics."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime

import numpy as np

from monitor.demo.host_metrics import host_minutes
from monitor.demo.parameters import BUCKET
from monitor.demo.profiler_files import Sampled, key_of, minute
from monitor.demo.schedule import SampleJob
from monitor.demo.story import OddGpu, Story

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
