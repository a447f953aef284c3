"""What a job's profiler leaves in a bucket: where it is, how much of it was read, and the figures of single GPUs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProfilerOutput:
    """Where DescribeTrainingJob says that the profiler writes."""

    path: str
    """s3://…; below it lies a folder of the job's name."""
    interval_ms: int | None = None


@dataclass(frozen=True, slots=True)
class ProfilerCoverage:
    """How much of a profiler's output stands behind a run: some minutes of some nodes, never all of it."""

    objects: int = 0
    """One of a node and minute each."""
    size_bytes: int = 0
    usd: float = 0.0
    """An estimate of what S3 asks for the calls."""
    skipped_lines: int = 0
    """Lines that could not be read."""
    read_from: str = ""
