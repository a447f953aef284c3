"""Jobs into an archive, several at a time: reviewed, unless that could bring nothing new, and written."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Literal

from monitor.archive.cache import Cache
from monitor.archive.layout import place_of
from monitor.archive.manifest import Manifest
from monitor.archive.reader_version import reader_version
from monitor.archive.reading import Archive
from monitor.archive.store import Store
from monitor.archive.writing import write
from monitor.errors import NoCredentials, TrainwatchError
from monitor.faults import fault
from monitor.fetch.background import begin
from monitor.fetch.source import Source
from monitor.masking import MASK
from monitor.model import Job, Run
from monitor.review.archived import ArchiveSource
from monitor.review.pricing import Pricing
from monitor.review.reviewer import Progress, Reviewer
from monitor.settings import Settings

#: Reviews at the same time; each reads the streams of its job side by side, all of them under one quota.
AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one job."""

    name: str
    state: Literal["archived", "unchanged", "kept", "failed"]
    """Unchanged: it was archived for good before. Kept: so it was, and AWS has less of it now."""
    manifest: Manifest | None = None
    why: str = ""
    error: TrainwatchError | None = None


class Archiver:
    """Archives jobs in one store. Safe to share between threads."""

    def __init__(self, store: Store, settings: Settings = Settings(), cache: Cache | None = None) -> None:
        self._store = store
        self._archive = Archive(store)
        self._settings = settings
        self._cache = cache
        self._hopeless: TrainwatchError | None = None

    def archive_all(
        self, named: Iterable[tuple[Source, str]], now: Callable[[], datetime], said: Callable[[str, str], None]
    ) -> list[Outcome]:
        """One outcome for each, in their order; ``said`` is told (job, what is under way). Raises no TrainwatchError."""
        todo = deque(enumerate(named))
        out: dict[int, Outcome] = {}
        lock = threading.Lock()

        def work() -> None:
            while True:
                with lock:
                    if not todo:
                        return
                    place, (source, name) = todo.popleft()
                out[place] = self.archive(source, name, now(), partial(said, name))
                said(name, out[place].state)

        for worker in [begin(work) for _ in range(min(AT_ONCE, len(todo)))]:
            worker.result()
        return [out[place] for place in sorted(out)]

    def archive(self, source: Source, name: str, now: datetime, progress: Progress = lambda text: None) -> Outcome:
        """Archives one job."""
        if self._hopeless is not None:
            return Outcome(name, "failed", why="not tried", error=self._hopeless)
        try:
            return self._archived(source, name, now, progress)
        except NoCredentials as error:
            self._hopeless = error
            return Outcome(name, "failed", error=error)
        except TrainwatchError as error:
            return Outcome(name, "failed", error=error)
        except Exception as error:  # a bug on one job must not cost the others of a night
            return Outcome(name, "failed", error=fault(error, "Archiving"))

    def _archived(self, source: Source, name: str, now: datetime, progress: Progress) -> Outcome:
        progress("checking what is archived")
        job = source.job(name)
        known = self._archive.at(place_of(job))
        if known is not None and self._stands(known, job, source):
            return Outcome(job.name, "unchanged", known)
        kept = source.archived(name).manifest if isinstance(source, ArchiveSource) else None
        report = Reviewer(source, name, self._settings, cache=self._cache).review(now, progress)
        if known is not None and (why := _loss(known, report.run)):
            return Outcome(job.name, "kept", known, why)
        masked = kept.masked if kept else _masked(report.job)
        progress("writing")
        try:
            made = write(self._store, report, masked, kept.reader if kept else None)
        except TrainwatchError as error:
            # The next job would be reviewed for nothing.
            self._hopeless = error
            raise
        open_gaps = [gap for gap in report.run.gaps if gap.transient and gap.what != "price"]
        return Outcome(job.name, "archived", made, open_gaps[0].why if open_gaps else "")

    def _stands(self, known: Manifest, job: Job, source: Source) -> bool:
        """Whether to archive the job again would change nothing."""
        before = known.job
        same = (before.status, before.ended, before.warm_pool_billable_seconds) == (
            job.status,
            job.ended,
            job.warm_pool_billable_seconds,
        )
        if not (known.is_final and same and known.reader and known.reader == reader_version()):
            return False
        return self._archive.is_whole(known) and (known.price is not None or not self._price_is_known(source, before))

    def _price_is_known(self, source: Source, job: Job) -> bool:
        pricing = Pricing(source, self._settings)
        pricing.ask(job)
        return pricing.found(job)[0] is not None


def _loss(known: Manifest, run: Run) -> str:
    """What the archive has and this run lacks, in words; "" where it may be replaced by it.

    CloudWatch forgets, and a right may be gone. The state of a job that went on is worth more than its early lines.
    """
    if not known.is_final and not any(gap.transient for gap in run.gaps):
        return ""
    if run.logs.lines < known.logs.lines:
        return f"{run.logs.lines:,} of its {known.logs.lines:,} log lines can be read now"
    before, period = known.row.get("metrics_period_s"), run.metrics_period_s if len(run.metrics) else None
    if before is not None and (period is None or period > before):
        return f"its metrics are archived every {before} s, and {f'come every {period} s' if period else 'gone'} now"
    return ""


def _masked(job: Job) -> tuple[str, ...]:
    """The parameters of a job that hold something masked."""
    in_texts = {name for name, text in job.hyperparameters.items() if MASK in text}
    in_values = {name for name, parameter in job.configuration.items() if MASK in str(parameter.value)}
    return tuple(sorted(in_texts | in_values))
