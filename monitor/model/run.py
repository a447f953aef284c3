"""What was read of a job: pages of its logs, raw metrics, what is missing, and the run they make."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import pandas as pd

from monitor.model.job import Job


@dataclass(frozen=True, slots=True)
class LogPage:
    """Consecutive lines of one log stream, as they were written.

    ``times_ms`` holds a Unix time in milliseconds for each line, or None where the source has none (plain files).
    ``first_line`` numbers the first of them, from 1. ``node`` is algo-N by the stream's name.
    """

    stream: str
    node: str
    first_line: int
    lines: tuple[str, ...]
    times_ms: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that could not be read, and why, in words for the user."""

    what: Literal["metrics", "logs", "job", "price", "normalisation"]
    why: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class RawMetrics:
    """GetMetricData's answer before normalisation: frame of ``timestamp node metric value`` (host sums)."""

    frame: pd.DataFrame
    period_s: int | None
    gaps: tuple[Gap, ...] = ()


@dataclass(frozen=True, slots=True)
class LogCoverage:
    """How much log text stands behind a run."""

    streams: int = 0
    lines: int = 0
    last_line_at: datetime | None = None
    """When any process last wrote anything; None where lines carry no time."""
    sample: tuple[str, ...] = ()
    """Up to three of the most number-like line shapes, for when no step was recognised."""


@dataclass(frozen=True, slots=True)
class Run:
    """Everything that was read of one job: the job, the three frames, and the gaps."""

    job: Job
    steps: pd.DataFrame
    metrics: pd.DataFrame
    events: pd.DataFrame
    gaps: tuple[Gap, ...] = ()
    metrics_period_s: int | None = None
    logs: LogCoverage = LogCoverage()
