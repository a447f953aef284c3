"""The events of a job in CloudWatch Logs: what its streams are called and whose they are, the two calls that give events, their
lines, and those around a moment, before one, after one, or at the log's end, in a bounded number of calls.

Whoever reads log events reads them here: streams page by page, spans of time, excerpts and samples.

FilterLogEvents gives all streams together in time, from a beginning on: so lines after a moment take a call or two,
whatever the number of nodes. Lines before one are read in windows that grow backwards while little is found, and
shrink where the first answers show that there is too much.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from monitor.aws.answers import LogEvent
from monitor.aws.calls import Pagination
from monitor.errors import BadCall, NoData
from monitor.model import Gap, Job, LogLine, LogRequest, LogSpan

if TYPE_CHECKING:
    from monitor.aws.clients import Clients

GROUP = "/aws/sagemaker/TrainingJobs"
_STREAM = re.compile(r"/algo-(?P<number>\d+)(?:-(?P<epoch>\d+))?$")
_STREAMS_PER_PAGE = 50


def stream_names(clients: Clients, job_name: str) -> Iterator[str]:
    """All streams of a job, fifty to a call."""
    token: str | None = None
    onward = Pagination("logs:DescribeLogStreams")
    while True:
        answer = clients.call(
            "logs",
            "describe_log_streams",
            logGroupName=GROUP,
            logStreamNamePrefix=prefix(job_name),
            limit=_STREAMS_PER_PAGE,
            **({"nextToken": token} if token else {}),
        )
        rows = answer.get("logStreams", ())
        yield from (row["logStreamName"] for row in rows)
        token = onward.after(answer.get("nextToken"), len(rows))
        if token is None:
            return


def prefix(job_name: str) -> str:
    """What the streams of a job, and of no other job, begin with."""
    # Without the slash, job "a" would find the streams of "a-2" as well.
    return f"{job_name}/"


def node_of_stream(stream: str) -> str:
    """algo-N by the stream's name."""
    found = _STREAM.search(stream)
    return f"algo-{found['number']}" if found else stream.rpartition("/")[2]


def stream_order(stream: str) -> tuple[int, int, str]:
    """Streams by their host's number, those of one host by their start."""
    found = _STREAM.search(stream)
    return (int(found["number"]), int(found["epoch"] or 0), stream) if found else (0, 0, stream)


EventCounts = Counter[tuple[int, int]]
"""How often which event came: by its time and a hash of its stream and message."""


@dataclass(frozen=True, slots=True)
class EventPage:
    """The events of one call, or of some that follow one another."""

    events: list[LogEvent]
    token: str | None
    """Of the next call; None where there is none."""
    calls: int = 1

    def by_stream(self) -> dict[str, list[LogEvent]]:
        """The events of each stream; those of a filter alone name theirs."""
        streams: dict[str, list[LogEvent]] = {}
        for event in self.events:
            streams.setdefault(event.log_stream_name, []).append(event)
        return streams


def _records(answer: dict[str, Any]) -> list[LogEvent]:
    return msgspec.convert(answer.get("events", ()), list[LogEvent])


class JobEvents:
    """The events of one job. All methods raise errors of ``monitor.errors``."""

    def __init__(self, clients: Clients, job_name: str) -> None:
        self.clients = clients
        self.job_name = job_name

    def of_stream(self, stream: str, *, backward: bool, token: str | None, end_ms: int | None) -> EventPage:
        """One call of GetLogEvents: events of one stream in ascending time, the next or the last ones before ``end_ms``.

        There is always a token: at the end of a stream it is the one that was given.
        """
        more: dict[str, Any] = {} if end_ms is None else {"endTime": end_ms}
        if token is not None:
            more["nextToken"] = token
        answer = self.clients.call(
            "logs", "get_log_events", logGroupName=GROUP, logStreamName=stream, startFromHead=not backward, **more
        )
        return EventPage(_records(answer), answer["nextBackwardToken" if backward else "nextForwardToken"])

    def in_time(
        self, from_ms: int, to_ms: int | None = None, token: str | None = None, node: str | None = None
    ) -> EventPage:
        """One call of FilterLogEvents: events of all streams, or of one node's, in their one order; ``to_ms`` is left out."""
        own = prefix(self.job_name) + (f"{node}-" if node else "")
        more: dict[str, Any] = {"nextToken": token} if token else {}
        if to_ms is not None:
            more["endTime"] = to_ms
        answer = self.clients.call(
            "logs", "filter_log_events", logGroupName=GROUP, logStreamNamePrefix=own, startTime=from_ms, **more
        )
        # Not every stand-in for AWS looks at the prefix. The end of the span belongs to it, AWS says.
        events = [
            event
            for event in _records(answer)
            if event.log_stream_name.startswith(own) and (to_ms is None or event.timestamp < to_ms)
        ]
        following = answer.get("nextToken")
        return EventPage(events, None if following == token else following)

    def first_in_time(
        self, from_ms: int, to_ms: int | None = None, *, calls: int, enough: int | None = None, node: str | None = None
    ) -> EventPage:
        """As ``in_time``, by as many calls as ``enough`` events take (all of the span, if it is None), at most ``calls``."""
        events: list[LogEvent] = []
        token: str | None = None
        made = 0
        while not made or (token is not None and made < calls and (enough is None or len(events) < enough)):
            page = self.in_time(from_ms, to_ms, token, node)
            events, token, made = events + page.events, page.token, made + 1
        return EventPage(events, token, made)


@dataclass(slots=True)
class Scan:
    """The events of all streams in a span of time, call by call, and how far they were read.

    A scan that was left in the middle of a call begins again: ``counts`` and what was handed out before tell what is new.
    """

    from_ms: int
    to_ms: int | None = None
    token: str | None = None
    counts: EventCounts = field(default_factory=Counter)
    """Of this scan, in the calls before."""
    is_between_calls: bool = True
    is_done: bool = False

    def pages(self, events: JobEvents) -> Iterator[EventPage]:
        """What is still to be read. Errors of ``monitor.errors``."""
        if not self.is_between_calls:
            self._begin_again()
        tokens = Pagination("logs:FilterLogEvents")
        while not self.is_done:
            try:
                page = events.in_time(self.from_ms, self.to_ms, self.token)
                following = tokens.after(page.token, len(page.events))
            except BadCall:
                if self.token is None:
                    raise
                # Tokens live for a day.
                self._begin_again()
                continue
            self.is_between_calls = False
            yield page
            self.is_between_calls, self.token, self.is_done = True, following, following is None

    def _begin_again(self) -> None:
        self.token, self.counts, self.is_between_calls = None, Counter(), True


def lines_of(events: Sequence[LogEvent]) -> tuple[list[str], list[int | None]]:
    """The lines of the events, each with the time of its event."""
    messages = [event.message for event in events]
    # Nearly every event is one line, and a page of such needs no look at each.
    if "\n" in "".join(messages):
        return _lines_one_by_one(events)
    return messages, [event.timestamp for event in events]


def _lines_one_by_one(events: Sequence[LogEvent]) -> tuple[list[str], list[int | None]]:
    lines: list[str] = []
    times: list[int | None] = []
    for event in events:
        parts = lines_of_message(event.message)
        lines += parts
        times += [event.timestamp] * len(parts)
    return lines, times


def lines_of_message(message: str) -> list[str]:
    """A line feed at the end of a message begins no line."""
    parts = message.split("\n")
    if len(parts) > 1 and not parts[-1]:
        parts.pop()
    return parts


#: Lines of one span at most, and the calls that one may take.
MOST_LINES = 10_000
MOST_CALLS = 12
# So many lines are enough where they are looked for backwards, and before a moment of which the rest comes after.
_ENOUGH = 2000
_CONTEXT = 200
_FIRST_MS = 15_000
_WIDER, _MUCH_WIDER = 4, 8
# What another clock may be ahead of this one, and how late a job's last lines may come.
_AHEAD_MS = 300_000
#: So far back a look at what is new begins again: lines come late.
LATE_MS = 30_000
# Launchers whose processes all write into the stream of one node.
_IN_ONE_STREAM = frozenset({"mpi", "smddp"})


def read_span(clients: Clients, job: Job, ask: LogRequest, before: LogSpan | None = None) -> LogSpan:
    """The lines that were asked for. Errors of ``monitor.errors``; a job without lines is an empty span."""
    # All processes' words stand in one stream there: whose they are is told line by line.
    node = None if job.launcher in _IN_ONE_STREAM else ask.node
    reading = _Reading(JobEvents(clients, job.name), job, node)
    try:
        if before is not None and before.lines and not before.newer:
            return reading.go_on(before, ask)
        return reading.span(ask)
    except NoData:
        # The log group is made with the first line that any job of the region writes.
        return LogSpan((), reading.low_ms, reading.high_ms, older=False, newer=False)


@dataclass(slots=True)
class _Stretch:
    """Events from a moment on, and how far they are whole."""

    events: list[LogEvent]
    whole_ms: int
    """All events before this time are there."""
    done: bool
    """It reaches to the end that was asked for."""


@dataclass(slots=True)
class _Reading:
    """One answer in the making."""

    source: JobEvents
    job: Job
    node: str | None
    calls: int = 0
    low_ms: int = field(init=False)
    high_ms: int = field(init=False)

    def __post_init__(self) -> None:
        begun = self.job.created or self.job.started
        self.low_ms = _ms(begun) - _AHEAD_MS if begun else 0
        now_ms = int(time.time() * 1000)
        ended_ms = now_ms if self.job.ended is None else min(now_ms, _ms(self.job.ended))
        self.high_ms = ended_ms + _AHEAD_MS

    def span(self, ask: LogRequest) -> LogSpan:
        end_ms = self.high_ms if ask.end is None else min(_ms(ask.end), self.high_ms)
        if ask.at is not None:
            at_ms = min(max(_ms(ask.at), self.low_ms), self.high_ms)
            older = self._backward(at_ms, _CONTEXT, _FIRST_MS, MOST_CALLS // 3)
            newer = self._forward(at_ms, self.high_ms, MOST_LINES - len(older.lines), MOST_CALLS - self.calls)
            found = self._span(newer, at_ms)
            if older.to_ms < at_ms:
                # There is a hole between the two: what stands before the moment is for another look.
                return found
            return replace(found, lines=older.lines + found.lines, from_ms=older.from_ms, older=older.older)
        if ask.start is not None:
            start_ms = max(_ms(ask.start), self.low_ms)
            found = self._span(self._forward(start_ms, max(end_ms, start_ms), MOST_LINES, MOST_CALLS), start_ms)
            return replace(found, older=start_ms > self.low_ms, newer=found.newer or end_ms < self.high_ms)
        if ask.end is not None:
            found = self._backward(end_ms, _ENOUGH, _FIRST_MS, MOST_CALLS)
            return replace(found, newer=end_ms < self.high_ms)
        return self._backward(self.high_ms, _ENOUGH, _FIRST_MS + _AHEAD_MS, MOST_CALLS)

    def go_on(self, before: LogSpan, ask: LogRequest) -> LogSpan:
        """The last answer with what was written since; what may have come late is read again."""
        from_ms = max(before.from_ms, before.lines[-1].time_ms - LATE_MS)
        fresh = self._forward(from_ms, self.high_ms, MOST_LINES, MOST_CALLS // 3)
        if not fresh.done:
            # More than can be followed line by line: the newest alone, from here on.
            return _Reading(self.source, self.job, self.node).span(ask)
        kept = tuple(line for line in before.lines if line.time_ms < from_ms)
        lines = kept + _lines(fresh.events)
        if not ask.is_newest and len(lines) > MOST_LINES:
            # A stretch that begins somewhere keeps its beginning.
            last_ms = lines[MOST_LINES].time_ms
            lines = tuple(line for line in lines[:MOST_LINES] if line.time_ms < last_ms)
            return replace(before, lines=lines, to_ms=last_ms, newer=True)
        lines, first_ms = _last(lines, before.from_ms)
        older = before.older or first_ms > before.from_ms
        return LogSpan(lines, first_ms, self.high_ms, older, newer=False)

    def _forward(self, from_ms: int, to_ms: int, most: int, calls: int) -> _Stretch:
        page = self.source.first_in_time(from_ms, to_ms, calls=calls, enough=most, node=self.node)
        self.calls += page.calls
        events = page.events
        if page.token is None and len(events) <= most:
            return _Stretch(events, to_ms, done=True)
        events = events[:most]
        last_ms = events[-1].timestamp if events else from_ms
        # Lines of the last millisecond may be missing; where there is no other, they are what there is.
        whole = [event for event in events if event.timestamp < last_ms] or events
        return _Stretch(whole, last_ms if len(whole) < len(events) else last_ms + 1, done=False)

    def _span(self, found: _Stretch, from_ms: int) -> LogSpan:
        gap = None
        if not found.events and not found.done:
            gap = _too_slow("from here on", self.calls)
        return LogSpan(_lines(found.events), from_ms, found.whole_ms, newer=not found.done, gap=gap)

    def _backward(self, to_ms: int, enough: int, first_ms: int, calls: int) -> LogSpan:
        """At least ``enough`` lines before a moment, as far as there are so many and the calls last."""
        allowed = self.calls + calls
        events: list[LogEvent] = []
        end_ms, span_ms = to_ms, first_ms
        partly: _Stretch | None = None
        begin_ms = to_ms
        while end_ms > self.low_ms and len(events) < enough and self.calls < allowed:
            begin_ms = max(self.low_ms, end_ms - span_ms)
            found = self._forward(begin_ms, end_ms, MOST_LINES, min(4, allowed - self.calls))
            if found.done:
                events = found.events + events
                end_ms, partly = begin_ms, None
                span_ms *= _MUCH_WIDER if len(events) < enough / 16 else _WIDER
                continue
            partly = found
            if events:
                break
            # What was seen of it tells how much time holds enough.
            seen_ms = max(1, found.whole_ms - begin_ms)
            span_ms = max(1, min(span_ms // _WIDER, seen_ms * enough // max(1, len(found.events))))
        if not events and partly is not None:
            # Too much, too fast: the stretch that could be read, and not the lines right before the moment.
            return LogSpan(
                _lines(partly.events),
                begin_ms,
                partly.whole_ms,
                gap=_too_slow("before here", self.calls),
            )
        lines, first_ms = _last(_lines(events), end_ms)
        older = first_ms > self.low_ms
        gap = None if lines or not older else _too_slow("before here", self.calls)
        return LogSpan(lines, first_ms, to_ms, older, newer=False, gap=gap)


def _lines(events: list[LogEvent]) -> tuple[LogLine, ...]:
    out = []
    for event in sorted(events, key=lambda event: event.timestamp):
        parts = lines_of_message(event.message)
        out += [LogLine(event.log_stream_name, event.timestamp, part) for part in parts]
    return tuple(out)


def _last(lines: tuple[LogLine, ...], from_ms: int) -> tuple[tuple[LogLine, ...], int]:
    """(the newest lines, the time from which they are all there)."""
    if len(lines) <= MOST_LINES:
        return lines, from_ms
    kept = lines[-MOST_LINES:]
    first_ms = kept[0].time_ms
    whole = tuple(line for line in kept if line.time_ms > first_ms)
    return (whole, first_ms + 1) if whole else (kept, first_ms)


def _too_slow(where: str, calls: int) -> Gap:
    return Gap(
        "logs",
        f"CloudWatch returned too few of the lines {where} in {calls} calls.",
        "Choose a single node, or another time.",
        transient=True,
    )


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
