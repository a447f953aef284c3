"""The whole flow on one page: a source and a job's name go in, a Report comes out; Watch is its live form."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pandas as pd

from monitor.analyze import phases, step_time, utilization
from monitor.analyze.cascade import cascade, cascade_words
from monitor.analyze.cost import cost
from monitor.analyze.lost import lost_work
from monitor.analyze.window import in_window, work_window
from monitor.archive.cache import Cache, Key, key_of
from monitor.diagnose.findings import diagnose
from monitor.errors import BadCall, TrainwatchError
from monitor.fetch import instance_types
from monitor.fetch.source import Aggregated, LogReader, Source
from monitor.model import METRICS, ApiBill, Gap, Job, LogCoverage, Node, NodeStats, RawMetrics, Report, Run
from monitor.parse.assemble import Parsed, assemble
from monitor.parse.completion import completed
from monitor.parse.definitions import recogniser
from monitor.parse.recognise import RawRows, Recogniser
from monitor.parse.user import step_pattern
from monitor.settings import Settings

# CloudWatch publishes a host's metrics once a minute; asking more often only costs.
METRICS_EVERY_S = 60.0
REFRESH_S = 20.0
# A watched job that nobody looks at any more is left alone after this long.
FORGET_AFTER_S = 120.0
# Late lines and late metrics are real; a job is read once more this long after it ended.
LATE_S = 90.0

Progress = Callable[[str], None]
Instead = Callable[[Job, datetime, Progress], Aggregated]
"""Asked before the logs of a job are read: what stands in for its lines, if anything does."""


class Reviewer:
    """Reads one job again and again, each time only what is new in its logs."""

    def __init__(
        self,
        source: Source,
        name: str,
        settings: Settings = Settings(),
        extra: tuple[Recogniser, ...] = (),
        metrics: bool = True,
        cache: Cache | None = None,
        instead: Instead | None = None,
    ) -> None:
        self._source = source
        self._cache = cache
        self._instead = instead
        self._with_metrics = metrics
        self._name = name
        self._settings = settings
        saved, self._refused = _saved_patterns(settings, name)
        self._raw = RawRows((*extra, *saved))
        self._once = bool(extra)
        self._reader: LogReader | None = None
        self._metrics: RawMetrics | None = None
        self._metrics_at: datetime | None = None

    def review(self, now: datetime, progress: Progress = lambda text: None) -> Report:
        """The report as of ``now``. Errors of ``monitor.errors`` where the job itself cannot be read."""
        job = self._source.job(self._name)
        key = self._key(job)
        if self._cache and key and self._reader is None and (kept := self._cache.load(key)):
            return replace(report(kept.run, now, self._settings, self._source.bill()), kept_at=kept.at)
        if self._reader is None and job.metric_definitions:
            self._use_definitions(job)
        parsed, log_gaps = self._read_logs(job, now, progress)
        job = completed(job, parsed.identity, parsed.events, instance_types.lookup, self._source.instance_type)
        if job.source == "logs" and job.status == "Failed" and (first := cascade(parsed.events, parsed.steps)):
            job = replace(job, failure_reason=cascade_words(first))
        progress("reading metrics")
        raw = self._read_metrics(job, now)
        metrics, unknown = utilization.normalised(raw, job.nodes)
        run = Run(
            job,
            parsed.steps,
            metrics,
            parsed.events,
            (*raw.gaps, *unknown, *log_gaps, *self._refused),
            raw.period_s,
            _coverage(self._raw),
        )
        if self._cache and key and self._with_metrics and not step_time.is_aggregated(parsed.steps):
            self._cache.store(key, run, now)
        return report(run, now, self._settings, self._source.bill())

    def _key(self, job: Job) -> Key | None:
        """Under which a run of this job is kept: not with a pattern that was given for this once."""
        patterns = self._settings.patterns_of(self._name)
        return None if self._cache is None or self._once else key_of(job, self._source.endpoint(), patterns)

    def _read_logs(self, job: Job, now: datetime, progress: Progress) -> tuple[Parsed, tuple[Gap, ...]]:
        """What the logs say, and what of them could not be read."""
        found = self._instead(job, now, progress) if self._instead and self._reader is None else Aggregated()
        if found.raw is not None and found.steps is not None:
            self._raw = found.raw
            return replace(assemble(self._raw.steps, self._raw.events), steps=found.steps), found.gaps
        self._reader = self._reader or self._source.logs(job)
        for page in self._reader.read():
            self._raw.add(page)
            progress(f"reading logs: {self._raw.lines:,} lines")
        return assemble(self._raw.steps, self._raw.events), (*found.gaps, *self._reader.gaps)

    def _use_definitions(self, job: Job) -> None:
        """The job's own metric definitions read what no format knows."""
        further, refused = recogniser(job.metric_definitions)
        self._raw.further = (further,) if further else ()
        if refused:
            why = f"The metric definitions {', '.join(refused)} are left out: RE2 does not take their patterns."
            self._refused += (Gap("logs", why, "RE2 has no look-around and no back-references."),)

    def _read_metrics(self, job: Job, now: datetime) -> RawMetrics:
        if not self._with_metrics:
            return RawMetrics(pd.DataFrame(columns=["timestamp", "node", "metric", "value"]), None)
        fresh = self._metrics_at is not None and (now - self._metrics_at).total_seconds() < METRICS_EVERY_S
        if self._metrics is None or not fresh:
            self._metrics, self._metrics_at = self._source.metrics(job, now), now
        return self._metrics


def _saved_patterns(settings: Settings, name: str) -> tuple[tuple[Recogniser, ...], tuple[Gap, ...]]:
    """The user's saved patterns for a job; one that is refused is named and left out."""
    good: list[Recogniser] = []
    refused: list[Gap] = []
    for pattern in settings.patterns_of(name):
        try:
            good.append(step_pattern(pattern))
        except BadCall as error:
            refused.append(Gap("logs", f"A saved step pattern for {name} is left out: {error.message}", error.remedy))
    return tuple(good), tuple(refused)


def report(run: Run, now: datetime, settings: Settings = Settings(), api: ApiBill = ApiBill()) -> Report:
    """Everything that is said about a run, from the run alone: the same for a live, a finished and an archived job."""
    price = settings.prices.get(run.job.instance_type or "")
    lost = lost_work(run.steps, run.events, run.job)
    parts = phases.phases(run, now, lost)
    sums = phases.buckets(parts, run.job, price)
    return Report(
        run=run,
        reviewed_at=now,
        nodes=_node_stats(run, now),
        steps=step_time.summary(run.steps, run.job, lost),
        phases=parts,
        buckets=sums,
        findings=diagnose(run, now),
        cost=cost(run.job, sums, price, "settings file" if price is not None else None, now),
        api=api,
    )


def _coverage(raw: RawRows) -> LogCoverage:
    last = None if raw.last_ms is None else datetime.fromtimestamp(raw.last_ms / 1000, UTC)
    return LogCoverage(len(raw.streams), raw.lines, last, raw.shapes.best())


def _node_stats(run: Run, now: datetime) -> tuple[NodeStats, ...]:
    used = utilization.by_node(in_window(run.metrics, work_window(run, now), run, now))
    spreads = step_time.by_node(run.steps)
    nodes = run.job.nodes or tuple(Node(name) for name in sorted(spreads))
    return tuple(
        NodeStats(node, **{name: used.get(node.name, {}).get(name) for name in METRICS}, steps=spreads.get(node.name))
        for node in nodes
    )


def review(job: str, source: Source | None = None, now: datetime | None = None) -> Report:
    """One report of a job of the configured AWS account (or of ``source``), as of ``now``."""
    if source is None:
        from monitor.aws.clients import Clients
        from monitor.fetch.account import AwsSource

        source = AwsSource(Clients())
    return Reviewer(source, job).review(now or datetime.now(UTC))


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
    ) -> None:
        self._source = source
        self._settings = settings
        self._cache = cache
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
            known = self._snapshots.setdefault(name, Snapshot(working=True, progress="waiting for its turn"))
            if name not in self._workers and not _final(known):
                worker = threading.Thread(target=self._work, args=(name,), name=f"watch {name}", daemon=True)
                self._workers[name] = worker
                worker.start()
            return known

    def _work(self, name: str) -> None:
        reviewer = Reviewer(self._source, name, self._settings, cache=self._cache)
        while True:
            with self._turn:
                self._set(name, working=True)
                try:
                    found = reviewer.review(datetime.now(UTC), lambda text: self._set(name, progress=text))
                    self._set(name, report=found, error=None, updated_at=found.reviewed_at, working=False, progress="")
                except TrainwatchError as error:
                    self._set(name, error=error, updated_at=datetime.now(UTC), working=False, progress="")
                except Exception as error:  # a bug must not leave a page waiting for ever
                    self._set(name, error=_bug(error), updated_at=datetime.now(UTC), working=False, progress="")
            time.sleep(self._refresh_s)
            with self._lock:
                idle_s = time.monotonic() - self._asked[name]
                if _final(self._snapshots[name]) or idle_s > FORGET_AFTER_S:
                    del self._workers[name]
                    return

    def _set(self, name: str, **changes: object) -> None:
        with self._lock:
            self._snapshots[name] = replace(self._snapshots[name], **changes)  # type: ignore[arg-type]


def _final(snapshot: Snapshot) -> bool:
    """Nothing more is to come: the job had ended for a while when it was last read."""
    if snapshot.report is None or snapshot.error is not None or snapshot.report.job.is_running:
        return False
    ended = snapshot.report.job.ended
    return ended is None or (snapshot.report.reviewed_at - ended).total_seconds() > LATE_S


def _bug(error: Exception) -> TrainwatchError:
    return TrainwatchError(
        f"The review stopped on an error of this program: {type(error).__name__}: {error}.",
        "Please report it; the other jobs are not affected.",
    )
