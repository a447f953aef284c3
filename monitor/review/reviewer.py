"""A source and a job's name go in, reports come out: each look reads only what is new, and secrets are taken out of a run once,
before anybody shows, keeps or archives what is made of it.

Settings and SageMaker's words come without secrets from the source (``monitor.fetch.jobs``); what the log adds is
masked here, with the values that the job itself keeps under secret names; lines of the Logs page are masked in
``monitor.review.log_lines``. Only what is shown is masked, so that reading a log takes no longer for it.

What lines leave open that a reader failed on, or that are too many to be kept, is said by gaps that count them; the first error
of each reader is logged.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

import pandas as pd

from monitor.analyze import utilization
from monitor.analyze.cascade import cascade, cascade_words, ends_in_an_error
from monitor.analyze.single_gpus import wanted
from monitor.analyze.utilization import in_window, work_window
from monitor.archive.cache import Cache, RunKey, is_settled, key_of
from monitor.aws.calls import metered, running
from monitor.errors import BadCall
from monitor.faults import fault, shape_of
from monitor.fetch import instance_types
from monitor.fetch.metrics.profiler import MinuteReader, MinuteStore, Profiled
from monitor.fetch.source import Aggregated, LogReader, PageSource, gap_of
from monitor.masking import masked, without_secrets
from monitor.model import (
    ApiBill,
    Gap,
    Job,
    LogPage,
    RawMetrics,
    Report,
    Run,
    StepReading,
    gpus_frame,
    hosts_frame,
    in_order_of_time,
)
from monitor.parse.assemble import Parsed, assemble
from monitor.parse.definitions import recogniser
from monitor.parse.events import epochs
from monitor.parse.events.completion import completed
from monitor.parse.failed import Failed
from monitor.parse.recognise import RawRows, Recogniser
from monitor.parse.strangers.collection import Strangers
from monitor.parse.table import MOST_NAMES
from monitor.parse.user import step_pattern
from monitor.review.archived import RunSource, Source
from monitor.review.reports import Pricing, coverage, report, step_readings
from monitor.settings import Settings
from monitor.words import count


def _shown(reading: StepReading, secrets: tuple[str, ...]) -> StepReading:
    lines = tuple(replace(line, text=without_secrets(line.text, secrets)) for line in reading.lines)
    return replace(reading, lines=lines, shape=without_secrets(reading.shape, secrets))


class Masked:
    """Masks the runs of one job; what was masked for one look is not worked on at the next."""

    def __init__(self) -> None:
        self._secrets: tuple[str, ...] = ()
        self._known: dict[str, str] = {}

    def __call__(self, run: Run) -> Run:
        """The run as it may be shown; it keeps none of the secrets that its job was read with."""
        job = run.job
        if job.secrets != self._secrets:
            self._secrets, self._known = job.secrets, {}
        shown = {
            name: replace(each, value=masked(name, each.value, job.secrets)) for name, each in job.configuration.items()
        }
        reason = None if job.failure_reason is None else without_secrets(job.failure_reason, job.secrets)
        transitions = tuple(
            replace(each, message=without_secrets(each.message, job.secrets)) for each in job.transitions
        )
        return replace(
            run,
            job=replace(job, configuration=shown, failure_reason=reason, transitions=transitions, secrets=()),
            events=self._events(run.events),
            logs=replace(
                run.logs,
                sample=tuple(without_secrets(line, job.secrets) for line in run.logs.sample),
                readings=tuple(_shown(reading, job.secrets) for reading in run.logs.readings),
                learned=tuple(without_secrets(shape, job.secrets) for shape in run.logs.learned),
            ),
        )

    def _events(self, events: pd.DataFrame) -> pd.DataFrame:
        texts = events["text"].dropna().unique()
        for text in texts:
            if text not in self._known:
                self._known[text] = without_secrets(text, self._secrets)
        if all(text == self._known[text] for text in texts):
            return events
        return events.assign(text=pd.Series(events["text"].map(self._known), dtype="str"))


# CloudWatch publishes a host's metrics once a minute; asking more often only costs.
METRICS_EVERY_S = 60.0
# What a profiler tells changes slowly, and takes more to read.
PROFILER_EVERY_S = 300.0


@dataclass(frozen=True, slots=True)
class ReportPace:
    """How often a report is made of what is there, while older lines come in."""

    every_s: float = 3.0
    """At most."""
    share: float = 0.2
    """Making them must not keep the rest from coming in: they take this share of the time at most."""

    def pause_s(self, took_s: float) -> float:
        """From the end of one report, that took so long, to the next."""
        return max(self.every_s, took_s * (1 / self.share - 1))


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
        pace: ReportPace = ReportPace(),
        profiler: bool = True,
        minutes: MinuteStore | None = None,
    ) -> None:
        """``profiler``: whether its output is read, from ``minutes`` or else from where the job says that it is."""
        self._source = source
        self._cache = cache
        self._instead = instead
        self._pace = pace
        self._with_metrics = metrics
        self._name = name
        self._settings = settings
        self._pricing = Pricing(source, settings)
        self._masked = Masked()
        saved, self._refused = _saved_patterns(settings, name)
        self._extra = (*extra, *saved)
        self._raw = self._no_rows()
        self._once = bool(extra)
        self._reader: LogReader | None = None
        self._settled: Parsed | None = None
        """All that the lines say, once no more are to come; it takes the place of ``_raw``'s rows."""
        self._metrics: RawMetrics | None = None
        self._metrics_at: datetime | None = None
        self._known: Job | None = None
        self._doing = ""
        self._profiler = profiler
        self._minutes = minutes
        self._minute_reader: MinuteReader | None = None
        self._profiled: Profiled | None = None
        self._profiled_at: datetime | None = None

    def shape(self) -> tuple[str, ...]:
        """What the job looks like as far as it was read, and what was under way: for the report of an error."""
        read = f"{self._raw.lines:,} lines of {len(self._raw.streams)} streams"
        return (*shape_of(self._known), read, *([self._doing] if self._doing else []))

    def review(self, now: datetime, progress: Progress = lambda text: None) -> Report:
        """The report as of ``now``, of everything. Errors of ``monitor.errors`` where the job itself cannot be read."""
        with metered():
            *_, last = self._reports(now, progress, newest_first=False)
        return last

    def reviews(self, now: Callable[[], datetime], progress: Progress = lambda text: None) -> Iterator[Report]:
        """A report of the newest lines after a few calls, more of them while older lines come in, and the whole one.

        All but the whole one carry a gap that says how much is read. The whole one comes twice where its price is late.
        """
        for found in self._reports(now(), progress, newest_first=True):
            yield found if found.archive else replace(found, reviewed_at=now())

    def _reports(self, now: datetime, told: Progress, newest_first: bool) -> Iterator[Report]:
        def progress(text: str) -> None:
            self._doing = text
            told(text)

        source = self._source
        if source.gives == "runs":
            yield self._of_archive(source, progress)
            return
        job = self._known = source.job(self._name)
        key = self._key(job)
        if self._with_metrics:
            self._pricing.request(job)
        if self._cache and key and self._reader is None and (kept := self._cache.load(key)):
            as_billed = replace(kept.run.job, warm_pool_billable_seconds=job.warm_pool_billable_seconds)
            run = replace(kept.run, job=as_billed)
            if not self._profiler:
                run = _without_gpus(run)
            if (self._minutes is not None or run.profiler is None) and (
                profiled := self._with_gpus(source, run, now, progress)
            ) is not run:
                run = profiled
                if self._minutes is None:
                    self._cache.store(key, run, now)
            for found in self._last(run, now, newest_first):
                yield replace(found, kept_at=kept.at)
            return
        if self._reader is None and job.metric_definitions:
            self._use_definitions(job)
        gaps: tuple[Gap, ...] = ()
        if self._instead and self._reader is None:
            summed = self._instead(job, now, progress)
            gaps = summed.gaps
            if summed.raw is not None and summed.steps is not None:
                self._raw = summed.raw
                lines = assemble(self._raw.steps, self._raw.events)
                # Sums stand on no line, and sampled lines are counted from where a sample begins: times put both in order.
                steps, events = in_order_of_time(summed.steps, lines.events)
                parsed = replace(lines, steps=steps, events=events)
                run = self._run(source, job, parsed, now, progress, gaps, lines=lines)
                yield from self._last(self._with_gpus(source, run, now, progress), now, newest_first)
                return
        for partly in self._read(source, job, progress, newest_first) if self._settled is None else ():
            run = self._run(source, job, self._parsed(), now, progress, (*gaps, partly), complete=False)
            yield self._report(run, now, wait=False)
        assert self._reader is not None
        last = is_settled(job, now) and not self._reader.gaps
        run = self._run(source, job, self._parsed(last), now, progress, (*gaps, *self._reader.gaps))
        run = self._with_gpus(source, run, now, progress)
        if self._cache and key and self._with_metrics and self._minutes is None:
            self._cache.store(key, run, now)
        yield from self._last(run, now, newest_first)

    def _of_archive(self, source: RunSource, progress: Progress) -> Report:
        """The report as of the moment when the job was archived, at the price it had then."""
        if self._once:
            raise BadCall(
                "An archive holds no log lines that a pattern could read.",
                "Leave out --step-regex, or review the job itself.",
            )
        progress("reading the archive")
        kept = source.archived(self._name)
        run, price = self._masked(kept.run), kept.manifest.price
        if price is None:
            price, _ = self._pricing.price(run.job)
            if price is not None:
                run = replace(run, gaps=tuple(gap for gap in run.gaps if gap.what != "price"))
        api = running()[-1].bill() if running() else ApiBill()
        found = report(run, kept.manifest.reviewed_at, price, api, source.bill())
        return replace(found, archive=source.label, faults=(*found.faults, *kept.gaps))

    def _last(self, run: Run, now: datetime, newest_first: bool) -> Iterator[Report]:
        """The report of all that is read; before it the one without a price, where that is still being asked for."""
        if newest_first and not self._pricing.is_known():
            yield self._report(run, now, wait=False)
        found = self._report(run, now)
        if self._cache and self._with_metrics and not self._once and not any(gap.transient for gap in run.gaps):
            self._cache.verdicts.keep(self._source.endpoint(), found)
        yield found

    def _read(self, source: PageSource, job: Job, progress: Progress, newest_first: bool) -> Iterator[Gap]:
        """Reads what is new; now and then, while much is still to come, the gap that there is."""
        pages: Iterator[LogPage] = iter(())
        if self._reader is None:
            self._reader = source.logs(job)
            pages = self._reader.newest() if newest_first else pages
        for page in pages:
            self._raw.add(page)
        last_s, pause_s = time.monotonic(), self._pace.every_s
        if newest_first and self._reader.progress is not None and self._raw.lines:
            yield _partly(self._reader)
            last_s = time.monotonic()
        for page in self._reader.read():
            self._raw.add(page)
            progress(_reading(self._raw.lines, self._reader))
            if newest_first and time.monotonic() - last_s >= pause_s and self._reader.progress is not None:
                begun_s = time.monotonic()
                yield _partly(self._reader)
                last_s = time.monotonic()
                pause_s = self._pace.pause_s(last_s - begun_s)

    def _parsed(self, last: bool = False) -> Parsed:
        if self._settled is not None:
            return self._settled
        numbering = self._reader.numbering if self._reader else {}
        try:
            parsed = assemble(self._raw.steps, self._raw.events, numbering, self._raw.strangers, last)
        except BaseException:
            if last:  # the rows are gone: another look reads the log again
                self._reader, self._raw = None, self._no_rows()
            raise
        self._settled = parsed if last else None
        return parsed

    def _no_rows(self) -> RawRows:
        return RawRows(self._extra, strangers=Strangers() if self._settings.learn_formats else None)

    def _run(
        self,
        source: PageSource,
        job: Job,
        parsed: Parsed,
        now: datetime,
        progress: Progress,
        log_gaps: tuple[Gap, ...],
        complete: bool = True,
        lines: Parsed | None = None,
    ) -> Run:
        """``lines`` is what the lines themselves were read as, where sums stand in for them."""
        told = completed(job, parsed.identity, parsed.events, instance_types.lookup, source.instance_type)
        if told.started is None and job.started is not None:
            # The text of a log may lack what its source has seen: when its lines begin and end.
            told = replace(told, started=job.started, ended=told.ended or job.ended)
        job = told
        if job.source == "logs" and job.status in {None, "Failed"} and complete:
            job = _failed(job, parsed, self._raw.lines)
        progress("reading metrics")
        raw = self._read_metrics(source, job, now)
        metrics, unknown = utilization.normalised(raw, job.nodes)
        gaps = (*raw.gaps, *unknown, *log_gaps, *self._refused, *unread(self._raw.failures), *left_out(self._raw))
        readings = step_readings(parsed.steps, lines or parsed, self._raw.examples)
        logs = coverage(self._raw, complete, readings, parsed.learned)
        return self._masked(Run(job, parsed.steps, metrics, parsed.events, gaps, raw.period_s, logs))

    def _with_gpus(self, source: PageSource, run: Run, now: datetime, progress: Progress) -> Run:
        """The run with what its profiler tells of single GPUs; the very same where there is none, or none is asked for."""
        if not (self._profiler and self._with_metrics):
            return run
        if self._minute_reader is None:
            try:
                store = self._minutes or source.profiled(run.job)
            except BadCall as error:
                return replace(run, gaps=(*run.gaps, gap_of("profiler", error, "Profiler output")))
            if store is None:
                return run
            self._minute_reader = MinuteReader(store)
        window = work_window(run, now)
        if window is None:
            return run
        at = self._profiled_at
        if self._profiled is None or at is None or (now - at).total_seconds() >= PROFILER_EVERY_S:
            progress("reading the profiler's output")
            metrics = in_window(run.metrics, window, run, now)
            minutes = wanted(run, window.start, window.end, metrics)
            self._profiled = self._minute_reader.read(minutes, not run.job.is_running)
            self._profiled_at = now
        found = self._profiled
        others = tuple(gap for gap in run.gaps if gap.what != "profiler")
        return replace(run, gpus=found.gpus, hosts=found.hosts, profiler=found.coverage, gaps=(*others, *found.gaps))

    def _report(self, run: Run, now: datetime, wait: bool = True) -> Report:
        # A price is not part of what is read of a job: it is worked out anew for a run from the cache.
        price, gaps = self._pricing.price(run.job, wait)
        meters = running()
        mine = meters[-1].bill() if meters else ApiBill()
        return report(replace(run, gaps=(*run.gaps, *gaps)), now, price, mine, self._source.bill())

    def _key(self, job: Job) -> RunKey | None:
        """Under which a run of this job is kept: not with a pattern that was given for this once."""
        patterns = self._settings.patterns_of(self._name)
        if not self._settings.learn_formats:
            patterns += ("learn_formats = false",)
        return None if self._cache is None or self._once else key_of(job, self._source.endpoint(), patterns)

    def _use_definitions(self, job: Job) -> None:
        """The job's own metric definitions read what no format knows."""
        further, refused = recogniser(job.metric_definitions)
        self._raw.further = (further,) if further else ()
        if refused:
            why = f"The metric definitions {', '.join(refused)} are ignored: RE2 does not support their patterns."
            gap = Gap("logs", why, "RE2 has no lookaround and no backreferences.")
            self._refused = (*(each for each in self._refused if each != gap), gap)

    def _read_metrics(self, source: PageSource, job: Job, now: datetime) -> RawMetrics:
        if not self._with_metrics:
            return RawMetrics(pd.DataFrame(columns=["timestamp", "node", "metric", "value"]), None)
        fresh = self._metrics_at is not None and (now - self._metrics_at).total_seconds() < METRICS_EVERY_S
        if self._metrics is None or not fresh:
            self._metrics, self._metrics_at = source.metrics(job, now), now
        return self._metrics


def _without_gpus(run: Run) -> Run:
    gaps = tuple(gap for gap in run.gaps if gap.what != "profiler")
    return replace(run, gpus=gpus_frame(), hosts=hosts_frame(), profiler=None, gaps=gaps)


def _failed(job: Job, parsed: Parsed, lines: int) -> Job:
    """The job of a log with the first error that it did not get over; a log that ends in one is a job that failed."""
    first = cascade(parsed.events, parsed.steps, failed=job.status == "Failed")
    if first is None or (job.status is None and not ends_in_an_error(parsed.events, lines)):
        return job
    return replace(job, status="Failed", failure_reason=cascade_words(first))


def _reading(lines: int, reader: LogReader) -> str:
    said = f"reading logs: {lines:,} lines"
    if (done := reader.progress) is None:
        return said
    left = "" if done.seconds_left is None else f", about {done.seconds_left:.0f} s left"
    return f"{said}, {done.share:.0%}{left}"


def _partly(reader: LogReader) -> Gap:
    done = reader.progress
    share = "" if done is None else f" ({100 * done.share:.0f} %)"
    return Gap(
        "logs",
        f"Still reading older logs{share}.",
        "Until then, the figures cover the newest lines only.",
        transient=True,
    )


def _saved_patterns(settings: Settings, name: str) -> tuple[tuple[Recogniser, ...], tuple[Gap, ...]]:
    """The user's saved patterns for a job; one that is refused is named and left out."""
    good: list[Recogniser] = []
    refused: list[Gap] = []
    for pattern in settings.patterns_of(name):
        try:
            good.append(step_pattern(pattern))
        except BadCall as error:
            refused.append(Gap("logs", f"A saved step pattern for {name} is ignored: {error.message}", error.remedy))
    return tuple(good), tuple(refused)


_NAMED = 3


def unread(failures: Iterable[Failed]) -> tuple[Gap, ...]:
    """The gap, or none where every line was read in one way or another."""
    logged = [(each, fault(each.error, f"Reading a log line ({each.name})")) for each in failures]
    lost = [(each, told) for each, told in logged if each.lines]
    if not lost:
        return ()
    lines = sum(each.lines for each, _ in lost)
    names = [f"{each.name} ({type(each.error).__name__})" for each, _ in lost]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    readers = "a reader" if len(names) == 1 else "readers"
    why = f"{count(lines, 'log line')} could not be read because {readers} failed: {', '.join(names[:_NAMED])}{more}."
    return (Gap("logs", why, lost[0][1].remedy),)


def left_out(raw: RawRows) -> tuple[Gap, ...]:
    """What of a log is counted and not kept; empty for nearly every log."""
    said = []
    # What numbers the epochs of many runs is no loss where it is not kept.
    if events := Counter({kind: many for kind, many in raw.events.left_out.items() if kind not in epochs.KINDS}):
        kinds = [kind.replace("-", " ") for kind, _ in events.most_common()]
        more = f" and {count(len(kinds) - _NAMED, 'other kind')}" if len(kinds) > _NAMED else ""
        said.append(
            f"{count(events.total(), 'log line')} ({', '.join(kinds[:_NAMED])}{more}) are counted and not kept: "
            "of each kind the first, the last and one of each wording stay."
        )
    if raw.steps.every > 1:
        said.append(
            f"The log has {count(raw.steps.read, 'step report')}, more than are kept: figures are of one step in "
            f"{raw.steps.every:,}."
        )
    if raw.steps.unnamed:
        said.append(
            f"{count(raw.steps.unnamed, 'step report')} are left out: the log names more than {MOST_NAMES:,} hosts and "
            "progress bars, and these report the least."
        )
    return tuple(Gap("logs", why) for why in said)
