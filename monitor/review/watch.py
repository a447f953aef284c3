"""Jobs that somebody is looking at, reviewed in the background, those in view first: the newest report of each, at
once."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from monitor.archive.cache import Cache
from monitor.aws.calls import metered
from monitor.errors import TrainwatchError
from monitor.faults import fault
from monitor.model import Report
from monitor.review.archived import Source
from monitor.review.reviewer import ReportPace, Reviewer
from monitor.settings import Settings

REFRESH_S = 20.0
# Who waits for a turn gives it up when nobody has asked for so long; a page asks every 20 s or more often.
GIVE_UP_S = 30.0
# Asked for so lately, a job is still looked at: a page with a review to come asks every 2 s.
LATELY_S = 5.0
# A watched job that nobody looks at any more is left alone after this long.
FORGET_AFTER_S = 120.0
# Late lines and late metrics are real; a job is read once more this long after it ended.
LATE_S = 90.0
# So many jobs are remembered that nobody looks at any more: a report holds all rows of a job.
REMEMBERED = 24


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is known of a watched job right now. All fields are empty until the first review ends."""

    report: Report | None = None
    error: TrainwatchError | None = None
    """Why the last try failed; ``report`` is then the last good one, if any."""
    updated_at: datetime | None = None
    """When the last try that succeeded did."""
    working: bool = False
    """A review is under way."""
    progress: str = ""
    """What it is doing, in words, such as "reading logs: 12,000 lines"."""

    @property
    def is_last(self) -> bool:
        """Nothing more is to come: the job had ended for a while when it was last read."""
        report = self.report
        if report is None or self.error is not None:
            return False
        if report.archive:
            return True
        ended = report.job.ended
        # A report of the newest lines alone is not the last one.
        return (
            not self.working
            and not report.job.is_running
            and (ended is None or (report.reviewed_at - ended).total_seconds() > LATE_S)
        )


@dataclass(slots=True)
class _Watched:
    """What the watch keeps of one job."""

    snapshot: Snapshot
    asked: float
    urgency: int
    due: float = 0.0
    """When it may be reviewed again."""
    waits: bool = False
    busy: bool = False
    reviewer: Reviewer | None = None


class Watch:
    """Reviews jobs in the background, a few at a time, and remembers the newest report of each. Pages never fetch.

    A request that nobody repeats loses its turn, so that to scroll past a job costs nothing.
    ``snapshot`` never blocks. A running job is reviewed again every ``refresh_s`` while somebody asks for it;
    a finished one is reviewed once, and once more if it had only just ended. Safe to call from many threads.
    """

    def __init__(
        self,
        source: Source,
        refresh_s: float = REFRESH_S,
        parallel: int = 4,
        settings: Settings = Settings(),
        cache: Cache | None = None,
        pace: ReportPace = ReportPace(),
    ) -> None:
        self._source = source
        self._settings = settings
        self._cache = cache
        self._pace = pace
        self._refresh_s = refresh_s
        self._parallel = parallel
        self._lock = threading.Lock()
        self._watched: dict[str, _Watched] = {}
        self._workers = 0

    def snapshot(self, name: str, urgency: int = 0) -> Snapshot:
        """The newest state of a job; the first call starts watching it.

        Of the jobs that wait for a review those still looked at come first, by ``urgency``, the lowest first.
        """
        with self._lock:
            now = time.monotonic()
            self._forget(now)
            waiting = Snapshot(working=True, progress="waiting for its turn")
            job = self._watched.setdefault(name, _Watched(waiting, now, urgency))
            job.asked, job.urgency = now, urgency
            if not (job.waits or job.busy or job.snapshot.is_last) and now >= job.due:
                job.waits = True
                if self._workers < self._parallel:
                    self._workers += 1
                    threading.Thread(target=self._work, name=f"watch {self._workers}", daemon=True).start()
            return job.snapshot

    def _forget(self, now: float) -> None:
        """Drops what is known of the jobs that nobody works on and that were asked for longest ago."""
        idle = sorted((job.asked, name) for name, job in self._watched.items() if not (job.busy or job.waits))
        idle = [(asked, name) for asked, name in idle if now - asked > FORGET_AFTER_S]
        for _, name in idle:
            self._watched[name].reviewer = None
        for _, name in idle[: max(0, len(self._watched) - REMEMBERED)]:
            del self._watched[name]

    def _work(self) -> None:
        while (name := self._next()) is not None:
            self._review(name)

    def _next(self) -> str | None:
        """Whose turn it is; None where nobody waits, and the worker that asks is no longer needed."""
        with self._lock:
            now = time.monotonic()
            for job in self._watched.values():
                job.waits = job.waits and now - job.asked <= GIVE_UP_S
            waiting = [(name, job) for name, job in self._watched.items() if job.waits]
            if not waiting:
                self._workers -= 1
                return None
            name, job = min(waiting, key=lambda each: _rank(each[1], now))
            job.waits, job.busy = False, True
            job.reviewer = job.reviewer or Reviewer(
                self._source, name, self._settings, cache=self._cache, pace=self._pace
            )
            return name

    def _review(self, name: str) -> None:
        reviewer = self._watched[name].reviewer
        assert reviewer is not None
        self._set(name, working=True)
        try:
            with metered():
                for found in reviewer.reviews(_utc_now, lambda text: self._set(name, progress=text)):
                    self._set(name, report=found, error=None, updated_at=found.reviewed_at)
            self._set(name, working=False, progress="")
        except TrainwatchError as error:
            self._set(name, error=error, working=False, progress="")
        except Exception as error:  # a bug must not leave a page waiting for ever
            told = fault(error, "The review", reviewer.shape())
            self._set(name, error=told, working=False, progress="")
        with self._lock:
            job = self._watched[name]
            job.busy, job.due = False, time.monotonic() + self._refresh_s
            if job.snapshot.is_last:
                job.reviewer = None

    def _set(self, name: str, **changes: object) -> None:
        with self._lock:
            job = self._watched[name]
            job.snapshot = replace(job.snapshot, **changes)  # type: ignore[arg-type]


def _rank(job: _Watched, now: float) -> tuple[bool, int, float]:
    return now - job.asked > LATELY_S, job.urgency, job.due


def _utc_now() -> datetime:
    return datetime.now(UTC)
