"""Stretches of logs that somebody is looking at, read in the background: the newest state of each, at once."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from monitor.aws.calls import metered
from monitor.errors import BadCall, NoSuchJob, TrainwatchError
from monitor.faults import fault, shape_of
from monitor.fetch.source import JobSource, Lines
from monitor.model import Job, LogAsk
from monitor.parse.definitions import recogniser
from monitor.parse.gates import Recogniser
from monitor.parse.user import step_pattern
from monitor.review.log_lines import LogTable, tabled
from monitor.review.watch import FORGET_AFTER_S, LATE_S
from monitor.settings import Settings

#: A growing stretch is read on so often while somebody looks.
REFRESH_S = 5.0
_AFTER_TROUBLE_S = 20.0
# The job itself is asked for less often: whether it still runs.
_JOB_S = 30.0
# A stretch holds some megabytes at most: so many are remembered that nobody looks at any more.
REMEMBERED = 12


@dataclass(frozen=True, slots=True)
class LogSnapshot:
    """What is known of a stretch right now. All fields are empty until it was read once."""

    job: Job | None = None
    table: LogTable | None = None
    error: TrainwatchError | None = None
    """Why the last try failed; ``table`` is then the last good one, if any."""
    updated_at: datetime | None = None
    working: bool = False
    progress: str = ""
    calls: int = 0
    """All that this stretch took so far."""
    growing: bool = False
    """It reaches to the end of a job that runs: more lines come."""
    lineless: bool = False
    """The source keeps no lines: an archive."""


class LogWatch:
    """Reads stretches of logs in the background: one worker thread each, and an end when nobody has asked for a while.

    ``lines`` never blocks. A stretch that grows is read on every ``refresh_s`` while somebody asks for it; any other is
    read once. Safe to call from many threads.
    """

    def __init__(
        self, source: JobSource, refresh_s: float = REFRESH_S, parallel: int = 3, settings: Settings = Settings()
    ) -> None:
        self._source = source
        self._refresh_s = refresh_s
        self._settings = settings
        self._lock = threading.Lock()
        self._turn = threading.Semaphore(parallel)
        self._snapshots: dict[tuple[str, LogAsk], LogSnapshot] = {}
        self._asked: dict[tuple[str, LogAsk], float] = {}
        self._workers: set[tuple[str, LogAsk]] = set()

    def lines(self, name: str, ask: LogAsk) -> LogSnapshot:
        """The newest state of a stretch; the first call starts reading it."""
        if (read := self._source.lines) is None:
            return LogSnapshot(lineless=True)
        key = (name, ask)
        with self._lock:
            self._asked[key] = time.monotonic()
            self._forget()
            known = self._snapshots.setdefault(key, LogSnapshot(working=True, progress="asking for the job"))
            if key not in self._workers and (known.updated_at is None or known.growing or _passes(known.error)):
                self._workers.add(key)
                threading.Thread(target=self._work, args=(read, key), name=f"log of {name}", daemon=True).start()
            return known

    def _forget(self) -> None:
        """Drops the stretches that nobody works on and that were asked for longest ago."""
        idle = sorted((at, key) for key, at in self._asked.items() if key not in self._workers)
        for _, key in idle[:-REMEMBERED]:
            self._snapshots.pop(key, None)
            del self._asked[key]

    def _work(self, read: Lines, key: tuple[str, LogAsk]) -> None:
        name, ask = key
        job_at = float("-inf")
        job: Job | None = None
        while True:
            wait_s = self._refresh_s
            with self._turn:
                try:
                    if job is None or time.monotonic() - job_at > _JOB_S:
                        self._set(key, working=True)
                        job, job_at = self._source.job(name), time.monotonic()
                    self._read(read, key, job, ask)
                except TrainwatchError as error:
                    self._failed(key, error)
                    wait_s = max(wait_s, _AFTER_TROUBLE_S)
                except Exception as error:  # a bug must not leave a page waiting for ever
                    self._failed(key, fault(error, "Reading the log", shape_of(job)))
                    wait_s = max(wait_s, _AFTER_TROUBLE_S)
            with self._lock:
                known = self._snapshots[key]
                if not known.growing and not _passes(known.error):
                    self._workers.discard(key)
                    return
            time.sleep(wait_s)
            with self._lock:
                if time.monotonic() - self._asked[key] > FORGET_AFTER_S:
                    self._workers.discard(key)
                    return

    def _read(self, read: Lines, key: tuple[str, LogAsk], job: Job, ask: LogAsk) -> None:
        before = self._snapshots[key].table
        self._set(key, job=job, working=True, progress="reading the log")
        with metered() as tally:
            span = read(job, ask, before.span if before else None)
        calls = sum(tally.bill().calls.values())
        extra, further = self._recognisers(job)
        table = tabled(span, extra, further, before, job.secrets)
        self._set(
            key,
            table=table,
            error=None,
            updated_at=datetime.now(UTC),
            working=False,
            progress="",
            calls=self._snapshots[key].calls + calls,
            growing=_grows(job, ask, table),
        )

    def _recognisers(self, job: Job) -> tuple[tuple[Recogniser, ...], tuple[Recogniser, ...]]:
        """The user's saved patterns and the job's own metric definitions, as its review asks them."""
        extra: list[Recogniser] = []
        for pattern in self._settings.patterns_of(job.name):
            try:
                extra.append(step_pattern(pattern))
            except BadCall:
                continue  # the review says so
        further, _ = recogniser(job.metric_definitions) if job.metric_definitions else (None, ())
        return tuple(extra), (further,) if further else ()

    def _failed(self, key: tuple[str, LogAsk], error: TrainwatchError) -> None:
        self._set(key, error=error, updated_at=datetime.now(UTC), working=False, progress="")

    def _set(self, key: tuple[str, LogAsk], **changes: object) -> None:
        with self._lock:
            self._snapshots[key] = replace(self._snapshots[key], **changes)  # type: ignore[arg-type]


def _grows(job: Job, ask: LogAsk, table: LogTable) -> bool:
    if ask.end is not None or table.span.newer:
        return False
    return job.is_running or (job.ended is not None and (datetime.now(UTC) - job.ended).total_seconds() < LATE_S)


def _passes(error: TrainwatchError | None) -> bool:
    """Whether another try may end otherwise."""
    return error is not None and not isinstance(error, NoSuchJob | BadCall)
