"""What was read of a job: pages and lines of its logs, how its steps were read, raw metrics, what is missing, and the run they
make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from monitor.model.frames import gpus_frame, hosts_frame
from monitor.model.job import Job, ProfilerCoverage

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

    @property
    def sentence(self) -> str:
        """Why, and what to do about it."""
        return f"{self.why} {self.remedy}".strip()


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


@dataclass(frozen=True, slots=True)
class LogRequest:
    """Which part of a job's log is wanted; without any time it is the newest lines."""

    node: str | None = None
    """Only what stands in this node's own streams; None for all streams merged in time."""
    at: datetime | None = None
    """The lines around this moment."""
    start: datetime | None = None
    """The lines from here on."""
    end: datetime | None = None
    """The lines before here; with ``start``, the end of the stretch."""

    @property
    def is_newest(self) -> bool:
        return self.at is None and self.start is None and self.end is None


class LogLine(NamedTuple):
    """One line with the time of its event, as the source has it."""

    stream: str
    time_ms: int
    text: str


@dataclass(frozen=True, slots=True)
class LogSpan:
    """All lines of ``[from_ms, to_ms)`` in time; of lines of one millisecond in the order they came."""

    lines: tuple[LogLine, ...]
    from_ms: int
    to_ms: int
    older: bool = True
    """There may be lines before; False where the span begins with the job."""
    newer: bool = True
    """There are lines after it; False where it reaches to what was written when it was read."""
    gap: Gap | None = None
    """What is missing of what was asked for."""


@dataclass(frozen=True, slots=True)
class ReadLine:
    """A line of the log, without secrets, and what was read of it; None is what it does not tell."""

    stream: str
    line: int
    """Its number in the stream, from 1; below 1 where the stream's head was not read."""
    text: str
    step: int | None = None
    step_printed: bool = True
    """Not so where the samples of a bar were counted as batches, or the steps of epochs as those of the run."""
    step_time_s: float | None = None
    kind: str = ""
    steps_since: int | None = None
    """Steps since the report before it, of the same writer."""
    throughput: float | None = None
    throughput_unit: str = ""
    loss: float | None = None


@dataclass(frozen=True, slots=True)
class StepReading:
    """One log format: how its times were come by. Seconds are of one step."""

    format: str
    reports: int
    kind: str
    """The kind of most of its reports."""
    cause: str = ""
    """Why what is printed was read anew by the clock of the lines: interval, unit, accumulation, writers, clock; shared where
    another line tells the time of an epoch, or of all; "" where it is as printed."""
    factor: float = 1.0
    """What is printed times this is a step's time."""
    printed_s: float | None = None
    """The median of what is printed, as a step's time; None where none is."""
    clock_s: float | None = None
    """The median by the clock of the lines; None where they have none."""
    resolution_s: float | None = None
    """How far one time of the clock may be off; None where no time is the clock's."""
    shape: str = ""
    """What lines of this format look like, where that was learned from this log."""
    lines: tuple[ReadLine, ...] = ()
    """The first ones."""
