"""Jobs into an archive, several at a time: reviewed, unless that could bring nothing new, and written.

An archive heals: of what is damaged, the tables that follow from others are made again without AWS, all else is read anew.
What would put less in the place of more is refused.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, Literal, get_args

from monitor.accounts import Account
from monitor.archive.cache import Cache, reader_version
from monitor.archive.layout import FRAMES, JobLocation, location_of
from monitor.archive.reading import Archive, Manifest, NewerSchema
from monitor.archive.store import Store
from monitor.archive.writing import Labels, archived_labels, labels_of, write
from monitor.aws.calls import begin
from monitor.errors import BadCall, NoCredentials, NoData, TrainwatchError
from monitor.faults import fault
from monitor.fetch.exports.job import MARK
from monitor.fetch.source import JobQuery
from monitor.masking import MASK
from monitor.model import Job, JobSummary, Price, Report, Run
from monitor.model.job import account_of
from monitor.review.archived import Source
from monitor.review.reports import Pricing
from monitor.review.reports import report as report_of
from monitor.review.reviewer import Progress, Reviewer
from monitor.settings import Settings

#: Reviews at the same time; each reads the streams of its job side by side, all of them under one quota.
AT_ONCE = 4
# What the file in runs/ is called when it is damaged.
_RECORD = "record"


State = Literal["archived", "unchanged", "kept", "failed"]
#: What is said of a job once it is done.
STATES: frozenset[str] = frozenset(get_args(State))


@dataclass(frozen=True, slots=True)
class ArchivingResult:
    """What became of one job."""

    name: str
    state: State
    """Unchanged: it was archived for good before. Kept: so it was, and AWS has less of it now."""
    manifest: Manifest | None = None
    why: str = ""
    error: TrainwatchError | None = None
    healed: tuple[str, ...] = ()
    """The files that were missing or damaged, and are written again."""


@dataclass(frozen=True, slots=True)
class ArchiveRequest:
    """One job to be archived, and what the list that named it told of it."""

    source: Source
    name: str
    account: Account | None = None
    """That of the settings file it was found in."""
    tags: Mapping[str, str] | None = None
    """None where the list does not tell: the source is asked."""
    owner: str | None = None
    """The number of its account, where the job itself does not tell it."""

    @classmethod
    def of(cls, source: Source, listed: JobSummary, account: Account | None = None) -> ArchiveRequest:
        return cls(source, listed.name, account, listed.tags)


class Archiver:
    """Archives jobs in one store. Safe to share between threads."""

    def __init__(self, store: Store, settings: Settings = Settings(), cache: Cache | None = None) -> None:
        self._store = store
        self._archive = Archive(store)
        self._settings = settings
        self._cache = cache
        self._hopeless: TrainwatchError | None = None
        # By the source: the login of one account tells nothing of another's.
        self._refused: dict[int, TrainwatchError] = {}
        self._turns: dict[str, threading.Lock] = {}
        self._turns_lock = threading.Lock()

    def archive_all(
        self, requests: Iterable[ArchiveRequest], now: Callable[[], datetime], progress: Callable[[str, str], None]
    ) -> list[ArchivingResult]:
        """One outcome for each, in their order; ``progress`` gets (job, what is under way). Raises no TrainwatchError."""
        todo = deque(enumerate(requests))
        out: dict[int, ArchivingResult] = {}
        lock = threading.Lock()

        def work() -> None:
            while True:
                with lock:
                    if not todo:
                        return
                    place, one = todo.popleft()
                out[place] = self.archive(one, now(), partial(progress, one.name))
                progress(one.name, out[place].state)

        for worker in [begin(work) for _ in range(min(AT_ONCE, len(todo)))]:
            worker.result()
        return [out[place] for place in sorted(out)]

    def archive(
        self, request: ArchiveRequest, now: datetime, progress: Progress = lambda text: None
    ) -> ArchivingResult:
        """Archives one job."""
        hopeless = self._hopeless or self._refused.get(id(request.source))
        if hopeless is not None:
            return ArchivingResult(request.name, "failed", why="not tried", error=hopeless)
        try:
            return self._archived(request, now, progress)
        except NoCredentials as error:
            self._refused[id(request.source)] = error
            return ArchivingResult(request.name, "failed", error=error)
        except TrainwatchError as error:
            return ArchivingResult(request.name, "failed", error=error)
        except Exception as error:  # a bug on one job must not cost the others of a night
            return ArchivingResult(request.name, "failed", error=fault(error, "Archiving"))

    def _archived(self, request: ArchiveRequest, now: datetime, progress: Progress) -> ArchivingResult:
        progress("checking what is archived")
        job = request.source.job(request.name)
        # Two of one name would each find nothing of the other there.
        with self._turn(location_of(job)):
            return self._put(request, job, now, progress)

    def _put(self, request: ArchiveRequest, job: Job, now: datetime, progress: Progress) -> ArchivingResult:
        source, name = request.source, request.name
        known, row, broken = self._known(location_of(job))
        self._refuse_another_log(source, name, known)
        if known is not None and self._stands(known, job, source):
            if not broken:
                return ArchivingResult(job.name, "unchanged", known)
            if not set(broken) & set(FRAMES):
                return ArchivingResult(job.name, "archived", self.written_again(known), healed=broken)
        kept: Manifest | None
        if source.gives == "runs":
            kept = source.manifest(name)
            begun = kept.beginnings
        else:
            kept, begun = None, source.beginnings()
        report = Reviewer(source, name, self._settings, cache=self._cache).review(now, progress)
        # What AWS told has metrics; lines of an export have none.
        less = kept is None and MARK in begun and known is not None and MARK not in known.beginnings
        if why := _loss(row, report.run, always=less):
            if known is not None and not broken:
                return ArchivingResult(job.name, "kept", known, why)
            if known is not None and not set(broken) & set(FRAMES):
                return ArchivingResult(job.name, "kept", self.written_again(known), why, healed=broken)
            raise NoData(
                f"It is archived already, its {_listed(broken)} missing or damaged, and {why}.",
                "It was left as it is: restore these files from a backup, or archive the job elsewhere with --to.",
            )
        masked = kept.masked if kept else _masked(report.job)
        self._refuse_another_log(source, name, self._known(location_of(job))[0])
        progress("writing")
        labels = archived_labels(kept.row) if kept else self._labels(request, job).or_else(archived_labels(row))
        made = self._write(report, masked, kept.reader if kept else None, begun, labels)
        open_gaps = [gap for gap in report.run.gaps if gap.transient and gap.what != "price"]
        return ArchivingResult(job.name, "archived", made, open_gaps[0].why if open_gaps else "", healed=broken)

    @contextmanager
    def _turn(self, location: JobLocation) -> Iterator[None]:
        with self._turns_lock:
            turn = self._turns.setdefault(location.run, threading.Lock())
        with turn:
            yield

    def _known(self, location: JobLocation) -> tuple[Manifest | None, Mapping[str, Any], tuple[str, ...]]:
        """The job that stands in a place, its row, and which of its files are missing or damaged. Where that is its record,
        the table of jobs has the row."""
        known, there = None, False
        try:
            known = self._archive.at(location)
        except NewerSchema:
            raise
        except NoData:
            there = True
        if known is not None:
            return known, known.row, self._archive.broken(known)
        row = self._archive.row_at(location)
        return None, row, (_RECORD,) if there or row else ()

    def _refuse_another_log(self, source: Source, name: str, known: Manifest | None) -> None:
        """BadCall where the archive holds another log of that name: one must not take the place of the other."""
        if known is None or known.job.source != "logs":
            return
        if source.gives == "pages":
            same = source.goes_on(known.beginnings)
        else:
            mine = source.manifest(name)
            same = mine.beginnings == known.beginnings != {} or all(
                mine.parts.get(name) == known.parts.get(name) for name in FRAMES
            )
        if not same:
            there = f"The archive {self._store.label} holds"
            raise BadCall(
                f"{there} another log named {known.job.name}."
                if known.beginnings
                else f"{there} a log named {known.job.name} already, and nothing tells whether it is this one.",
                "Rename the file or its folder, or name another archive with --to.",
            )

    def written_again(self, known: Manifest, price: Price | None = None) -> Manifest:
        """The job from its own frames, as it was reviewed: the tables that only engines read follow from them. ``price`` is
        one that was not known then."""
        run = self._archive.load(known).run
        if price is not None:
            run = replace(run, gaps=tuple(gap for gap in run.gaps if gap.what != "price"))
        found = report_of(run, known.reviewed_at, price or known.price)
        return self._write(found, known.masked, known.reader, known.beginnings, archived_labels(known.row))

    def _write(
        self,
        report: Report,
        masked: tuple[str, ...],
        reader: str | None,
        beginnings: Mapping[str, str],
        labels: Labels,
    ) -> Manifest:
        try:
            return write(self._store, report, masked, reader, beginnings, labels)
        except TrainwatchError as error:
            # The next job would be reviewed for nothing.
            self._hopeless = error
            raise

    def _labels(self, request: ArchiveRequest, job: Job) -> Labels:
        number = account_of(job.arn) or request.owner
        by_number = (each for each in self._settings.accounts if number and each.number == number)
        tags = _tags(request.source, job) if request.tags is None else request.tags
        return labels_of(tags, request.account or next(by_number, None), self._settings)

    def _stands(self, known: Manifest, job: Job, source: Source) -> bool:
        """Whether to archive the job again would change nothing, if all of it is there."""
        before = known.job
        same = (before.status, before.ended, before.warm_pool_billable_seconds) == (
            job.status,
            job.ended,
            job.warm_pool_billable_seconds,
        )
        if not (known.is_final and same and known.reader and known.reader == reader_version()):
            return False
        if MARK in known.beginnings and source.gives == "pages":
            mine = source.beginnings()
            if MARK in mine and mine != known.beginnings:
                return False
        return known.price is not None or not self._price_is_known(source, before)

    def _price_is_known(self, source: Source, job: Job) -> bool:
        pricing = Pricing(source, self._settings)
        pricing.request(job)
        return pricing.price(job)[0] is not None


def _tags(source: Source, job: Job) -> Mapping[str, str] | None:
    """The job's tags; None where the source has none, or they may not be read: a job is worth archiving without them."""
    if source.clients is None:
        return None
    try:
        found = source.find(JobQuery(name_contains=job.name, limit=20))
    except TrainwatchError:
        return None
    same = (row for row in found.jobs if row.name == job.name and row.created == job.created)
    return None if found.gaps else next((dict(row.tags or {}) for row in same), None)


def _loss(known: Mapping[str, Any], run: Run, *, always: bool = False) -> str:
    """What the archive has, by its row, and this run lacks, in words; "" where it may be replaced by it.

    CloudWatch forgets, and a right may be gone. The state of a job that went on is worth more than its early lines, but
    for ``always``.
    """
    if not always and not known.get("is_final") and not any(gap.transient for gap in run.gaps):
        return ""
    lines = int(known.get("log_lines") or 0)
    if run.logs.lines < lines:
        return f"{run.logs.lines:,} of its {lines:,} log lines can be read now"
    before, period = known.get("metrics_period_s"), run.metrics_period_s if len(run.metrics) else None
    if before is not None and (period is None or period > before):
        return (
            f"its metrics are archived every {before:.0f} s, and {f'come every {period} s' if period else 'gone'} now"
        )
    objects = int(known.get("profiler_objects") or 0)
    if objects and run.profiler is None:
        return f"{objects:,} objects of its profiler are archived, and cannot be read now"
    return ""


def _listed(broken: Sequence[str]) -> str:
    """As "steps and jobs are"."""
    *others, last = broken
    joined = f"{', '.join(others)} and {last}" if others else last
    return f"{joined} {'is' if broken in (('report',), (_RECORD,)) else 'are'}"


def _masked(job: Job) -> tuple[str, ...]:
    """The parameters of a job that hold something masked."""
    in_texts = {name for name, text in job.hyperparameters.items() if MASK in text}
    in_values = {name for name, parameter in job.configuration.items() if MASK in str(parameter.value)}
    return tuple(sorted(in_texts | in_values))
