"""What was read of a job: pages of its logs, raw metrics, what is missing, and the run they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from monitor.model.frames import gpus_frame, hosts_frame
from monitor.model.job import Job
from monitor.model.profiler import ProfilerCoverage
from monitor.model.step_reading import StepReading

_LINE_FEED = ord("\n")


@dataclass(frozen=True)
class LogPage:
    """Consecutive lines of one log stream, as they were written; at least one.

    ``first_line`` numbers the first of them, from 1. ``node`` is algo-N by the stream's name. They are kept as one piece
    of UTF-8: of most lines nothing is ever looked at one by one.
    """

    stream: str
    node: str
    first_line: int
    data: bytes
    """The lines, with a line feed between them and none behind the last."""
    times_ms: tuple[int | None, ...] | None = None
    """A Unix time in milliseconds for each line; None where the source has none (plain files)."""

    @classmethod
    def of(
        cls,
        stream: str,
        node: str,
        first_line: int,
        lines: Sequence[str],
        times_ms: tuple[int | None, ...] | None = None,
    ) -> LogPage:
        """A page of lines; what is half a character becomes "?", and NULs are part of none."""
        data = "\n".join(lines).encode("utf-8", "replace")
        return cls(stream, node, first_line, data.replace(b"\0", b""), times_ms)

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """Where each line ends in ``data``."""
        return np.append(np.flatnonzero(np.frombuffer(self.data, np.uint8) == _LINE_FEED), len(self.data))

    @property
    def count(self) -> int:
        """How many lines there are."""
        return len(self.ends)

    @property
    def times(self) -> tuple[int | None, ...]:
        """A time for each line, None where it has none."""
        return (None,) * self.count if self.times_ms is None else self.times_ms

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines; bytes that are no UTF-8 become U+FFFD."""
        return tuple(self.data.decode("utf-8", "replace").split("\n"))


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """How much of a log that is being read is there."""

    share: float
    """0 to 1, by the time span that is covered."""
    seconds_left: float | None
    """An estimate from the pace so far; None at the beginning."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that could not be read, and why, in words for the user."""

    what: Literal["metrics", "logs", "job", "price", "normalisation", "program", "archive", "profiler"]
    """"program": a part of this program failed, and what it says is missing. "archive": so is what stands beside the run."""
    why: str
    remedy: str = ""
    transient: bool = False
    """Another look may well find it: AWS was busy, out of reach, or refused a right."""
    action: str = ""
    """The right that was refused, as a policy names it: "logs:FilterLogEvents"; "" where none was, or where what it gives
    was had in another way."""
    denied_by: str = ""
    """The policy that denies the right in so many words: no further allow helps there."""
    arn: str = ""
    """Of what the right was asked for, in whole or up to its region and account."""


@dataclass(frozen=True, slots=True)
class RawMetrics:
    """GetMetricData's answer before normalization: frame of ``timestamp node metric value`` (host sums)."""

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
    """Up to three of the most number-like line shapes, for when no step was recognized."""
    readings: tuple[StepReading, ...] = ()
    """How the steps of each format were read, the format of most reports first."""
    complete: bool = True
    """False while older lines are still being read: what begins with the first line or step is not known then."""
    learned: tuple[str, ...] = ()
    """The shapes of lines that no format knows and that were learned as step reports: ``upd <step> of N | nll <loss>``."""


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
    gpus: pd.DataFrame = field(default_factory=gpus_frame)
    """Samples of single GPUs, of the minutes that were read."""
    hosts: pd.DataFrame = field(default_factory=hosts_frame)
    """Samples of the cores and the network of nodes, of those of these minutes in which they matter."""
    profiler: ProfilerCoverage | None = None
    """None where the profiler's output was not read: there is none, nobody asked for it, or it could not be."""
