"""Lines of a job's log as they were asked for and read: which part of it is wanted, and what stands there."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from monitor.model.run import Gap


@dataclass(frozen=True, slots=True)
class LogAsk:
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
