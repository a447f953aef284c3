"""What do a job's logs look like? A few pages of its head, its middle and its end, and how much there is in all (estimated)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from monitor.aws.calls import quota_per_s
from monitor.aws.clients import Clients
from monitor.errors import NoCredentials, TrainwatchError
from monitor.fetch.logs.events import JobEvents, lines_of
from monitor.fetch.logs.insights import price_usd
from monitor.fetch.logs.reader import JobLogs
from monitor.fetch.logs.streams import GROUP, node_of_stream
from monitor.model import Job, LogPage

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
