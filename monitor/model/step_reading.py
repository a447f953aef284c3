"""How the steps of a job were read, one log format at a time, with lines that show it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReadLine:
    """A line of the log, without secrets, and what was read of it; None is what it does not tell."""

    stream: str
    line: int
    """Its number in the stream, from 1; below 1 where the stream's head was not read."""
    text: str
    step: int | None = None
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
    """Why what is printed was read anew by the clock of the lines: interval, unit, accumulation, writers, clock; "" where it
    was not."""
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
