"""What a source of jobs must be able to do: AWS, log files and exported logs give pages of lines, archives whole runs.
And which jobs are asked for, with the way in which a user writes that.

No source is asked which class it is of: what only some can do is an attribute that is None for the others. All methods may
raise an error of ``monitor.errors`` when the whole question cannot be answered; what is missing in part comes back as a
``Gap`` beside what could be had.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal, Protocol

import pandas as pd

from monitor.choices import STATUSES
from monitor.errors import BadCall, NoData, NotAllowed, TrainwatchError
from monitor.model import (
    BEGINNING,
    ApiBill,
    Gap,
    Job,
    JobSummary,
    LoadProgress,
    LogPage,
    LogRequest,
    LogSpan,
    Node,
    Price,
    RawMetrics,
)
from monitor.parse.recognise import RawRows

if TYPE_CHECKING:
    from monitor.aws.clients import Clients
    from monitor.fetch.metrics.profiler import MinuteStore


@dataclass(frozen=True, slots=True)
class JobQuery:
    """Which jobs to list, newest first."""

    status: str | None = None
    name_contains: str | None = None
    created_after: datetime | None = None
    limit: int = 100
    created_before: datetime | None = None
    instance_type: str | None = None
    """A part of it will do."""
    tag: str | None = None
    """``key`` or ``key=value``."""
    modified_after: datetime | None = None
    """Only what has changed since: a list that was read before is brought up to date by it."""

    def takes(self, job: JobSummary) -> bool:
        """Whether a job is one that is asked for, by what is known of it."""
        created = job.created or BEGINNING
        key, equals, text = (self.tag or "").partition("=")
        key, text = key.strip(), text.strip()
        return (
            (not self.status or job.status == self.status)
            and (self.name_contains or "") in job.name
            and (self.created_after is None or created >= self.created_after)
            and (self.created_before is None or created < self.created_before)
            and (self.instance_type or "") in (job.instance_type or "")
            and (not key or ((told := job.tag(key)) is not None and (not equals or told == text)))
        )


@dataclass(frozen=True, slots=True)
class JobQueryResult:
    """The jobs that a query finds, newest first, and what of it could not be answered."""

    jobs: tuple[JobSummary, ...] = ()
    more: bool = False
    """There are further ones, which were not asked for."""
    gaps: tuple[Gap, ...] = ()

    @property
    def broken_off(self) -> str:
        """Of a list without a limit: why it is not all of it; "" where it is."""
        return (" ".join(gap.why for gap in self.gaps) or "The list of jobs breaks off.") if self.more else ""


@dataclass(frozen=True, slots=True)
class Aggregated:
    """What stands in for the lines of a job; ``steps`` is None where they must be read after all."""

    steps: pd.DataFrame | None = None
    raw: RawRows | None = None
    """What the sampled lines say."""
    gaps: tuple[Gap, ...] = ()


class LogReader(Protocol):
    """Reads the logs of one job and remembers how far it came."""

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """What could not be read so far, and why; empty when all is well."""
        ...

    @property
    def numbering(self) -> Mapping[str, int | None]:
        """stream -> the number its first line was given, where that is not 1; None while its head is not read."""
        ...

    @property
    def progress(self) -> LoadProgress | None:
        """How much of what was there at the first look is read; None when all of it is, or it cannot be told."""
        ...

    def newest(self) -> Iterator[LogPage]:
        """The newest lines, after a fixed few calls, before anything else is read; nothing where that saves no time."""
        ...

    def read(self) -> Iterator[LogPage]:
        """Pages that were not returned before, oldest first within a stream, up to what is written by now."""
        ...


class LogLineReader(Protocol):
    """Reads log lines of a stretch of time, again and again."""

    def __call__(self, job: Job, ask: LogRequest, before: LogSpan | None = None) -> LogSpan:
        """What was asked for; ``before`` is the last answer to the same, of which only what is new is read.

        Errors of ``monitor.errors`` where nothing could be read.
        """
        ...


class JobSource(Protocol):
    """What every source of jobs can do."""

    @property
    def clients(self) -> Clients | None:
        """The AWS account whose jobs these are; None where they are no account's."""
        ...

    @property
    def lines(self) -> LogLineReader | None:
        """Reads lines by their time; None where they cannot be found by it."""
        ...

    def jobs(self, query: JobQuery) -> tuple[JobSummary, ...]:
        """The jobs that match, newest first."""
        ...

    def find(self, query: JobQuery) -> JobQueryResult:
        """As ``jobs``, with types, starts and tags where they can be had by a call a hundred jobs."""
        ...

    def with_instances(self, summaries: Sequence[JobSummary]) -> tuple[JobSummary, ...]:
        """The same rows with instance type and count, where a list lacks them and they can be had."""
        ...

    def job(self, name: str) -> Job:
        """One job, with a Node for each of its hosts. NoSuchJob names the nearest names."""
        ...

    def endpoint(self) -> str | None:
        """Which service the jobs are asked of; None where they are no account's, and nothing of them is cached."""
        ...

    def price(self, instance_type: str, job: Job) -> Price | Gap | None:
        """What an hour of this type costs where the job runs, or why that is not known; None where no prices are.

        Takes a few seconds at most, and raises nothing.
        """
        ...

    def bill(self) -> ApiBill:
        """All calls since this source was made."""
        ...


class PageSource(JobSource, Protocol):
    """An AWS account or logs: pages of lines and the metrics of hosts."""

    gives: Literal["pages"]

    def logs(self, job: Job) -> LogReader:
        """A reader over all streams of the job."""
        ...

    def metrics(self, job: Job, now: datetime) -> RawMetrics:
        """Host sums over the whole job, at the finest period its age allows."""
        ...

    def profiled(self, job: Job) -> MinuteStore | None:
        """What the job's profiler wrote; None where there is nothing of the kind, which takes no call to know."""
        ...

    def instance_type(self, name: str) -> Node | None:
        """Counts of an instance type that the bundled table lacks, or None. ``Node.name`` is empty."""
        ...

    def beginnings(self) -> Mapping[str, str]:
        """What tells kept lines from others of their name; empty for an account, whose names are its own."""
        ...

    def goes_on(self, known: Mapping[str, str]) -> bool:
        """Whether these are the lines with those beginnings, or what came of them since."""
        ...


What = Literal["metrics", "logs", "job", "price", "normalisation", "profiler"]


def gap_of(what: What, error: TrainwatchError, of: str = "") -> Gap:
    """The gap that an error leaves; ``of`` names the part it concerns, such as a stream.

    Only what does not exist is gone for good.
    """
    why = f"{of}: {error.message}" if of else error.message
    refused = (error.action, error.denied_by, error.arn) if isinstance(error, NotAllowed) else ()
    return Gap(what, why, error.remedy, not isinstance(error, NoData), *refused)


def some_of(names: Sequence[str], shown: int = 3) -> str:
    """A few of many names: "algo-1, algo-2, algo-3 and 61 more"."""
    more = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {more} more" if more > 0 else "")


_UNITS = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def job_query(status: str | None, name_contains: str | None, since: str | None, now: datetime, limit: int) -> JobQuery:
    """The query of --status, --name-contains and --since. BadCall where one of them is wrong."""
    return JobQuery(_status(status), name_contains, _since(since, now), limit)


def _status(text: str | None) -> str | None:
    if text is None:
        return None
    known = {status.lower(): status for status in (*STATUSES, "Deleting")}
    if text.lower() == "running":
        return "InProgress"
    if text.lower() not in known:
        raise BadCall(f"No job has the status {text}.", f"Write one of {', '.join(STATUSES)}, or running.")
    return known[text.lower()]


def _since(text: str | None, now: datetime) -> datetime | None:
    if text is None:
        return None
    match = re.fullmatch(r"(\d{1,6})([mhdw])", text.strip())
    if match is None:
        raise BadCall(f"--since {text} is not a duration.", "Write a number and a unit: 90m, 12h, 7d or 4w.")
    try:
        return now - timedelta(seconds=int(match[1]) * _UNITS[match[2]])
    except OverflowError:
        raise BadCall(f"--since {text} is longer ago than any job.", "Leave it out to list all.") from None
