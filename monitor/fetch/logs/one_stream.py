"""How far was one stream read, and what does its next page hold? From its head to its end, or from its end to its head."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from monitor.aws.calls import MOST_EMPTY, lead_nowhere
from monitor.aws.clients import Clients
from monitor.errors import BadCall
from monitor.fetch.cut_lines import joined_within
from monitor.fetch.logs.pages import Event, lines_of
from monitor.fetch.logs.streams import GROUP, node_of_stream
from monitor.model import LogPage

# A page with this many events is not yet the live end of its stream, whatever this machine's clock says.
_BACKLOG = 1000


@dataclass(frozen=True, slots=True)
class Place:
    """How far one stream was read."""

    stream: str
    backward: bool = False
    """From its end to its head."""
    before_ms: int | None = None
    """Only events before this time, where somebody else reads the rest."""
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
class Turn:
    """One page of a stream, its events, and the place behind it."""

    place: Place
    page: LogPage | None = None
    events: tuple[Event, ...] = ()


def turn(clients: Clients, place: Place, until_ms: float | None = None) -> Turn:
    """The next page. A forward reading of a stream that grows ends at the first page written after ``until_ms``."""
    try:
        answer = _ask(clients, place)
    except BadCall:
        if place.token is None:
            raise
        # A token lives for a day: begin again, and pass over what was handed out.
        place = replace(place, token=None, again=0 if place.backward else place.lines)
        answer = _ask(clients, place)
    events = answer.get("events", ())
    token: str = answer["nextBackwardToken" if place.backward else "nextForwardToken"]
    # An empty page is not the end; the same token again is.
    done = token == place.token
    if not done:
        place = _led_on(place, events)
    if place.backward:
        return backward_turn(place, events, token, done)
    reached_now = until_ms is not None and 0 < len(events) < _BACKLOG and events[-1]["timestamp"] >= until_ms
    return _forward(place, events, token, done or reached_now)


def _led_on(place: Place, events: Any) -> Place:
    """Unreachable where page after page says nothing new."""
    edge = place.edge_ms
    is_new = bool(events) and (
        edge is None or (events[0]["timestamp"] < edge if place.backward else events[-1]["timestamp"] > edge)
    )
    if not is_new and place.idle >= MOST_EMPTY:
        raise lead_nowhere("logs:GetLogEvents")
    return replace(place, idle=0 if is_new else place.idle + 1)


def _forward(place: Place, events: Any, token: str, done: bool) -> Turn:
    known, taken = place.again, 0
    while known and taken < len(events) and known >= (count := len(lines_of(events[taken : taken + 1])[0])):
        known -= count
        taken += 1
    events = events[taken:]
    lines, times = lines_of(events)
    page = None
    if fresh := lines[known:]:
        node = node_of_stream(place.stream)
        page = joined_within(LogPage.of(place.stream, node, place.lines + 1, fresh, tuple(times[known:])))
    # Times never fall in a stream; where they do, its pages go round.
    edge_ms = max(events[-1]["timestamp"], place.edge_ms or 0) if events else place.edge_ms
    behind = replace(place, token=token, lines=place.lines + len(fresh), edge_ms=edge_ms, done=done)
    return Turn(replace(behind, again=0 if events else known), page, tuple(events))


def backward_turn(place: Place, events: Any, token: str | None, done: bool) -> Turn:
    """The page before ``place``, of events in ascending time.

    Lines are numbered from 0 down; who knows where the head is turns that round.
    """
    if place.before_ms is not None:
        # Not every stand-in for AWS leaves the end of a time range out.
        events = [event for event in events if event["timestamp"] < place.before_ms]
    if place.token is None and place.edge_ms is not None:
        events = _without_edge(events, place.edge_ms, place.at_edge)
    lines, times = lines_of(events)
    if not lines:
        return Turn(replace(place, token=token, done=done), None, ())
    count = place.lines + len(lines)
    page = joined_within(LogPage.of(place.stream, node_of_stream(place.stream), 1 - count, lines, tuple(times)))
    edge_ms = events[0]["timestamp"]
    at_edge = sum(event["timestamp"] == edge_ms for event in events)
    if edge_ms == place.edge_ms:
        at_edge += place.at_edge
    behind = replace(place, token=token, lines=count, edge_ms=edge_ms, at_edge=at_edge, done=done)
    return Turn(behind, page, tuple(events))


def _without_edge(events: list[Event], edge_ms: int, handed_out: int) -> list[Event]:
    """A reading that was begun again comes upon the events at its edge once more: the last of them were handed out."""
    older = [event for event in events if event["timestamp"] < edge_ms]
    edge = [event for event in events if event["timestamp"] == edge_ms]
    return older + edge[: max(0, len(edge) - handed_out)]


def _ask(clients: Clients, place: Place) -> dict[str, Any]:
    asked: dict[str, Any] = {"startFromHead": not place.backward}
    end_ms = place.before_ms
    if place.backward and place.token is None and place.edge_ms is not None:
        end_ms = place.edge_ms + 1
    if end_ms is not None:
        asked["endTime"] = end_ms
    if place.token is not None:
        asked["nextToken"] = place.token
    return clients.call("logs", "get_log_events", logGroupName=GROUP, logStreamName=place.stream, **asked)
