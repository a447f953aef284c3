"""What the pages ask for: the account, its jobs, the newest review of one. The only place where Streamlit caches.

Nothing here raises an error of ``monitor.errors``: what could not be had comes back as a value that says why, so that
the cache holds it too and a refusing account is not asked at every rerun.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar

import streamlit as st

from monitor import settings
from monitor.archive.address import store_of
from monitor.archive.cache import user_cache
from monitor.aws.clients import Clients
from monitor.errors import BadCall, TrainwatchError
from monitor.fetch.account import AwsSource
from monitor.fetch.price_file import user_prices
from monitor.fetch.source import JobQuery, Source
from monitor.model import JobSummary, Report
from monitor.review import Snapshot, Watch
from monitor.review.archived import ArchiveSource

#: A job that was just created may take this long to appear in the list.
JOBS_TTL_S = 20
#: ListTrainingJobs gives 100 rows a call.
JOBS_LIMIT = 100
Kept = TypeVar("Kept")

_JOB_NAME = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}")


@dataclass(frozen=True, slots=True)
class Account:
    """Where jobs are looked for; None means what boto3 finds by itself."""

    region: str | None = None
    profile: str | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """The jobs that match, newest first; ``error`` says why they are missing or, beside jobs, that they are old."""

    jobs: tuple[JobSummary, ...] = ()
    error: TrainwatchError | None = None
    read_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where the figures come from; what is not known, or goes without saying, is None."""

    region: str | None = None
    account_number: str | None = None
    endpoint: str | None = None
    """Only where it is not AWS's own."""
    archive: str | None = None
    """Where the jobs are those of an archive; all else is None then."""


class Watcher(Protocol):
    """What the pages need of ``monitor.review.Watch``."""

    def snapshot(self, name: str) -> Snapshot:
        """The newest that is known; never blocks, starts a review at the first call."""
        ...


def connect(account: Account) -> Source:
    """The source behind an account: AWS, or the archive that the dashboard was started on."""
    if root := os.environ.get(settings.ARCHIVE_SHOWN):
        return ArchiveSource(store_of(root, account.region, account.profile))
    return AwsSource(Clients(account.region, account.profile), user_prices())


def observe(source: Source) -> Watcher:
    """Who reviews jobs in the background."""
    known = settings.read()
    return Watch(source, settings=known, cache=user_cache(known.cache_bytes))


@dataclass(slots=True)
class _Desk:
    """One account in use by all sessions: its source, its watcher, and the last list that could be read."""

    source: Source
    watch: Watcher
    listed: dict[JobQuery, tuple[JobSummary, ...]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


@st.cache_resource(max_entries=4, show_spinner=False)
def _desk(account: Account) -> _Desk:
    source = connect(account)
    return _Desk(source, observe(source))


@st.cache_data(ttl=JOBS_TTL_S, max_entries=64, show_spinner="Listing the training jobs…")
def _listing(account: Account, query: JobQuery) -> Listing:
    try:
        desk = _desk(account)
    except TrainwatchError as error:
        return Listing(error=error)
    now = datetime.now(UTC)
    try:
        found = desk.source.jobs(query)
    except TrainwatchError as error:
        with desk.lock:
            return Listing(desk.listed.get(query, ()), error, now)
    with desk.lock:
        if len(desk.listed) >= 64:
            desk.listed.clear()
        desk.listed[query] = found
    return Listing(found, read_at=now)


def jobs(account: Account, search: str = "", status: str | None = None) -> Listing:
    """The newest hundred jobs that match, at most 20 s old."""
    return _listing(account, JobQuery(status=status, name_contains=search.strip() or None, limit=JOBS_LIMIT))


def snapshot(account: Account, name: str) -> Snapshot:
    """What is known of a job right now; a name that no training job can have never reaches AWS."""
    if not _JOB_NAME.fullmatch(name) and not os.environ.get(settings.ARCHIVE_SHOWN):
        return Snapshot(
            error=BadCall(
                "This is not the name of a training job.",
                "Names have 1 to 63 letters, digits and hyphens. Choose a job from the list.",
            )
        )
    try:
        return _desk(account).watch.snapshot(name)
    except TrainwatchError as error:
        return Snapshot(error=error)


@st.cache_resource(max_entries=128, ttl="10m", show_spinner=False)
def _of_report(arn: str, name: str, reviewed_at: datetime, what: str, _make: Callable[[], Any]) -> Any:
    return _make()


def of_report(report: Report, what: str, make: Callable[[], Kept]) -> Kept:
    """What ``make`` makes of a report, made once for all viewers and refreshes of that report; not to be changed."""
    kept: Kept = _of_report(report.job.arn, report.job.name, report.reviewed_at, what, make)
    return kept


@st.cache_resource(max_entries=4096, ttl="10m", show_spinner=False)
def _said(arn: str, name: str, reviewed_at: datetime, what: str, _make: Callable[[], Any]) -> Any:
    return _make()


def said_of(report: Report, what: str, make: Callable[[], Kept]) -> Kept:
    """As ``of_report``, for small values of which a report has many: what each threshold says of it."""
    kept: Kept = _said(report.job.arn, report.job.name, report.reviewed_at, what, make)
    return kept


@st.cache_resource(max_entries=128, show_spinner=False)
def _specification(what: tuple[str | int | bool, ...], _make: Callable[[], Any]) -> Any:
    return _make()


def specification(what: tuple[str | int | bool, ...], make: Callable[[], Kept]) -> Kept:
    """What ``make`` makes of a chart that is the same for all data, made once; not to be changed."""
    kept: Kept = _specification(what, make)
    return kept


def place(account: Account) -> Place:
    """Where the figures come from, as far as it is known."""
    try:
        source = _desk(account).source
        if isinstance(source, ArchiveSource):
            return Place(archive=source.label)
        clients = getattr(source, "clients", None)
        if clients is None:
            return Place()
        endpoint = str(clients.endpoint())
    except TrainwatchError:
        return Place(region=account.region)
    return Place(clients.region, clients.account_label(), None if "amazonaws.com" in endpoint else endpoint)


def forget() -> None:
    """Starts anew at the next question: new credentials are read, and the list is fetched again."""
    _listing.clear()
    _desk.clear()
