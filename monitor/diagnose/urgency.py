"""Which of many jobs needs somebody first? One order for the page of jobs, the terminal and the tools of agents."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from monitor.diagnose.level import Level
from monitor.model import JobSummary

#: What asks for action first; what asks for none keeps the order of time.
LOUDNESS: dict[Level, int] = {
    "critical": 0,
    "warning": 1,
    "unknown": 2,
    "partial": 2,
    "muted": 2,
    "waiting": 3,
    "unreviewed": 3,
    "info": 3,
    "healthy": 3,
}
_RECENT = timedelta(days=1)
_BEGINNING = datetime.min.replace(tzinfo=UTC)


def is_running(job: JobSummary) -> bool:
    return job.status in {"InProgress", "Stopping"}


def by_urgency(jobs: Iterable[JobSummary], now: datetime) -> list[JobSummary]:
    """In which order jobs are reviewed: those that run first, then those that failed within a day, then the rest as they
    are listed: newest first."""

    def rank(job: JobSummary) -> int:
        failed = job.status == "Failed" and now - (job.ended or job.created or _BEGINNING) < _RECENT
        return 0 if is_running(job) else 1 if failed else 2

    return sorted(jobs, key=rank)


def place(level: Level, runs: bool, gain_usd: float | None, cost_usd: float | None) -> tuple[float, ...]:
    """Where a reviewed job stands, the lowest first: by what could be recovered, the most first; of jobs that ask for action
    those that run (an hour), then those that have ended (in all), then of the rest.

    Where it is not known what a failed or stalled job could recover, its cost stands in: all of it may have been in vain.
    """
    loud = LOUDNESS[level]
    gain = cost_usd if gain_usd is None and level == "critical" else gain_usd
    return (not runs if loud <= LOUDNESS["warning"] else 2), -(gain or 0.0), loud, not runs
