"""What is said of one rule and one job: the values that an evaluation gives, and how they are worded for people."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from monitor.alert.conditions import MEASURES, Rule, Threshold
from monitor.words import duration, percent, step_seconds, usd

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


def figure(value: float | None, metric: str, unit: str) -> str:
    """A value of a metric with its unit: ``31 %``, ``4.10 s``, ``12 min``, ``$4,880``, ``512 tokens/s``, ``2.31``."""
    if value is None:
        return ""
    kind = MEASURES[metric].kind
    if kind == "host":
        return percent(value)
    if kind == "cost":
        return usd(value)
    if kind == "silence":
        return duration(value)
    if metric == "step_time":
        return step_seconds(value)
    shown = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{shown}{f' {unit}' if unit else ''}"


def value_words(verdict: Verdict) -> str:
    """The value of a verdict, and of a relative threshold what it is measured by."""
    when = verdict.rule.when
    if not isinstance(when, Threshold) or verdict.value is None:
        return ""
    said = figure(verdict.value, when.metric, verdict.unit)
    if when.relative and verdict.limit is not None and verdict.limit:
        usual = verdict.limit / when.value
        said += f" ({verdict.value / usual:.2f} x of {figure(usual, when.metric, verdict.unit)})" if usual else ""
    return said


def when_words(since: datetime | None, until: datetime | None) -> str:
    """``since 25 Sep, 14:05 UTC``, ``14:05 to 14:25 UTC, 25 Sep``."""
    if since is None:
        return ""
    day = f"{since.astimezone(UTC):%d %b}".lstrip("0")
    if until is None:
        return f"since {day}, {since.astimezone(UTC):%H:%M} UTC"
    same = since.astimezone(UTC).date() == until.astimezone(UTC).date()
    later = "" if same else f"{until.astimezone(UTC):%d %b}, ".lstrip("0")
    return f"{day}, {since.astimezone(UTC):%H:%M} to {later}{until.astimezone(UTC):%H:%M} UTC"
