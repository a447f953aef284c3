"""How far one stream was read, and its next page: from its head to its end, or from its end to its head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from monitor.aws.calls import MOST_EMPTY, lead_nowhere
from monitor.errors import BadCall
from monitor.fetch.cut_lines import joined_within
from monitor.fetch.logs.events import Event, EventPage, JobEvents, lines_of
from monitor.fetch.logs.streams import node_of_stream
from monitor.model import LogPage

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
    events: Sequence[Event] = ()


def next_page(events: JobEvents, position: StreamPosition, until_ms: float | None = None) -> StreamPage:
    """A forward reading of a stream that grows ends at the first page written after ``until_ms``."""
    try:
        answer = _ask(events, position)
    except BadCall:
        if position.token is None:
            raise
        # A token lives for a day: begin again, and pass over what was handed out.
        position = replace(position, token=None, again=0 if position.backward else position.lines)
        answer = _ask(events, position)
    # An empty page is not the end; the same token again is.
    done = answer.token == position.token
    if not done:
        position = _led_on(position, answer.events)
    if position.backward:
        return backward_page(position, answer, done)
    reached_now = (
        until_ms is not None and 0 < len(answer.events) < _BACKLOG and answer.events[-1]["timestamp"] >= until_ms
    )
    return _forward_page(position, answer, done or reached_now)


def _led_on(position: StreamPosition, events: Sequence[Event]) -> StreamPosition:
    """Unreachable where page after page says nothing new."""
    edge = position.edge_ms
    is_new = bool(events) and (
        edge is None or (events[0]["timestamp"] < edge if position.backward else events[-1]["timestamp"] > edge)
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
    edge_ms = max(events[-1]["timestamp"], position.edge_ms or 0) if events else position.edge_ms
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
    events: Sequence[Event] = page.events
    if position.before_ms is not None:
        # Not every stand-in for AWS leaves the end of a time range out.
        events = [event for event in events if event["timestamp"] < position.before_ms]
    if position.token is None and position.edge_ms is not None:
        events = _without_edge(events, position.edge_ms, position.at_edge)
    lines, times = lines_of(events)
    if not lines:
        return StreamPage(replace(position, token=page.token, done=done))
    count = position.lines + len(lines)
    edge_ms = events[0]["timestamp"]
    at_edge = sum(event["timestamp"] == edge_ms for event in events)
    if edge_ms == position.edge_ms:
        at_edge += position.at_edge
    behind = replace(position, token=page.token, lines=count, edge_ms=edge_ms, at_edge=at_edge, done=done)
    return StreamPage(behind, _log_page(position.stream, 1 - count, lines, times), events)


def _log_page(stream: str, first_line: int, lines: list[str], times: list[int | None]) -> LogPage:
    return joined_within(LogPage.of(stream, node_of_stream(stream), first_line, lines, tuple(times)))


def _without_edge(events: Sequence[Event], edge_ms: int, given: int) -> list[Event]:
    """A reading that was begun again comes upon the events at its edge once more: the last of them were handed out."""
    older = [event for event in events if event["timestamp"] < edge_ms]
    edge = [event for event in events if event["timestamp"] == edge_ms]
    return older + edge[: max(0, len(edge) - given)]


def _ask(events: JobEvents, position: StreamPosition) -> EventPage:
    end_ms = position.before_ms
    if position.backward and position.token is None and position.edge_ms is not None:
        end_ms = position.edge_ms + 1
    return events.of_stream(position.stream, backward=position.backward, token=position.token, end_ms=end_ms)
