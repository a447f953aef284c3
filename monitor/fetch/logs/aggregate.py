"""A very large log: is it worth asking Logs Insights instead of reading it, and what does it answer?

A few pages of its head, its middle and its end tell what it looks like, and how much there is in all (estimated).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import ceil
from typing import NamedTuple

import pandas as pd

from monitor.aws.calls import quota_per_s
from monitor.aws.clients import Clients
from monitor.errors import CannotDo, NoCredentials, TrainwatchError
from monitor.fetch.logs import insights
from monitor.fetch.logs.events import JobEvents, lines_of
from monitor.fetch.logs.insights import price_usd
from monitor.fetch.logs.reader import JobLogs
from monitor.fetch.logs.streams import GROUP, node_of_stream
from monitor.fetch.source import Aggregated, gap_of
from monitor.model import Gap, Job, LogPage
from monitor.parse.aggregated import aggregated_steps
from monitor.parse.assemble import assemble
from monitor.parse.choose import Choice, Line, choose
from monitor.parse.insights import query
from monitor.parse.recognise import RawRows
from monitor.words import about_usd, count, duration, usd

#: Reading that takes longer than this is worth another way.
LONG_S = 180.0
# No job that is smaller writes so much.
_LEAST_NODE_HOURS = 8.0
# Lines of a job may come some minutes after its end.
_LATE_S = 300

Say = Callable[[str], None]


def offer(clients: Clients, job: Job, now: datetime, tell: Say) -> Aggregated:
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
    clients: Clients, job: Job, now: datetime, tell: Say, progress: Say, max_usd: float | None = None
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
    answered, minutes = _ask(clients, job, now, choice, len(raw.streams), max_usd, progress)
    if answered.trouble is not None:
        return _instead(gap_of("logs", answered.trouble, "Logs Insights"), tell)
    steps = aggregated_steps(answered.rows, choice.ask, choice.meant, parsed.identity, node_of_stream)
    if steps.empty:
        return _instead(Gap("logs", "Logs Insights found no step; all lines were read instead."), tell)
    return Aggregated(steps, raw, (_marked(steps, minutes, answered, raw.lines, clients.region),))


def _ask(
    clients: Clients, job: Job, now: datetime, choice: Choice, streams: int, max_usd: float | None, progress: Say
) -> tuple[insights.Answered, int]:
    begun, end = job.started or job.created or now, job.ended or now
    writers = (
        ceil(1.25 * choice.writers) if choice.ask.tagged else max(choice.writers, streams, job.instance_count or 1)
    )
    cut = insights.cut(int(begun.timestamp()), int(end.timestamp()) + _LATE_S, writers)
    text = query(choice.ask, job.name, cut.bin_minutes)
    return insights.ask(clients, text, cut.slices, max_usd, progress), cut.bin_minutes


def _instead(gap: Gap, tell: Say) -> Aggregated:
    tell(gap.said)
    return Aggregated(gaps=(gap,))


def _cost(guess: Estimate, region: str) -> str:
    what = (
        "all jobs' lines of that time"
        if guess.whole_group
        else "this job's lines; other jobs' lines of that time come on top"
    )
    return f"{about_usd(guess.usd)} (an estimate: {_size(guess.scanned_bytes)}, {what}, at ${insights.usd_per_gb(region):g} a GB)"


def _size(size: float) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.1f} MB"


def _marked(steps: pd.DataFrame, minutes: int, answered: insights.Answered, sampled: int, region: str) -> Gap:
    reports = int(steps["reports"].sum())
    paid = usd(insights.price_usd(answered.scanned_bytes, region))
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
class Window:
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


def read_samples(clients: Clients, job: Job, now: datetime) -> tuple[Window, ...]:
    """Head, middle and end; fewer where the log is short. Errors of ``monitor.errors`` where events cannot be filtered."""
    begun = job.started or job.created
    if begun is None:
        return ()
    begun_ms, end_ms = begun.timestamp() * 1000, (job.ended or now).timestamp() * 1000
    found = [_window(clients, job, int(begun_ms), 0)]
    middle = _window(clients, job, int(max((begun_ms + end_ms) / 2, _end(found) + 1)), _FURTHER)
    found.append(middle)
    newest = tuple(replace(page, first_line=page.first_line + 2 * _FURTHER) for page in JobLogs(clients, job).newest())
    found.append(Window(tuple(_after(newest, _end(found)))))
    return tuple(window for window in found if window.pages)


def estimate(clients: Clients, job: Job, windows: Sequence[Window], now: datetime) -> Estimate | None:
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


def _window(clients: Clients, job: Job, from_ms: int, first_line: int) -> Window:
    """What follows a moment: one answer, or some where they hold little."""
    sample = JobEvents(clients, job.name).first_in_time(from_ms, calls=_CALLS, enough=_FEW_EVENTS)
    pages = []
    for stream, events in sample.by_stream().items():
        lines, times = lines_of(events)
        pages.append(LogPage.of(stream, node_of_stream(stream), first_line + 1, lines, tuple(times)))
    return Window(tuple(pages))


def _end(windows: Iterable[Window]) -> int:
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
