"""What the pages ask for: the account, its jobs, the newest review of one. The only place where Streamlit caches.

Nothing here raises an error of ``monitor.errors``: what could not be obtained comes back as a value that says why, so that
the cache holds it too and a refusing account is not asked at every rerun. What is made of reports and charts is made once
for all viewers and refreshes.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, TypeVar

import streamlit as st

from monitor import settings
from monitor.accounts import Account as Member
from monitor.accounts import AccountRegion, chosen
from monitor.archive.cache import user_cache
from monitor.archive.comparison import user_pairs
from monitor.archive.store import store_of
from monitor.aws import profiles
from monitor.aws.clients import Clients
from monitor.diagnose.comparison.compare import Comparison, compare
from monitor.errors import BadCall, CannotDo, TrainwatchError
from monitor.fetch.account import AwsSource, open_pair
from monitor.fetch.metrics.hosts import Glances, read_glances
from monitor.fetch.prices import user_prices
from monitor.fetch.source import JobQuery, JobQueryResult, gap_of
from monitor.model import ApiBill, Gap, JobSummary, LogRequest, Mute, Pair, Report
from monitor.review import Snapshot, Watch
from monitor.review.across import AcrossWatch
from monitor.review.archived import ArchiveSource, Source
from monitor.review.log_lines import LogSnapshot, LogWatch
from monitor.review.muted import muted_file, with_mutes
from monitor.review.muted import mutes as known_mutes
from monitor.show import visitor

#: A job that was just created may take this long to appear in the list.
JOBS_TTL_S = 20
#: Three calls of Search.
JOBS_LIMIT = 300
#: Points come once a minute, and each series asked for is paid for.
GLANCES_TTL_S = 300

_JOB_NAME = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}")


@dataclass(frozen=True, slots=True)
class JobListing:
    """The jobs that match, newest first; ``error`` says why they are missing or, beside jobs, that they are old."""

    jobs: tuple[JobSummary, ...] = ()
    error: TrainwatchError | None = None
    read_at: datetime | None = None
    more: bool = False
    """There are further jobs that match, which were not asked for."""
    gaps: tuple[Gap, ...] = ()


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the figures come from; what is not known, or goes without saying, is None."""

    region: str | None = None
    account_number: str | None = None
    endpoint: str | None = None
    """Only where it is not AWS's own."""
    archive: str | None = None
    """Where the jobs are those of an archive; all else is None then."""


class Watcher(Protocol):
    """What the pages need of ``monitor.review.Watch``."""

    def snapshot(self, name: str, urgency: int = 0) -> Snapshot:
        """The newest that is known; never blocks, starts a review at the first call, the lowest ``urgency`` first."""
        ...


class LogService(Protocol):
    """What the pages need of ``monitor.review.log_lines.LogWatch``."""

    def lines(self, name: str, ask: LogRequest) -> LogSnapshot:
        """The newest that is known of a stretch of a log; never blocks, starts reading it at the first call."""
        ...


def connect(account: AccountChoice) -> Source:
    """The source behind an account: AWS, or the archive that the dashboard was started on."""
    if root := os.environ.get(settings.ARCHIVE_SHOWN):
        return ArchiveSource(store_of(root, account.region, account.profile))
    if account.member:
        regions = [account.region] if account.region else []
        return open_pair(chosen(settings.read().accounts, [account.member], regions)[0], None, user_prices())
    if account.region or account.profile:
        profiles.check(local_profiles(), account.region, account.profile)
    return AwsSource(Clients(account.region, account.profile), user_prices())


def observe(source: Source) -> Watcher:
    """Who reviews jobs in the background."""
    known = settings.read()
    return Watch(source, settings=known, cache=user_cache(known.cache_bytes))


def read_logs(source: Source) -> LogService:
    """Who reads log lines again in the background."""
    return LogWatch(source, settings=settings.read())


@dataclass(slots=True)
class _OpenAccount:
    """One account in use by all sessions: its source, its watcher, and the last list that could be read."""

    source: Source
    watch: Watcher
    logs: LogService
    listed: dict[JobQuery, JobQueryResult] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


@st.cache_resource(max_entries=16, show_spinner=False)
def _open_account(account: AccountChoice) -> _OpenAccount:
    source = connect(account)
    return _OpenAccount(source, observe(source), read_logs(source))


def shared_source(account: AccountChoice) -> Source:
    """The source that all sessions use."""
    return _open_account(account).source


@st.cache_data(ttl=JOBS_TTL_S, max_entries=64, show_spinner="Listing the training jobs…")
def _listing(account: AccountChoice, query: JobQuery) -> JobListing:
    try:
        desk = _open_account(account)
    except TrainwatchError as error:
        return JobListing(error=error)
    now = datetime.now(UTC)
    try:
        found = desk.source.find(query)
    except TrainwatchError as error:
        with desk.lock:
            last = desk.listed.get(query, JobQueryResult())
        return JobListing(last.jobs, error, now, last.more, last.gaps)
    with desk.lock:
        if len(desk.listed) >= 64:
            desk.listed.clear()
        desk.listed[query] = found
    return JobListing(found.jobs, None, now, found.more, found.gaps)


def jobs(account: AccountChoice, search: str = "", status: str | None = None) -> JobListing:
    """The newest jobs that match, at most 20 s old."""
    return find(account, JobQuery(status=status, name_contains=search.strip() or None, limit=JOBS_LIMIT))


def find(account: AccountChoice, query: JobQuery) -> JobListing:
    """The jobs that a query asks for, at most 20 s old."""
    return _listing(account, query)


@st.cache_data(ttl=GLANCES_TTL_S, max_entries=16, show_spinner=False)
def _glances(account: AccountChoice, names: tuple[str, ...], _jobs: tuple[JobSummary, ...]) -> Glances:
    try:
        clients = _open_account(account).source.clients
        return Glances() if clients is None else read_glances(clients, _jobs, datetime.now(UTC))
    except TrainwatchError as error:
        return Glances(gaps=(gap_of("metrics", error),))


def glances(account: AccountChoice, running: Sequence[JobSummary]) -> Glances:
    """How busy these jobs are, all of them in a few calls, at most 5 min old."""
    return _glances(account, tuple(sorted(job.name for job in running)), tuple(running))


@st.cache_resource(max_entries=4, show_spinner=False)
def across(pairs: tuple[AccountRegion, ...]) -> AcrossWatch:
    """Who lists the jobs of these accounts and regions, for all sessions."""
    return AcrossWatch(pairs, lambda where: open_pair(where, None, user_prices()), JOBS_LIMIT)


@st.cache_data(ttl="1m", show_spinner=False)
def own_prices() -> Mapping[str, float]:
    """The prices that the user set, USD per instance-hour."""
    try:
        return dict(settings.read().prices)
    except TrainwatchError:
        return {}


def bill(account: AccountChoice) -> ApiBill:
    """All calls that this dashboard has made of the account since it was started, and what AWS asks for them."""
    try:
        return _open_account(account).source.bill()
    except TrainwatchError:
        return ApiBill()


def snapshot(account: AccountChoice, name: str, urgency: int = 0) -> Snapshot:
    """What is known of a job right now; a name that no training job can have never reaches AWS."""
    if error := _no_name(name):
        return Snapshot(error=error)
    try:
        found = _open_account(account).watch.snapshot(name, urgency)
    except TrainwatchError as error:
        return Snapshot(error=error)
    if found.report is None:
        return found
    return replace(found, report=with_mutes(found.report, mutes()[0]))


@st.cache_resource(max_entries=16, show_spinner=False)
def _reviewed_rows(account: AccountChoice, muted: tuple[Mute, ...]) -> dict[str, Any]:
    return {}


def reviewed_rows(account: AccountChoice) -> dict[str, Any]:
    """Name of a job -> what the list of jobs keeps of its review, for all sessions; to be added to."""
    return _reviewed_rows(account, mutes()[0])


def lines(account: AccountChoice, name: str, ask: LogRequest) -> LogSnapshot:
    """What is known of a stretch of a job's log right now."""
    if error := _no_name(name):
        return LogSnapshot(error=error)
    try:
        return _open_account(account).logs.lines(name, ask)
    except TrainwatchError as error:
        return LogSnapshot(error=error)


def _no_name(name: str) -> TrainwatchError | None:
    if _JOB_NAME.fullmatch(name) or os.environ.get(settings.ARCHIVE_SHOWN):
        return None
    return BadCall(
        "This is not the name of a training job.",
        "Names have 1 to 63 letters, digits and hyphens. Choose a job from the list.",
    )


@st.cache_data(ttl="60s", max_entries=1, show_spinner=False)
def measured_pairs() -> tuple[Pair, ...]:
    """The pairs of predicted and measured that ``compare`` kept for this user."""
    store = user_pairs()
    return () if store is None else store.all()


def origin(account: AccountChoice) -> Origin:
    """Where the figures come from, as far as it is known."""
    try:
        source = _open_account(account).source
        if source.gives == "runs":
            return Origin(archive=source.label)
        if (clients := source.clients) is None:
            return Origin()
        endpoint = str(clients.endpoint())
    except TrainwatchError:
        return Origin(region=account.region or local_profiles(account.profile).region)
    return Origin(clients.region, clients.account_label(), None if "amazonaws.com" in endpoint else endpoint)


@st.cache_data(ttl="10m", max_entries=16, show_spinner=False)
def _account_number(account: AccountChoice) -> str | None:
    try:
        clients = _open_account(account).source.clients
    except TrainwatchError:
        return None
    return None if clients is None else clients.account_number()


def signed_in_to(account: AccountChoice) -> str | None:
    """The number of the account whose jobs are looked at; asked of AWS where nothing told it yet. None where nobody says."""
    return origin(account).account_number or _account_number(account)


def forget() -> None:
    """Starts anew at the next question: new credentials are read, and the list is fetched again."""
    _listing.clear()
    _glances.clear()
    _reviewed_rows.clear()
    _account_number.clear()
    _open_account.clear()
    across.clear()


Made = TypeVar("Made")


class OfReport(Protocol):
    """What ``make`` makes of a report, made once for all viewers and refreshes of that report; not to be changed."""

    def __call__(self, report: Report, what: str, make: Callable[[], Made]) -> Made: ...


class OfReports(Protocol):
    """The same of reports held against each other."""

    def __call__(self, reports: tuple[Report, ...], what: str, make: Callable[[], Made]) -> Made: ...


def _cache(name: str, most: int, ttl: str | None = "10m") -> Callable[..., Any]:
    """A cache of ``most`` values, by all arguments but the last one, which makes a value."""

    def made(which: object, what: str, _make: Callable[[], Any]) -> Any:
        return _make()

    # Streamlit tells caches apart by the names of their functions.
    made.__qualname__ = f"made {name}"
    return st.cache_resource(max_entries=most, ttl=ttl, show_spinner=False)(made)


def _of_reports(name: str, most: int) -> OfReports:
    cache = _cache(name, most)

    def of_reports(reports: tuple[Report, ...], what: str, make: Callable[[], Made]) -> Made:
        which = tuple((report.job.arn, report.job.name, report.reviewed_at) for report in reports)
        made: Made = cache(which, what, make)
        return made

    return of_reports


def _of_report(name: str, most: int) -> OfReport:
    cache = _of_reports(name, most)
    return lambda report, what, make: cache((report,), what, make)


of_report = _of_report("of a report", 128)
#: For all rows of a job in another order: they are large, and a running job has new ones at each look.
ordered_of = _of_report("in order", 8)
#: For small values of which a report has many: what each threshold says of it.
detail_of = _of_report("of a threshold", 4096)
of_comparison = _of_reports("of a comparison", 8)
# What is read of a report holds its steps; what is made of two is small.
_of_one, _of_two = _of_reports("of one of several", 16), _of_reports("of a pair", 128)
_specification = _cache("of a chart", 128, None)


def _of_one_or_two(reports: tuple[Report, ...], what: str, make: Callable[[], Made]) -> Made:
    return (_of_one if len(reports) == 1 else _of_two)(reports, what, make)


def compared(reports: tuple[Report, ...]) -> Comparison:
    """The comparison of these reports, worked out once for all viewers and refreshes; of three jobs of which one runs on,
    the pair of the others is not worked out again."""
    return of_comparison(reports, "comparison", lambda: compare(reports, _of_one_or_two))


def specification(what: tuple[str | int | bool, ...], make: Callable[[], Made]) -> Made:
    """What ``make`` makes of a chart that is the same for all data, made once; not to be changed.

    To build a specification takes longer than to work out a plan.
    """
    made: Made = _specification(what, "", make)
    return made


def mutes() -> tuple[tuple[Mute, ...], TrainwatchError | None]:
    """The findings that were muted, and why they are not known where their file cannot be used."""
    try:
        path = muted_file()
        stamp = path.stat()
    except (OSError, CannotDo):  # none was muted, or there is no place for it
        return (), None
    return _mutes(str(path), stamp.st_mtime_ns, stamp.st_size, stamp.st_ino)


@st.cache_data(max_entries=4, show_spinner=False)
def _mutes(path: str, *stamp: int) -> tuple[tuple[Mute, ...], TrainwatchError | None]:
    try:
        return known_mutes(Path(path)), None
    except TrainwatchError as error:
        return (), error


@dataclass(frozen=True, slots=True)
class AccountChoice:
    """Where jobs are looked for; None means what boto3 finds by itself."""

    region: str | None = None
    profile: str | None = None
    member: str | None = None
    """The name of an account of the settings file; its own role or profile is used then."""


@st.cache_data(ttl="1m", show_spinner=False)
def _members() -> tuple[Member, ...]:
    try:
        return settings.read().accounts
    except TrainwatchError:
        # What is wrong with the file is said where the account is opened.
        return ()


def members() -> tuple[Member, ...]:
    """The accounts of the settings file, where this visitor may see them: where only one profile is to be used, whoever runs
    the dashboard has to have said so."""
    allowed = os.environ.get(settings.ALL_ACCOUNTS) == "1" or not visitor.is_one_profile()
    return _members() if allowed and not os.environ.get(settings.ARCHIVE_SHOWN) else ()


@st.cache_data(ttl="1m", show_spinner=False)
def local_profiles(profile: str | None = None) -> profiles.LocalProfiles:
    """The profiles and regions that may be chosen, and those that hold by themselves; asks this machine alone."""
    known = profiles.local_profiles()
    if profile is None or profile not in known.profiles:
        return known
    return profiles.local_profiles(profile)


def account_of(region: str | None, profile: str | None) -> AccountChoice:
    """The account behind a choice; what holds by itself is the same account as where nothing is chosen."""
    known = local_profiles()
    if region == known.region and profile in (None, known.profile):
        region = None
    return AccountChoice(region, None if profile == known.profile else profile)
