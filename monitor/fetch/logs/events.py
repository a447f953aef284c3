"""The events of a job in CloudWatch Logs: what its streams are called and whose they are, the two calls that give events, and
their lines.

Whoever reads log events reads them here: streams page by page, spans of time, excerpts and samples.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from monitor.aws.calls import Pagination
from monitor.aws.clients import Clients
from monitor.errors import BadCall

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


Event = dict[str, Any]
"""One event as the service gives it: ``timestamp`` in ms, ``message``, from a filter also ``logStreamName``."""
EventCounts = Counter[tuple[int, int]]
"""How often which event came: by its time and a hash of its stream and message."""


@dataclass(frozen=True, slots=True)
class EventPage:
    """The events of one call, or of some that follow one another."""

    events: list[Event]
    token: str | None
    """Of the next call; None where there is none."""
    calls: int = 1

    def by_stream(self) -> dict[str, list[Event]]:
        """The events of each stream; those of a filter alone name theirs."""
        streams: dict[str, list[Event]] = {}
        for event in self.events:
            streams.setdefault(event["logStreamName"], []).append(event)
        return streams


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
        return EventPage(answer.get("events", []), answer["nextBackwardToken" if backward else "nextForwardToken"])

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
            for event in answer.get("events", ())
            if event["logStreamName"].startswith(own) and (to_ms is None or event["timestamp"] < to_ms)
        ]
        following = answer.get("nextToken")
        return EventPage(events, None if following == token else following)

    def first_in_time(
        self, from_ms: int, to_ms: int | None = None, *, calls: int, enough: int | None = None, node: str | None = None
    ) -> EventPage:
        """As ``in_time``, by as many calls as ``enough`` events take (all of the span, if it is None), at most ``calls``."""
        events: list[Event] = []
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


def lines_of(events: Sequence[Event]) -> tuple[list[str], list[int | None]]:
    """The lines of the events, each with the time of its event."""
    try:
        messages: list[str] = [event["message"] for event in events]
        moments: list[int | None] = [event["timestamp"] for event in events]
    except KeyError:
        return _lines_one_by_one(events)
    # Nearly every event is one line, and a page of such needs no look at each.
    if "\n" in "".join(messages):
        return _lines_one_by_one(events)
    return messages, moments


def _lines_one_by_one(events: Sequence[Event]) -> tuple[list[str], list[int | None]]:
    lines: list[str] = []
    times: list[int | None] = []
    for event in events:
        parts = lines_of_message(event.get("message", ""))
        lines += parts
        times += [event.get("timestamp")] * len(parts)
    return lines, times


def lines_of_message(message: str) -> list[str]:
    """A line feed at the end of a message begins no line."""
    parts = message.split("\n")
    if len(parts) > 1 and not parts[-1]:
        parts.pop()
    return parts
