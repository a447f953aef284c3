"""What was handed out of a job's log: how far each stream was read, which events of the last minutes were, which lines could
not be read, and how much is still to come.

A stream is read page by page, from its head to its end, or from its end to its head.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from monitor.aws.answers import LogEvent
from monitor.aws.calls import MOST_EMPTY, lead_nowhere
from monitor.errors import BadCall, NotAllowed, TrainwatchError
from monitor.fetch.cut_lines import joined_within
from monitor.fetch.logs.events import (
    EventCounts,
    EventPage,
    JobEvents,
    lines_of,
    node_of_stream,
    prefix,
    stream_order,
)
from monitor.fetch.source import gap_of, some_of
from monitor.model import Gap, Job, LoadProgress, LogPage

# A page with this many events is not yet the live end of its stream, whatever this machine's clock says.
_BACKLOG = 1000


@dataclass(frozen=True, slots=True)
class StreamPosition:
    """How far one stream was read."""

    stream: str
    backward: bool = False
    """From its end to its head."""
    before_ms: int | None = None
    """Only events before this time; the rest is read in another way."""
    token: str | None = None
    lines: int = 0
    """Handed out so far, by this reading."""
    edge_ms: int | None = None
    """Time of the last event that was handed out."""
    at_edge: int = 0
    """How many of that very time were, backward: after a lost token they come again."""
    again: int = 0
    """Lines from the head that come again after a lost token."""
    done: bool = False
    idle: int = 0
    """Pages in a row that led no further in time."""


@dataclass(frozen=True, slots=True)
class StreamPage:
    """One page of a stream, its events, and the position behind it."""

    position: StreamPosition
    lines: LogPage | None = None
    events: Sequence[LogEvent] = ()


def next_page(events: JobEvents, position: StreamPosition, until_ms: float | None = None) -> StreamPage:
    """A forward reading of a stream that grows ends at the first page written after ``until_ms``."""
    try:
        answer = _read_page(events, position)
    except BadCall:
        if position.token is None:
            raise
        # A token lives for a day: begin again, and pass over what was handed out.
        position = replace(position, token=None, again=0 if position.backward else position.lines)
        answer = _read_page(events, position)
    # An empty page is not the end; the same token again is.
    done = answer.token == position.token
    if not done:
        position = _led_on(position, answer.events)
    if position.backward:
        return backward_page(position, answer, done)
    reached_now = until_ms is not None and 0 < len(answer.events) < _BACKLOG and answer.events[-1].timestamp >= until_ms
    return _forward_page(position, answer, done or reached_now)


def _led_on(position: StreamPosition, events: Sequence[LogEvent]) -> StreamPosition:
    """Unreachable where page after page says nothing new."""
    edge = position.edge_ms
    is_new = bool(events) and (
        edge is None or (events[0].timestamp < edge if position.backward else events[-1].timestamp > edge)
    )
    if not is_new and position.idle >= MOST_EMPTY:
        raise lead_nowhere("logs:GetLogEvents")
    return replace(position, idle=0 if is_new else position.idle + 1)


def _forward_page(position: StreamPosition, page: EventPage, done: bool) -> StreamPage:
    known, again, events = position.again, 0, page.events
    while known and again < len(events) and known >= (count := len(lines_of(events[again : again + 1])[0])):
        known -= count
        again += 1
    events = events[again:]
    lines, times = lines_of(events)
    log_page = None
    if fresh := lines[known:]:
        log_page = _log_page(position.stream, position.lines + 1, fresh, times[known:])
    # Times never fall in a stream; where they do, its pages go round.
    edge_ms = max(events[-1].timestamp, position.edge_ms or 0) if events else position.edge_ms
    behind = replace(
        position,
        token=page.token,
        lines=position.lines + len(fresh),
        edge_ms=edge_ms,
        done=done,
        again=0 if events else known,
    )
    return StreamPage(behind, log_page, events)


def backward_page(position: StreamPosition, page: EventPage, done: bool) -> StreamPage:
    """The lines before ``position``, of events in ascending time.

    Lines are numbered from 0 down; who knows where the head is turns that round.
    """
    events: Sequence[LogEvent] = page.events
    if position.before_ms is not None:
        # Not every stand-in for AWS leaves the end of a time range out.
        events = [event for event in events if event.timestamp < position.before_ms]
    if position.token is None and position.edge_ms is not None:
        events = _without_edge(events, position.edge_ms, position.at_edge)
    lines, times = lines_of(events)
    if not lines:
        return StreamPage(replace(position, token=page.token, done=done))
    count = position.lines + len(lines)
    edge_ms = events[0].timestamp
    at_edge = sum(event.timestamp == edge_ms for event in events)
    if edge_ms == position.edge_ms:
        at_edge += position.at_edge
    behind = replace(position, token=page.token, lines=count, edge_ms=edge_ms, at_edge=at_edge, done=done)
    return StreamPage(behind, _log_page(position.stream, 1 - count, lines, times), events)


def _log_page(stream: str, first_line: int, lines: list[str], times: list[int | None]) -> LogPage:
    return joined_within(LogPage.of(stream, node_of_stream(stream), first_line, lines, tuple(times)))


def _without_edge(events: Sequence[LogEvent], edge_ms: int, given: int) -> list[LogEvent]:
    """A reading that was begun again comes upon the events at its edge once more: the last of them were handed out."""
    older = [event for event in events if event.timestamp < edge_ms]
    edge = [event for event in events if event.timestamp == edge_ms]
    return older + edge[: max(0, len(edge) - given)]


def _read_page(events: JobEvents, position: StreamPosition) -> EventPage:
    end_ms = position.before_ms
    if position.backward and position.token is None and position.edge_ms is not None:
        end_ms = position.edge_ms + 1
    return events.of_stream(position.stream, backward=position.backward, token=position.token, end_ms=end_ms)


# How late a line may come: so much is remembered, as long as it is not too much.
LATEST_MS = 300_000
_KEPT_BYTES = 40_000_000
# What the service counts for an event beside its message; and since a page holds no more than 10,000 of them, an event
# takes at least so much of its megabyte.
_EVENT_BYTES = 26
_LEAST_BYTES = 105


class SeenEvents:
    """The one record of what was handed out, whichever way it was read: no event is given twice, each line has its number.

    A stream that is read from its end has lines 0, -1, ... down to its head, and 1, 2, ... for what came since.
    """

    def __init__(self, keeps_recent: bool) -> None:
        """``keeps_recent``: more lines may come, and some of them late."""
        self.positions: dict[str, StreamPosition] = {}
        self.recent = RecentEvents() if keeps_recent else None
        self._keeps_recent = keeps_recent
        self._next_line: dict[str, int] = {}

    @property
    def numbering(self) -> dict[str, int | None]:
        """stream -> the number that its first line was given; None as long as its head was not read."""
        return {
            stream: 1 - position.lines if position.done else None
            for stream, position in self.positions.items()
            if position.backward
        }

    def add_streams(self, streams: Iterable[str]) -> None:
        """Streams that are not known yet are to be read from their head."""
        for stream in streams:
            self.positions.setdefault(stream, StreamPosition(stream))

    def read_backward(self) -> None:
        """All streams are to be read from their end to their head."""
        self.positions = {stream: StreamPosition(stream, backward=True) for stream in self.positions}

    def divide(self, from_ms: int, streams: Iterable[str], remembered_ms: int) -> None:
        """What is older than ``from_ms`` is read stream by stream, from there to the head; the rest of all together.

        Events since ``remembered_ms`` are remembered.
        """
        for stream in {*self.positions, *streams}:
            self.positions[stream] = StreamPosition(stream, backward=True, before_ms=from_ms)
        self.recent = self.recent or RecentEvents()
        self.recent.from_ms = remembered_ms

    def take_page(self, page: StreamPage) -> LogPage | None:
        """The lines of a page of one stream, which nobody else reads."""
        stream = page.position.stream
        self.positions[stream] = page.position
        if not page.position.backward:
            self._next_line[stream] = page.position.lines + 1
        if self.recent:
            self.recent.add(stream, page.events)
        return page.lines

    def take_new(self, stream: str, events: Sequence[LogEvent], counts: EventCounts) -> LogPage | None:
        """The lines of those events, found in all streams together, that were not handed out and nobody else reads.

        ``counts`` are those of the scan that found them.
        """
        position = self.positions[stream]
        if not position.done:
            # What the reading of the stream itself is still to come upon.
            begin_ms = position.before_ms if position.backward else None
            events = [event for event in events if begin_ms is not None and event.timestamp >= begin_ms]
        fresh = self.recent.fresh(stream, events, counts) if self.recent else events
        lines, times = lines_of(fresh)
        if not lines:
            return None
        if self.recent:
            self.recent.add(stream, fresh)
        first = self._next_line.get(stream, 1)
        self._next_line[stream] = first + len(lines)
        return LogPage.of(stream, node_of_stream(stream), first, lines, tuple(times))

    def scan_ended(self, all_read: bool) -> None:
        """Between two scans, what is too old may be forgotten; all of it, where nothing more can come."""
        if not self._keeps_recent:
            self.recent = None
        elif self.recent and all_read:
            self.recent.forget()


@dataclass(slots=True)
class RecentEvents:
    """The newest events that were handed out, as a multiset: what is asked for again is told apart from what is new.

    Only events from ``from_ms`` on are remembered: those of the last ``keep_ms``, as long as they are no more than
    ``keep_bytes``.
    """

    keep_ms: int = LATEST_MS
    """How long an event may lag behind newer ones at most."""
    keep_bytes: int = _KEPT_BYTES
    newest_ms: int = 0
    from_ms: int = 0
    _counts: EventCounts = field(default_factory=Counter)
    _bytes: int = 0
    _sizes: Counter[int] = field(default_factory=Counter)
    """Bytes by second."""
    _kept: int = 0
    """Events at the last clearing."""

    def since(self, size: int) -> int:
        """The time from which on at most so many bytes are remembered, but all of the newest second."""
        total, begin = 0, self.newest_ms // 1000
        for second in sorted(self._sizes, reverse=True):
            total += self._sizes[second]
            if total > size:
                break
            begin = min(begin, second)
        else:
            return self.from_ms
        return max(self.from_ms, begin * 1000)

    def until(self, from_ms: int, size: int) -> int:
        """The end of a span of whole seconds that begins there, of at most so many bytes or one second."""
        total, end_ms = 0, from_ms
        for second in sorted(second for second in self._sizes if (second + 1) * 1000 > from_ms):
            total += self._sizes[second]
            if total > size and end_ms > from_ms:
                break
            end_ms = (second + 1) * 1000
        return end_ms

    def add(self, stream: str, events: Sequence[LogEvent]) -> None:
        """Remembers events of one stream."""
        if events and events[-1].timestamp < self.from_ms:
            return
        for event in events:
            time_ms = event.timestamp
            if time_ms >= self.from_ms:
                self._counts[_key(stream, event)] += 1
                size = max(_LEAST_BYTES, _utf8_bytes(event.message) + _EVENT_BYTES)
                self._bytes += size
                self._sizes[time_ms // 1000] += size
        if events:
            self.newest_ms = max(self.newest_ms, *(event.timestamp for event in (events[0], events[-1])))

    def fresh(self, stream: str, events: Sequence[LogEvent], counts: EventCounts) -> list[LogEvent]:
        """The events that were not handed out; ``counts`` are those of this scan so far, and are added to."""
        out = []
        for event in events:
            if event.timestamp < self.from_ms:
                continue
            key = _key(stream, event)
            counts[key] += 1
            if counts[key] > self._counts[key]:
                out.append(event)
        return out

    def forget(self, spare_ms: float = 0.0) -> None:
        """Lets go of what is too old, or too much; between two scans, not within one.

        The last ``spare_ms`` are not too much, however much they are.
        """
        spared_ms = self.newest_ms - spare_ms
        floor_ms = max(self.from_ms, min(spared_ms, self.newest_ms - self.keep_ms))
        for second in sorted(self._sizes):
            if (self._bytes <= self.keep_bytes or (second + 1) * 1000 > spared_ms) and (second + 1) * 1000 > floor_ms:
                break
            # The newest second is never forgotten whole: the next scan begins in it.
            if (second + 1) * 1000 > self.newest_ms:
                break
            self._bytes -= self._sizes.pop(second)
            floor_ms = max(floor_ms, (second + 1) * 1000)
        if floor_ms > self.from_ms:
            self.from_ms = int(floor_ms)
            # A page at a time would be a pass over all of them for each.
            if len(self._counts) > 2 * self._kept:
                self._counts = Counter({key: count for key, count in self._counts.items() if key[0] >= floor_ms})
                self._kept = len(self._counts)


def _utf8_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _key(stream: str, event: LogEvent) -> tuple[int, int]:
    return event.timestamp, hash((stream, event.message))


@dataclass(slots=True)
class Trouble:
    """What went wrong in the last reading of a job's log, and which rights are missing."""

    job: Job
    streams: dict[str, TrainwatchError] = field(default_factory=dict)
    """Why a stream could not be read to its end."""
    no_list: Gap | None = None
    """There are no streams, or they cannot be listed."""
    no_listing: NotAllowed | None = None
    """Streams must not be listed, and none is known."""
    no_filtering: TrainwatchError | None = None
    """Events of all streams together must not be asked for."""
    way_around: NotAllowed | None = None
    """What is not allowed, where the lines could be had by filtering instead."""

    def gaps(self, stream_count: int) -> tuple[Gap, ...]:
        """Trouble that many streams share is one gap."""
        around = None if self.way_around is None else gap_of("logs", _read_by_filtering(self.way_around))
        of_job = tuple(gap for gap in (self.no_list, around) if gap is not None)
        return (*of_job, *self._of_streams(stream_count))

    def denied_streams(self) -> set[str]:
        """Those that must not be read."""
        return {stream for stream, error in self.streams.items() if isinstance(error, NotAllowed)}

    def _of_streams(self, stream_count: int) -> Iterator[Gap]:
        streams: dict[str, list[str]] = {}
        for stream in sorted(self.streams, key=stream_order):
            streams.setdefault(str(self.streams[stream]), []).append(stream.removeprefix(prefix(self.job.name)))
        errors = {str(error): error for error in self.streams.values()}
        for text, names in streams.items():
            yield gap_of("logs", errors[text], of="" if len(names) == stream_count else some_of(names))


def no_lines(job: Job) -> Gap:
    """The gap of a job without streams."""
    if job.is_running:
        return Gap("logs", "The job has not logged anything yet.", "Look again once its container has started.")
    return Gap(
        "logs",
        "CloudWatch has no log lines for this job.",
        "A job that never started has none; older ones may have been deleted by the log group's retention.",
    )


def progress(job: Job, positions: Mapping[str, StreamPosition], end_ms: float, started_s: float) -> LoadProgress | None:
    """How much of the time that the job covers is read, by streams; None where its begin is not known."""
    begun = job.started or job.created
    if begun is None or not positions:
        return None
    begun_ms = begun.timestamp() * 1000
    span_ms = max(1.0, end_ms - begun_ms)
    share = sum(_share(position, begun_ms, end_ms, span_ms) for position in positions.values()) / len(positions)
    elapsed_s = time.monotonic() - started_s
    return LoadProgress(share, elapsed_s * (1 - share) / share if share > 0.02 else None)


def _share(position: StreamPosition, begun_ms: float, end_ms: float, span_ms: float) -> float:
    if position.done or position.edge_ms is None:
        return float(position.done)
    covered_ms = end_ms - position.edge_ms if position.backward else position.edge_ms - begun_ms
    return min(1.0, max(0.0, covered_ms / span_ms))


def _read_by_filtering(error: NotAllowed) -> NotAllowed:
    return NotAllowed(f"{error.message} Its lines were read with logs:FilterLogEvents instead.", error.remedy)
