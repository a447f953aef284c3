"""The jobs that many accounts and regions have together. Each pair is asked by itself; one that fails is named and hides
nothing else.

The first look lists every pair; a later one asks each only for what has changed since, one call a pair however many jobs
there are. A pair that failed keeps the rows it had, and is left alone for a minute. Whoever looks on sees the list as far as it
has come, read in the background.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from monitor.accounts import AccountRegion
from monitor.aws.calls import begin
from monitor.errors import TrainwatchError
from monitor.faults import fault
from monitor.fetch.source import JobQuery, JobQueryResult
from monitor.model import BEGINNING, Gap, JobSummary
from monitor.review.archived import Source

#: Pairs that are asked at the same time: their quotas are their own, threads and connections are ours.
AT_ONCE = 16
# What changed just before a look may be found only by the next one.
_OVERLAP = timedelta(minutes=10)
# Jobs that were deleted are told by no change.
_WHOLE_AGAIN = timedelta(hours=6)
_LET_BE = timedelta(minutes=1)

Open = Callable[[AccountRegion], Source]


@dataclass(frozen=True, slots=True)
class LocatedJob:
    """A job, and where it is: names repeat from account to account."""

    where: AccountRegion
    job: JobSummary


@dataclass(frozen=True, slots=True)
class Missing:
    """A pair that could not be read."""

    where: AccountRegion
    error: TrainwatchError
    rows_of: datetime | None = None
    """When its rows were read, if there are any: they are old."""


@dataclass(frozen=True, slots=True)
class Across:
    """The jobs of all pairs, newest first, and what of them is not there."""

    rows: tuple[LocatedJob, ...]
    missing: tuple[Missing, ...]
    more: tuple[AccountRegion, ...]
    """Pairs with further jobs that match, which were not asked for, or not had."""
    gaps: tuple[tuple[AccountRegion, Gap], ...]
    asked: tuple[AccountRegion, ...]
    """Those that have said something, be it that they refuse."""
    at: datetime

    @property
    def broken_off(self) -> tuple[tuple[AccountRegion, str], ...]:
        """Of lists without a limit: those that are not whole, and why."""
        whys = [(where, " ".join(gap.why for of, gap in self.gaps if of == where)) for where in self.more]
        return tuple((where, why or "The list of jobs breaks off.") for where, why in whys)

    @property
    def answered(self) -> int:
        """How many pairs were read in this look or, where they are let be, in the last one."""
        return len(self.asked) - len(self.missing)


@dataclass(frozen=True, slots=True)
class _LastAnswer:
    """What one pair said last."""

    found: JobQueryResult
    at: datetime | None
    whole_at: datetime | None
    error: TrainwatchError | None = None
    failed_at: datetime | None = None


class Sweep:
    """Looks at the same pairs again and again. Safe to share between threads."""

    def __init__(self, open_pair: Open) -> None:
        self._open = open_pair
        self._sources: dict[AccountRegion, Source] = {}
        self._kept: dict[tuple[AccountRegion, JobQuery], _LastAnswer] = {}
        self._lock = threading.Lock()

    def source(self, where: AccountRegion) -> Source:
        """The source of one pair, made once. Errors of ``monitor.errors`` where it cannot be reached at all."""
        with self._lock:
            known = self._sources.get(where)
        if known is None:
            known = self._open(where)
            with self._lock:
                known = self._sources.setdefault(where, known)
        return known

    def endpoint(self, where: AccountRegion) -> str | None:
        """What tells the account of a pair; None where it cannot be reached."""
        try:
            return self.source(where).endpoint()
        except TrainwatchError:
            return None

    def list_jobs(
        self,
        pairs: Sequence[AccountRegion],
        query: JobQuery,
        now: datetime,
        progress: Callable[[str], None] = lambda text: None,
    ) -> Across:
        """The jobs of these pairs, each at most ``query.limit``. Raises nothing for a pair that fails."""
        todo = deque(pairs)
        lock = threading.Lock()

        def work() -> None:
            while True:
                with lock:
                    if not todo:
                        return
                    where = todo.popleft()
                self._one(where, query, now)
                progress(f"{len(pairs) - len(todo)} of {len(pairs)} accounts and regions asked")

        # Each worker takes the next pair: one that is slow to say that it is down keeps no other waiting.
        for worker in [begin(work) for _ in range(min(AT_ONCE, len(pairs)))]:
            worker.result()
        return self.so_far(pairs, query, now)

    def so_far(self, pairs: Sequence[AccountRegion], query: JobQuery, now: datetime) -> Across:
        """What these pairs said when they were asked last; nothing is asked."""
        with self._lock:
            found = [(where, self._kept.get(_key(where, query))) for where in pairs]
        told = [(where, one) for where, one in found if one is not None]
        rows = [LocatedJob(where, job) for where, one in told for job in one.found.jobs]
        rows.sort(key=lambda row: row.job.created or BEGINNING, reverse=True)
        return Across(
            tuple(rows),
            tuple(Missing(where, one.error, one.at) for where, one in told if one.error is not None),
            tuple(where for where, one in told if one.found.more),
            tuple((where, gap) for where, one in told for gap in one.found.gaps),
            tuple(where for where, _ in told),
            now,
        )

    def _one(self, where: AccountRegion, query: JobQuery, now: datetime) -> None:
        key = _key(where, query)
        with self._lock:
            last = self._kept.get(key)
        if last is not None and last.failed_at is not None and now - last.failed_at < _LET_BE:
            return
        try:
            made = self._read(where, query, last, now)
        except Exception as error:  # a bug met in one account must not hide the others
            told = error if isinstance(error, TrainwatchError) else fault(error, f"Listing {where}")
            before = last or _LastAnswer(JobQueryResult(), None, None)
            made = replace(before, error=told, failed_at=now)
        with self._lock:
            self._kept[key] = made

    def _read(self, where: AccountRegion, query: JobQuery, last: _LastAnswer | None, now: datetime) -> _LastAnswer:
        source = self.source(where)
        if last is not None and last.at is not None and last.whole_at is not None and _can_go_on(query):
            changed = source.find(replace(query, modified_after=last.at - _OVERLAP))
            if not changed.more and now - last.whole_at < _WHOLE_AGAIN:
                return _LastAnswer(_merged(last.found, changed, query), now, last.whole_at)
        return _LastAnswer(source.find(query), now, now)


def _key(where: AccountRegion, query: JobQuery) -> tuple[AccountRegion, JobQuery]:
    """A query that moves with the clock is the same one at the next look."""
    return where, replace(query, created_after=None, modified_after=None)


def _can_go_on(query: JobQuery) -> bool:
    """Whether a job that no longer matches would be among those that changed."""
    return query.status is None and query.tag is None and query.instance_type is None


def _merged(before: JobQueryResult, changed: JobQueryResult, query: JobQuery) -> JobQueryResult:
    """The list with what has changed in the place of what it was."""
    jobs = {(job.name, job.created): job for job in (*before.jobs, *changed.jobs)}
    rows = sorted(jobs.values(), key=lambda job: job.created or BEGINNING, reverse=True)
    rows = [job for job in rows if query.takes(job)]
    return JobQueryResult(tuple(rows[: query.limit]), before.more or len(rows) > query.limit, changed.gaps)


#: A look is one call a pair: that often is enough to see a job begin or end.
EVERY = timedelta(seconds=20)


@dataclass(frozen=True, slots=True)
class AcrossSnapshot:
    """What is known of all accounts right now."""

    across: Across
    is_first: bool
    """Not every pair has answered yet."""
    looked_at: datetime | None
    """When the last look began that has ended."""


class AcrossWatch:
    """Looks again while somebody asks. Safe to share between threads."""

    def __init__(self, pairs: Sequence[AccountRegion], open_pair: Open, limit: int) -> None:
        self._pairs = tuple(pairs)
        self._query = JobQuery(limit=limit)
        self.sweep = Sweep(open_pair)
        self._lock = threading.Lock()
        self._is_looking = False
        self._looked_at: datetime | None = None

    def snapshot(self) -> AcrossSnapshot:
        """The newest that is known; never blocks, and begins another look where the last one is old."""
        now = datetime.now(UTC)
        with self._lock:
            is_due = self._looked_at is None or now - self._looked_at >= EVERY
            if is_due and not self._is_looking:
                self._is_looking = True
                begin(self._list, now)
            looked_at = self._looked_at
        across = self.sweep.so_far(self._pairs, self._query, now)
        return AcrossSnapshot(across, len(across.asked) < len(self._pairs), looked_at)

    def _list(self, now: datetime) -> None:
        try:
            self.sweep.list_jobs(self._pairs, self._query, now)
        finally:
            with self._lock:
                self._is_looking, self._looked_at = False, now
