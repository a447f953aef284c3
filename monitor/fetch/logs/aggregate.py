"""A very large log: is it worth asking Logs Insights instead of reading it, and what does it answer? One question over a job's
whole time, in slices, within a budget, stopped when left.

A few pages of its head, its middle and its end tell what it looks like, and how much there is in all (estimated).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import ceil
from typing import Any, NamedTuple

import pandas as pd

from monitor.aws.calls import quota_per_s
from monitor.aws.clients import Clients
from monitor.errors import CannotDo, NoCredentials, TrainwatchError
from monitor.fetch.logs.events import GROUP, JobEvents, lines_of, node_of_stream
from monitor.fetch.logs.reader import JobLogs
from monitor.fetch.source import Aggregated, gap_of
from monitor.model import Gap, Job, LogPage
from monitor.parse.assemble import assemble
from monitor.parse.insights.aggregated import Row, aggregated_steps
from monitor.parse.insights.choose import Choice, Line, choose
from monitor.parse.insights.questions import MOST_ROWS, query
from monitor.parse.recognise import RawRows
from monitor.words import about_usd, count, duration, usd

#: USD per GB scanned; an estimate where a Region's own price is not known here.
USD_PER_GB = 0.005
_USD_PER_GB = {"ap-northeast-2": 0.0076, "ap-south-1": 0.0076}
_GB = 1e9

_BINS_MINUTES = (1, 2, 5, 10, 15, 30, 60)
# A writer may come that was not seen before; a slice leaves room for some.
_ROWS_OF_A_SLICE = MOST_ROWS * 4 // 5
_MOST_ROWS_IN_ALL = 100_000
_AT_ONCE = 5
_FIRST_PAUSE_S = 0.3
_LONGEST_PAUSE_S = 5.0
# AWS itself ends a query after an hour.
_LONGEST_QUERY_S = 1200.0
_RUNNING = {"Scheduled", "Running", "Unknown"}


def usd_per_gb(region: str) -> float:
    """What Logs Insights asks for a GB that it scans (an estimate)."""
    return _USD_PER_GB.get(region, USD_PER_GB)


def price_usd(scanned_bytes: float, region: str) -> float:
    """What a scan of so many bytes costs, in USD (an estimate)."""
    return scanned_bytes / _GB * usd_per_gb(region)


class Slice(NamedTuple):
    """A part of the time, in epoch seconds; both ends are within."""

    from_s: int
    to_s: int


class TimeSlices(NamedTuple):
    """How the time is cut: the answer to each slice has room in one answer."""

    bin_minutes: int
    slices: tuple[Slice, ...]


def time_slices(from_s: int, to_s: int, writers: int) -> TimeSlices:
    """The finest bins of a minute and more that ``writers`` leave room for, and the slices they need."""
    for minutes in _BINS_MINUTES:
        if writers * ceil((to_s - from_s) / (60 * minutes)) <= _MOST_ROWS_IN_ALL:
            break
    bin_s = 60 * minutes
    first = from_s - from_s % bin_s
    each_s = bin_s * max(1, _ROWS_OF_A_SLICE // max(1, writers))
    starts = range(first, max(first, to_s) + 1, each_s)
    return TimeSlices(minutes, tuple(Slice(max(from_s, start), min(to_s, start + each_s)) for start in starts))


@dataclass(slots=True)
class Answered:
    """What came back."""

    rows: list[Row] = field(default_factory=list)
    scanned_bytes: float = 0.0
    """As the service counts what it bills."""
    queries: int = 0
    trouble: TrainwatchError | None = None
    """Why part of it, or all, is missing."""


@dataclass(slots=True)
class _Running:
    started_s: float
    scanned_bytes: float = 0.0


def run_queries(
    clients: Clients,
    text: str,
    slices: tuple[Slice, ...],
    max_usd: float | None = None,
    progress: Callable[[str], None] = lambda said: None,
    sleep: Callable[[float], None] = time.sleep,
) -> Answered:
    """The rows of all slices. NoCredentials is raised; all other trouble is in the answer, with what came before it.

    Queries that still run when this ends, in whatever way, are stopped. They are also stopped when what they scanned costs
    more than ``max_usd``.
    """
    answered = Answered()
    waiting = list(slices)
    pause_s = _FIRST_PAUSE_S
    with _stopping(clients) as running:
        try:
            while waiting or running:
                while waiting and len(running) < _AT_ONCE:
                    part = waiting.pop(0)
                    running[_start(clients, text, part)] = _Running(time.monotonic())
                    answered.queries += 1
                sleep(pause_s)
                pause_s = min(_LONGEST_PAUSE_S, 1.5 * pause_s)
                for name in list(running):
                    _collect(clients, name, running, answered)
                _keep_within(max_usd, answered, running, clients.region)
                progress(f"Logs Insights: {answered.queries - len(running)} of {len(slices)} queries")
        except NoCredentials:
            raise
        except TrainwatchError as error:
            answered.trouble = error
        answered.scanned_bytes += sum(query.scanned_bytes for query in running.values())
    clients.add_cost(price_usd(answered.scanned_bytes, clients.region))
    return answered


@contextmanager
def _stopping(clients: Clients) -> Iterator[dict[str, _Running]]:
    """The queries that run, by their id; those left at the end are stopped."""
    running: dict[str, _Running] = {}
    try:
        yield running
    finally:
        for name in running:
            try:
                clients.call("logs", "stop_query", queryId=name)
            except TrainwatchError:
                continue  # it ends by itself, after an hour at most


def _start(clients: Clients, text: str, part: Slice) -> str:
    started = clients.call(
        "logs",
        "start_query",
        logGroupName=GROUP,
        startTime=part.from_s,
        endTime=part.to_s,
        queryString=text,
        limit=MOST_ROWS,
    )
    return str(started["queryId"])


def _collect(clients: Clients, name: str, running: dict[str, _Running], answered: Answered) -> None:
    """Takes the rows of a query that is complete. CannotDo where it failed or takes too long."""
    told = clients.call("logs", "get_query_results", queryId=name)
    query, status = running[name], str(told.get("status", "Unknown"))
    query.scanned_bytes = float((told.get("statistics") or {}).get("bytesScanned") or 0.0)
    if status in _RUNNING:
        if time.monotonic() - query.started_s > _LONGEST_QUERY_S:
            raise CannotDo(f"A Logs Insights query ran longer than {_LONGEST_QUERY_S / 60:.0f} min.", _AGAIN)
        return
    del running[name]
    answered.scanned_bytes += query.scanned_bytes
    if status != "Complete":
        raise CannotDo(f"A Logs Insights query ended as {status}.", _AGAIN)
    rows = [_row(cells) for cells in told.get("results", ())]
    while token := told.get("nextToken"):
        told = clients.call("logs", "get_query_results", queryId=name, nextToken=token)
        rows += [_row(cells) for cells in told.get("results", ())]
    answered.rows += rows
    if len(rows) >= MOST_ROWS:
        raise CannotDo("A Logs Insights answer is full: more processes write steps than could be returned.", _AGAIN)


_AGAIN = "Try again, or read the log lines themselves: leave out --aggregate."


def _row(cells: list[dict[str, Any]]) -> Row:
    return {str(cell.get("field", "")): str(cell.get("value", "")) for cell in cells}


def _keep_within(max_usd: float | None, answered: Answered, running: dict[str, _Running], region: str) -> None:
    if max_usd is None:
        return
    spent = price_usd(answered.scanned_bytes + sum(query.scanned_bytes for query in running.values()), region)
    if spent > max_usd:
        raise CannotDo(
            f"The queries were stopped: what they scanned costs about ${spent:.2f}, more than --max-usd {max_usd:g}.",
            "Allow more, or leave out --aggregate.",
        )


#: Reading that takes longer than this is worth another way.
LONG_S = 180.0
# No job that is smaller writes so much.
_LEAST_NODE_HOURS = 8.0
# Lines of a job may come some minutes after its end.
_LATE_S = 300

Notify = Callable[[str], None]


def offer(clients: Clients, job: Job, now: datetime, tell: Notify) -> Aggregated:
    """Tells of the other way where reading would take minutes; never raises but for NoCredentials."""
    begun = job.started or job.created
    if begun is None:
        return Aggregated()
    hours = ((job.ended or now) - begun).total_seconds() / 3600
    if hours * (job.instance_count or 1) >= _LEAST_NODE_HOURS:
        try:
            guess = estimate(clients, job, read_samples(clients, job, now), now)
        except NoCredentials:
            raise
        except TrainwatchError:
            return Aggregated()
        if guess is not None and guess.seconds > LONG_S:
            tell(
                f"Reading all log lines takes about {duration(guess.seconds)} at the quota (some {guess.pages:,.0f} "
                "pages); --aggregate asks Logs Insights for medians per minute instead, for "
                f"{_cost(guess, clients.region)}."
            )
    return Aggregated()


def aggregate(
    clients: Clients, job: Job, now: datetime, tell: Notify, progress: Notify, max_usd: float | None = None
) -> Aggregated:
    """The steps as Logs Insights sums them up, its cost told before.

    CannotDo where it would cost more than ``max_usd``. What else goes wrong is a gap, and the lines are then to be read.
    """
    try:
        windows = read_samples(clients, job, now)
        guess = estimate(clients, job, windows, now)
    except NoCredentials:
        raise
    except TrainwatchError as error:
        return _instead(gap_of("logs", error, "no samples for --aggregate"), tell)
    raw, texts = RawRows(), dict[Line, str]()
    for window in windows:
        for page in window.pages:
            raw.add(page)
            texts |= {(page.stream, page.first_line + i): line for i, line in enumerate(page.lines)}
    parsed = assemble(raw.steps, raw.events)
    choice = choose(raw.steps.table(), parsed, texts)
    if choice is None or guess is None:
        why = "Logs Insights cannot find this job's steps: none of its patterns matches them in the sampled lines"
        return _instead(Gap("logs", f"{why}; all lines were read instead."), tell)
    if max_usd is not None and guess.usd > max_usd:
        raise CannotDo(
            f"The query would cost {_cost(guess, clients.region)}, more than --max-usd {max_usd:g}; none was started.",
            "Allow more, or leave out --aggregate.",
        )
    tell(f"Logs Insights scans {_cost(guess, clients.region)}; reading all lines: {duration(guess.seconds)}.")
    answered, minutes = _query_job(clients, job, now, choice, len(raw.streams), max_usd, progress)
    if answered.trouble is not None:
        return _instead(gap_of("logs", answered.trouble, "Logs Insights"), tell)
    steps = aggregated_steps(answered.rows, choice.ask, choice.meant, parsed.identity, node_of_stream)
    if steps.empty:
        return _instead(Gap("logs", "Logs Insights found no step; all lines were read instead."), tell)
    return Aggregated(steps, raw, (_marked(steps, minutes, answered, raw.lines, clients.region),))


def _query_job(
    clients: Clients, job: Job, now: datetime, choice: Choice, streams: int, max_usd: float | None, progress: Notify
) -> tuple[Answered, int]:
    begun, end = job.started or job.created or now, job.ended or now
    writers = (
        ceil(1.25 * choice.writers) if choice.ask.tagged else max(choice.writers, streams, job.instance_count or 1)
    )
    slices = time_slices(int(begun.timestamp()), int(end.timestamp()) + _LATE_S, writers)
    text = query(choice.ask, job.name, slices.bin_minutes)
    return run_queries(clients, text, slices.slices, max_usd, progress), slices.bin_minutes


def _instead(gap: Gap, tell: Notify) -> Aggregated:
    tell(gap.sentence)
    return Aggregated(gaps=(gap,))


def _cost(guess: Estimate, region: str) -> str:
    what = (
        "all jobs' lines of that time"
        if guess.whole_group
        else "this job's lines; other jobs' lines of that time come on top"
    )
    return (
        f"{about_usd(guess.usd)} (an estimate: {_size(guess.scanned_bytes)}, {what}, at ${usd_per_gb(region):g} a GB)"
    )


def _size(size: float) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.1f} MB"


def _marked(steps: pd.DataFrame, minutes: int, answered: Answered, sampled: int, region: str) -> Gap:
    reports = int(steps["reports"].sum())
    paid = usd(price_usd(answered.scanned_bytes, region))
    return Gap(
        "logs",
        f"The step figures are aggregated: medians of each process over {minutes} min, from {count(reports, 'report')} "
        f"(Logs Insights scanned {_size(answered.scanned_bytes)}, about {paid}).",
        f"Everything else from the logs comes from {count(sampled, 'sampled line')}; leave out --aggregate to read "
        "every line.",
    )


#: What GetLogEvents gives with one call at most.
PAGE_EVENTS, PAGE_BYTES = 10_000, 1 << 20
# What the service counts for an event beside its message.
_EVENT_BYTES = 26
_FEW_EVENTS = 200
_CALLS = 3
# Lines from the middle and the end have numbers that nobody knows: they stand behind those of the head.
_FURTHER = 10_000_000


@dataclass(frozen=True, slots=True)
class PageWindow:
    """Lines of all streams that follow one another, and how fast they came."""

    pages: tuple[LogPage, ...]

    @property
    def lines(self) -> int:
        return sum(page.count for page in self.pages)

    @property
    def size(self) -> int:
        """In bytes, as the service counts them."""
        return sum(len(page.data) + _EVENT_BYTES * page.count for page in self.pages)

    @property
    def span_ms(self) -> tuple[int, int] | None:
        """Times of the first and the last line."""
        times = [time for page in self.pages for time in (page.times_ms or ()) if time is not None]
        return (min(times), max(times)) if times else None

    @property
    def seconds(self) -> float:
        span = self.span_ms
        return (span[1] - span[0]) / 1000 if span else 0.0


class Estimate(NamedTuple):
    """How much there is to read, from the pace of the samples; all of it a guess."""

    pages: float
    """Calls of GetLogEvents that would read all lines."""
    seconds: float
    """What they take at the quota."""
    scanned_bytes: float
    """What one query over the job's time scans."""
    whole_group: bool
    """``scanned_bytes`` is what all jobs wrote in that time, as CloudWatch counted; else this job's lines alone."""
    usd: float


def read_samples(clients: Clients, job: Job, now: datetime) -> tuple[PageWindow, ...]:
    """Head, middle and end; fewer where the log is short. Errors of ``monitor.errors`` where events cannot be filtered."""
    begun = job.started or job.created
    if begun is None:
        return ()
    begun_ms, end_ms = begun.timestamp() * 1000, (job.ended or now).timestamp() * 1000
    found = [_window(clients, job, int(begun_ms), 0)]
    middle = _window(clients, job, int(max((begun_ms + end_ms) / 2, _end(found) + 1)), _FURTHER)
    found.append(middle)
    newest = tuple(replace(page, first_line=page.first_line + 2 * _FURTHER) for page in JobLogs(clients, job).newest())
    found.append(PageWindow(tuple(_after(newest, _end(found)))))
    return tuple(window for window in found if window.pages)


def estimate(clients: Clients, job: Job, windows: Sequence[PageWindow], now: datetime) -> Estimate | None:
    """From the fastest of middle and end; None where no time passes in the samples."""
    begun, end = job.started or job.created, job.ended or now
    paced = [window for window in windows[1:] or windows if window.seconds >= 1.0] or [
        window for window in windows if window.seconds >= 1.0
    ]
    if begun is None or not paced:
        return None
    whole_s = max(1.0, (end - begun).total_seconds())
    lines, size = (
        whole_s * max(getattr(window, what) / window.seconds for window in paced) for what in ("lines", "size")
    )
    pages = max(lines / PAGE_EVENTS, size / PAGE_BYTES)
    quota = quota_per_s("GetLogEvents", clients.region) or 10.0
    written = group_bytes(clients, begun, end, now)
    scanned = max(written or 0.0, size)
    return Estimate(pages, pages / quota, scanned, bool(written), price_usd(scanned, clients.region))


def group_bytes(clients: Clients, begun: datetime, end: datetime, now: datetime) -> float | None:
    """Bytes that all jobs wrote into the log group between two times; None where CloudWatch does not say."""
    old = (now - begun).total_seconds() > 14 * 86400
    metric = {
        "Namespace": "AWS/Logs",
        "MetricName": "IncomingBytes",
        "Dimensions": [{"Name": "LogGroupName", "Value": GROUP}],
    }
    asked = {"Id": "bytes", "MetricStat": {"Metric": metric, "Period": 3600 if old else 300, "Stat": "Sum"}}
    try:
        answer = clients.call(
            "cloudwatch",
            "get_metric_data",
            MetricDataQueries=[asked],
            StartTime=begun,
            EndTime=end,
            MaxDatapoints=50_000,
        )
    except NoCredentials:
        raise
    except TrainwatchError:
        return None
    values = [value for result in answer.get("MetricDataResults", ()) for value in result.get("Values", ())]
    return float(sum(values)) if values else None


def _window(clients: Clients, job: Job, from_ms: int, first_line: int) -> PageWindow:
    """What follows a moment: one answer, or some where they hold little."""
    sample = JobEvents(clients, job.name).first_in_time(from_ms, calls=_CALLS, enough=_FEW_EVENTS)
    pages = []
    for stream, events in sample.by_stream().items():
        lines, times = lines_of(events)
        pages.append(LogPage.of(stream, node_of_stream(stream), first_line + 1, lines, tuple(times)))
    return PageWindow(tuple(pages))


def _end(windows: Iterable[PageWindow]) -> int:
    return max((window.span_ms[1] for window in windows if window.span_ms), default=-1)


def _after(pages: Iterable[LogPage], covered_ms: int) -> Iterable[LogPage]:
    """The pages without the lines that another window holds."""
    for page in pages:
        times = page.times_ms or ()
        kept = [i for i, time in enumerate(times) if time is None or time > covered_ms]
        if len(kept) == page.count:
            yield page
        elif kept:
            lines = page.lines
            yield LogPage.of(
                page.stream,
                page.node,
                page.first_line + kept[0],
                [lines[i] for i in kept],
                tuple(times[i] for i in kept),
            )
