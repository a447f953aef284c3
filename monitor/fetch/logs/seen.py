"""What was handed out of a job's log: how far each stream was read, and which events of the last minutes were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from monitor.fetch.logs.events import Event, EventCounts, lines_of
from monitor.fetch.logs.position import StreamPage, StreamPosition
from monitor.fetch.logs.streams import node_of_stream
from monitor.model import LogPage

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

    def take_new(self, stream: str, events: Sequence[Event], counts: EventCounts) -> LogPage | None:
        """The lines of those events, found in all streams together, that were not handed out and nobody else reads.

        ``counts`` are those of the scan that found them.
        """
        position = self.positions[stream]
        if not position.done:
            # What the reading of the stream itself is still to come upon.
            begin_ms = position.before_ms if position.backward else None
            events = [event for event in events if begin_ms is not None and event["timestamp"] >= begin_ms]
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

    def add(self, stream: str, events: Sequence[Event]) -> None:
        """Remembers events of one stream."""
        if events and events[-1]["timestamp"] < self.from_ms:
            return
        for event in events:
            time_ms = event["timestamp"]
            if time_ms >= self.from_ms:
                self._counts[_key(stream, event)] += 1
                size = max(_LEAST_BYTES, _utf8_bytes(event["message"]) + _EVENT_BYTES)
                self._bytes += size
                self._sizes[time_ms // 1000] += size
        if events:
            self.newest_ms = max(self.newest_ms, *(event["timestamp"] for event in (events[0], events[-1])))

    def fresh(self, stream: str, events: Sequence[Event], counts: EventCounts) -> list[Event]:
        """The events that were not handed out; ``counts`` are those of this scan so far, and are added to."""
        out = []
        for event in events:
            if event["timestamp"] < self.from_ms:
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


def _key(stream: str, event: Event) -> tuple[int, int]:
    return event["timestamp"], hash((stream, event["message"]))
