"""What do a job's hosts measure? One point a minute of each of the five system metrics, and their coarser sums."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from benchmarks.account.instance_types import instance_type
from benchmarks.account.plan import MINUTE_MS, Job
from benchmarks.account.streams import Numbers

NAMESPACE = "/aws/sagemaker/TrainingJobs"
METRICS = ("GPUUtilization", "GPUMemoryUtilization", "CPUUtilization", "MemoryUtilization", "DiskUtilization")
STATISTICS = ("Average", "Sum", "Minimum", "Maximum", "SampleCount")
# A minute's point can be read this long after the minute began; AWS publishes no figure.
_PUBLISHED_MS = 2 * MINUTE_MS

Values = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Points:
    """The points of one metric of one host, in ascending time."""

    times_s: Numbers
    """The begin of each period, in epoch seconds."""
    values: Values
    texts: tuple[str, ...]
    """The values as JSON writes them."""

    def between(self, start_s: float, end_s: float, now_ms: float, period_s: int) -> slice:
        """The points with start <= time < end that are published by now."""
        begun_s = (now_ms - _PUBLISHED_MS) / 1000 - max(0, period_s - 60)
        first, last = np.searchsorted(self.times_s, [start_s, min(end_s, np.nextafter(begun_s, np.inf))], "left")
        return slice(int(first), max(int(first), int(last)))


@lru_cache(4096)
def points(job: Job, node: int, metric: str, period_s: int, statistic: str, seed: int) -> Points | None:
    """All that a host ever measures; None for a metric it has not. A host's GPUs are summed, as are its vCPUs."""
    level = _level(job, metric)
    if level is None or not 1 <= node <= job.nodes:
        return None
    minutes = max(0, job.ended_ms // MINUTE_MS - job.started_ms // MINUTE_MS)
    times_s = (job.started_ms // MINUTE_MS + np.arange(minutes)) * 60
    dice = np.random.default_rng([seed, zlib.crc32(f"{job.name}/{node}/{metric}".encode())])
    values = np.clip(level * dice.normal(1.0, 0.05, minutes), 0.0, None).round(3)
    if period_s > 60 and minutes:
        times_s, values = _summed(times_s, values, period_s, statistic)
    elif statistic == "SampleCount":
        values = np.ones(minutes)
    return Points(times_s, values, tuple(map(repr, values.tolist())))


def _level(job: Job, metric: str) -> float | None:
    known = instance_type(job.instance_type)
    gpus, vcpus = (known.gpus, known.vcpus) if known else (8, 96)
    levels = {
        "GPUUtilization": job.gpu_percent * gpus or None,
        "GPUMemoryUtilization": 60.0 * gpus or None,
        "CPUUtilization": 20.0 * vcpus,
        "MemoryUtilization": 35.0,
        "DiskUtilization": 12.0,
    }
    return levels.get(metric)


def _summed(times_s: Numbers, values: Values, period_s: int, statistic: str) -> tuple[Numbers, Values]:
    periods, first = np.unique(times_s // period_s, return_index=True)
    counts = np.diff(np.append(first, len(values)))
    sums = np.add.reduceat(values, first)
    found: dict[str, Values] = {
        "Average": sums / counts,
        "Sum": sums,
        "Minimum": np.minimum.reduceat(values, first),
        "Maximum": np.maximum.reduceat(values, first),
        "SampleCount": counts.astype(float),
    }
    return periods * period_s, found[statistic].round(4)
