"""What does one answer of CloudWatch Logs hold? Events to lines, and which of them were handed out before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Seen = Counter[tuple[int, int]]
"""How often which event came: by its time and a hash of its stream and message."""
Event = dict[str, Any]
"""One event as the service gives it: ``timestamp`` in ms, ``message``, from a filter also ``logStreamName``."""

# What the service counts for an event beside its message; and since a page holds no more than 10,000 of them, an event
# takes at least so much of its megabyte.
_EVENT_BYTES = 26
_LEAST_BYTES = 105


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
        message, time_ms = event.get("message", ""), event.get("timestamp")
        if "\n" not in message:
            lines.append(message)
            times.append(time_ms)
            continue
        parts = message.split("\n")
        if not parts[-1]:
            parts.pop()
        lines += parts
        times += [time_ms] * len(parts)
    return lines, times


@dataclass(slots=True)
class Recent:
    """The newest events that were handed out, as a multiset: what is asked for again is told apart from what is new.

    Only events from ``from_ms`` on are remembered: those of the last ``keep_ms``, as long as they are no more than
    ``keep_bytes``.
    """

    keep_ms: int
    """How long an event may lag behind newer ones at most."""
    keep_bytes: int
    newest_ms: int = 0
    from_ms: int = 0
    _known: Seen = field(default_factory=Counter)
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
                self._known[_key(stream, event)] += 1
                size = max(_LEAST_BYTES, _utf8_bytes(event["message"]) + _EVENT_BYTES)
                self._bytes += size
                self._sizes[time_ms // 1000] += size
        if events:
            self.newest_ms = max(self.newest_ms, *(event["timestamp"] for event in (events[0], events[-1])))

    def fresh(self, stream: str, events: Sequence[Event], seen: Seen) -> list[Event]:
        """The events that were not handed out; ``seen`` counts those of this look so far, and is added to."""
        out = []
        for event in events:
            if event["timestamp"] < self.from_ms:
                continue
            key = _key(stream, event)
            seen[key] += 1
            if seen[key] > self._known[key]:
                out.append(event)
        return out

    def forget(self, spare_ms: float = 0.0) -> None:
        """Lets go of what is too old, or too much; between two looks, not within one.

        The last ``spare_ms`` are not too much, however much they are.
        """
        spared_ms = self.newest_ms - spare_ms
        floor_ms = max(self.from_ms, min(spared_ms, self.newest_ms - self.keep_ms))
        for second in sorted(self._sizes):
            if (self._bytes <= self.keep_bytes or (second + 1) * 1000 > spared_ms) and (second + 1) * 1000 > floor_ms:
                break
            # The newest second is never forgotten whole: the next look begins in it.
            if (second + 1) * 1000 > self.newest_ms:
                break
            self._bytes -= self._sizes.pop(second)
            floor_ms = max(floor_ms, (second + 1) * 1000)
        if floor_ms > self.from_ms:
            self.from_ms = int(floor_ms)
            # A page at a time would be a pass over all of them for each.
            if len(self._known) > 2 * self._kept:
                self._known = Counter({key: count for key, count in self._known.items() if key[0] >= floor_ms})
                self._kept = len(self._known)


def _utf8_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _key(stream: str, event: Event) -> tuple[int, int]:
    return event["timestamp"], hash((stream, event["message"]))
