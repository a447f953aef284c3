"""Jobs that somebody looks at, reviewed in the background: the newest report of each, at once."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from monitor.archive.cache import Cache
from monitor.aws.tally import metered
from monitor.errors import TrainwatchError
from monitor.faults import fault
from monitor.fetch.source import Source
from monitor.model import Report
from monitor.review.reviewer import Pace, Reviewer
from monitor.settings import Settings

REFRESH_S = 20.0
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
    working: bool = False
    """A review is under way."""
    progress: str = ""
    """What it is doing, in words, such as "reading logs: 12,000 lines"."""


class Watch:
    """Reviews jobs in the background and remembers the newest report of each: one worker thread a job.

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
        pace: Pace = Pace(),
    ) -> None:
        self._source = source
        self._settings = settings
        self._cache = cache
        self._pace = pace
        self._refresh_s = refresh_s
        self._lock = threading.Lock()
        self._turn = threading.Semaphore(parallel)
        self._snapshots: dict[str, Snapshot] = {}
        self._asked: dict[str, float] = {}
        self._workers: dict[str, threading.Thread] = {}

    def snapshot(self, name: str) -> Snapshot:
        """The newest state of a job; the first call starts watching it."""
        with self._lock:
            self._asked[name] = time.monotonic()
            self._forget()
            known = self._snapshots.setdefault(name, Snapshot(working=True, progress="waiting for its turn"))
            if name not in self._workers and not _final(known):
                worker = threading.Thread(target=self._work, args=(name,), name=f"watch {name}", daemon=True)
                self._workers[name] = worker
                worker.start()
            return known

    def _forget(self) -> None:
        """Drops what is known of the jobs that nobody works on and that were asked for longest ago."""
        idle = sorted((at, name) for name, at in self._asked.items() if name not in self._workers)
        for at, name in idle[:-REMEMBERED]:
            if time.monotonic() - at > FORGET_AFTER_S:
                self._snapshots.pop(name, None)
                del self._asked[name]

    def _work(self, name: str) -> None:
        reviewer = Reviewer(self._source, name, self._settings, cache=self._cache, pace=self._pace)
        while True:
            with self._turn:
                self._set(name, working=True)
                try:
                    with metered():
                        for found in reviewer.reviews(_utc_now, lambda text: self._set(name, progress=text)):
                            self._set(name, report=found, error=None, updated_at=found.reviewed_at)
                    self._set(name, working=False, progress="")
                except TrainwatchError as error:
                    self._set(name, error=error, updated_at=datetime.now(UTC), working=False, progress="")
                except Exception as error:  # a bug must not leave a page waiting for ever
                    told = fault(error, "The review", reviewer.shape())
                    self._set(name, error=told, updated_at=datetime.now(UTC), working=False, progress="")
            time.sleep(self._refresh_s)
            with self._lock:
                idle_s = time.monotonic() - self._asked[name]
                if _final(self._snapshots[name]) or idle_s > FORGET_AFTER_S:
                    del self._workers[name]
                    return

    def _set(self, name: str, **changes: object) -> None:
        with self._lock:
            self._snapshots[name] = replace(self._snapshots[name], **changes)  # type: ignore[arg-type]


def _utc_now() -> datetime:
    return datetime.now(UTC)


def _final(snapshot: Snapshot) -> bool:
    """Nothing more is to come: the job had ended for a while when it was last read."""
    if snapshot.report is not None and snapshot.report.archive:
        return snapshot.error is None
    if snapshot.report is None or snapshot.error is not None or snapshot.report.job.is_running:
        return False
    ended = snapshot.report.job.ended
    return ended is None or (snapshot.report.reviewed_at - ended).total_seconds() > LATE_S
