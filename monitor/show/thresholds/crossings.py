"""Which jobs cross a threshold? Running ones as of now, finished ones as of their end.

Judged are the reviews of the jobs that the Jobs page reviews anyway, each of them once: no job is read for a threshold.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from monitor.alert.conditions import Rule
from monitor.alert.evaluate import Verdict, judge, value_words, when_words
from monitor.diagnose.headline import status_word
from monitor.model import Report
from monitor.show import data
from monitor.words import count

#: So long at most is judged in one go: a page with hundreds of verdicts to find fills in place.
PATIENCE_S = 0.8

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Judged:
    """What a threshold says of one job."""

    report: Report
    verdict: Verdict

    @property
    def words(self) -> str:
        """``running · algo-3 and 2 more · 31 % · since 25 Sep, 14:05 UTC``; of a finding its title."""
        verdict, state = self.verdict, status_word(self.report.job.status)
        worst = verdict.firing[0] if verdict.firing else None
        more = len({one.node for one in verdict.firing}) - 1
        others = f" and {count(more, 'other node')}" if more > 0 else ""
        node = f"{verdict.node}{others}" if verdict.node else ""
        when = when_words(worst.since, worst.until) if worst else ""
        # Of a finding its title: its page tells the rest.
        title = next((each.title for each in self.report.findings if worst and each.id == worst.finding), "")
        parts = (state, "" if title else node, title or value_words(verdict), verdict.came_by, when)
        return " · ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class Crossings:
    """One threshold over the jobs that are reviewed."""

    crossed: tuple[Judged, ...]
    """Running jobs first."""
    unknown: tuple[Judged, ...]
    running: int
    """So many running jobs could be judged."""
    finished: int
    waiting: int
    """Reviewed, but not looked at yet."""

    @property
    def now(self) -> int:
        """How many running jobs cross it."""
        return sum(one.report.job.is_running for one in self.crossed)

    @property
    def past(self) -> int:
        return len(self.crossed) - self.now

    @property
    def words(self) -> str:
        """``Crossed now by 1 of 2 running jobs``, ``Not crossed``."""
        if self.now:
            return f"Crossed now by {self.now} of {count(self.running, 'running job')}"
        if self.past:
            return f"Crossed by {self.past} of {count(self.finished, 'finished job')}"
        if self.running + self.finished:
            return "Not crossed"
        return "No data" if self.unknown else ""

    @property
    def beside(self) -> str:
        """What else there is to say: ``2 of 9 finished jobs crossed it``, ``checked on 2 running jobs and 9 finished jobs``."""
        running, finished = count(self.running, "running job"), count(self.finished, "finished job")
        if self.now:
            return f"{self.past or 'none'} of {finished} crossed it" if self.finished else ""
        if self.past:
            return f"not by {'the' if self.running == 1 else 'any of'} {running}" if self.running else ""
        on = " and ".join(part for part, there in ((running, self.running), (finished, self.finished)) if there)
        return f"checked on {on}" if on else ""

    @property
    def reasons(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Why there is no data, and in which jobs."""
        found: dict[str, list[str]] = {}
        for one in self.unknown:
            found.setdefault(one.verdict.why, []).append(one.report.job.name)
        return tuple((why, tuple(names)) for why, names in found.items())


def crossings(rule: Rule, reports: Sequence[Report]) -> Crossings:
    """What a threshold says of all of them, as far as it is found out in time."""
    judged = tuple(Judged(report, verdict) for report, verdict in in_time(reports, lambda report: _said(report, rule)))
    known = [one for one in judged if one.verdict.state != "no data"]
    running = sum(one.report.job.is_running for one in known)
    crossed = [one for one in judged if one.verdict.state == "firing"]
    crossed.sort(key=lambda one: not one.report.job.is_running)
    unknown = tuple(one for one in judged if one.verdict.state == "no data")
    return Crossings(tuple(crossed), unknown, running, len(known) - running, len(reports) - len(judged))


def in_time(reports: Sequence[Report], find: Callable[[Report], Value]) -> list[tuple[Report, Value]]:
    """What ``find`` finds of each report, of as many as are done in time; the next time goes on from there."""
    until, found = time.monotonic() + PATIENCE_S, []
    for report in reports:
        found.append((report, find(report)))
        if time.monotonic() > until:
            break
    return found


def _said(report: Report, rule: Rule) -> Verdict:
    # Name and loudness change nothing in a verdict's figures.
    return data.said_of(report, f"verdict {rule.text}", lambda: judge(report, rule, report.reviewed_at))
