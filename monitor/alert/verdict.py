"""What is said of one rule and one job: the values that an evaluation gives."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from monitor.alert.conditions import Rule

State = Literal["firing", "ok", "no data"]


@dataclass(frozen=True, slots=True)
class Firing:
    """One node (or finding) that a rule fires for."""

    node: str | None
    """None where it is of the whole job, or where nobody knows the node's name."""
    since: datetime | None
    """None where the lines carry no time."""
    until: datetime | None
    """Its end, in a job that is over; None while it lasts, or where no time is known."""
    value: float | None
    limit: float | None
    """The number that ``value`` was compared with."""
    finding: str = ""
    """The id, for a rule about findings."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A rule as of one moment."""

    rule: Rule
    state: State
    node: str | None = None
    """Where it fires, or comes nearest to firing."""
    since: datetime | None = None
    value: float | None = None
    """The newest that was judged; of a span in a job that is over, its mean."""
    unit: str = ""
    limit: float | None = None
    """The number that ``value`` is compared with."""
    firing: tuple[Firing, ...] = ()
    """One for each node or finding, the worst first."""
    why: str = ""
    """Why there is no data; else empty."""
    summary: str = ""
    """The sentence of the finding that it fires for."""
    came_by: str = ""
    """How ``value`` was come by, in words, where it is a step time that is not simply printed."""
