"""What would the rules have said over a job of the past: when, how long before its end, and what came after that?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from monitor.alert.conditions import Found, Rule
from monitor.alert.evaluate import Crossing, State, judge, missing
from monitor.alert.history import COOL_DOWN_S, Replay, comes_late, episodes, finding_episodes, replay
from monitor.alert.series import came_by_words
from monitor.analyze.phases import USEFUL
from monitor.model import Report


@dataclass(frozen=True, slots=True)
class Said:
    """One alert that would have been sent."""

    episode: Crossing
    at: datetime | None
    """When: figures of CloudWatch are judged three minutes late. None where lines carry no time."""
    seconds_before_end: float | None
    usd_after: float | None
    """What the job cost from then on: with a stop at the alert, that would have been saved."""
    wasted_usd_after: float | None
    """Of that, what was neither training nor evaluation nor checkpoint."""


@dataclass(frozen=True, slots=True)
class Backtested:
    """One rule over one job."""

    rule: Rule
    state: State
    said: tuple[Said, ...] = ()
    why: str = ""
    came_by: str = ""
    """How the step times of its alerts were come by, where they are not simply printed."""


@dataclass(frozen=True, slots=True)
class BacktestedJob:
    """All rules over one job."""

    job: str
    status: str | None
    started: datetime | None
    ended: datetime | None
    judged_until: datetime
    usd: float | None
    rules: tuple[Backtested, ...]


def backtest(
    report: Report,
    rules: Sequence[Rule],
    now: datetime,
    cool_down_s: float = COOL_DOWN_S,
    progress: Callable[[float], None] = lambda share: None,
) -> BacktestedJob:
    """Walks through the job. ``now`` matters only for one that still runs."""
    job = report.job
    until = job.ended or (now if job.is_running else report.run.logs.last_line_at or now)
    replayed = replay(report, until, progress) if any(isinstance(rule.when, Found) for rule in rules) else Replay()
    tested = tuple(_tested(report, rule, now, until, replayed, cool_down_s) for rule in rules)
    return BacktestedJob(job.name, job.status, job.started, job.ended, until, report.cost.usd, tested)


def _tested(
    report: Report, rule: Rule, now: datetime, until: datetime, replayed: Replay, cool_down_s: float
) -> Backtested:
    when = rule.when
    if isinstance(when, Found):
        found = finding_episodes(replayed, when)
        late = timedelta(0)
        why = missing(report, when.subject)
    else:
        found = episodes(report, when, now, cool_down_s)
        late = comes_late(when)
        why = judge(report, rule, now).why if not found else ""
    if not found:
        return Backtested(rule, "no data" if why else "ok", why=why)
    said = [_said(report, episode, late, until) for episode in found]
    said.sort(key=lambda each: (each.at is None, each.at, each.episode.key))
    came_by = "" if isinstance(when, Found) else came_by_words(report, when)
    return Backtested(rule, "firing", tuple(said), came_by=came_by)


def _said(report: Report, episode: Crossing, late: timedelta, until: datetime) -> Said:
    if episode.fired is None:
        return Said(episode, None, None, None, None)
    at = episode.fired + late
    before_end_s = max(0.0, (until - at).total_seconds())
    return Said(episode, at, before_end_s, *_cost_after(report, at))


def _cost_after(report: Report, at: datetime) -> tuple[float | None, float | None]:
    """(USD, of these wasted) from a moment on; None without a price."""
    usd = report.cost.usd
    billed = [phase for phase in report.phases if phase.billed]
    total_s = sum(phase.seconds for phase in billed)
    if usd is None or not total_s:
        return None, None
    left = [(phase, max(0.0, (phase.end - max(phase.start, at)).total_seconds())) for phase in billed]
    after = sum(seconds for _, seconds in left) / total_s * usd
    wasted = sum(seconds for phase, seconds in left if phase.name not in USEFUL) / total_s * usd
    return after, wasted if report.cost.overhead_usd is not None else None
