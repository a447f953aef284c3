"""How do events that a copy of the log lists one by one become pages again, a stream at a time?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import pairwise
from typing import NamedTuple

from monitor.model import LogPage

STREAM_NODE = re.compile(r"\b(algo-[1-9]\d{0,8})(?:-\d+)?$")
#: Of a copy that holds more than so many characters a part at a time is turned back.
PORTION_CHARS = 16 << 20
# What an event takes beside its message.
_EVENT_CHARS = 200
# 2001 to 2100: what lies outside is no time of a log, and some of it no time at all.
_EARLIEST_MS, _LATEST_MS = 978_307_200_000, 4_102_444_800_000


class Event(NamedTuple):
    """One event as a copy shows it; ``stream`` is empty where the copy does not name it."""

    stream: str
    time_ms: int | None
    message: str


def as_pages(events: Iterable[Event], origin: LogPage, written: dict[str, int]) -> Iterator[LogPage]:
    """One page a stream; events without a stream belong to ``origin``'s. ``written`` has how many lines each stream had
    before, and is added to.
    """
    streams: dict[str, tuple[list[str], list[int | None]]] = {}
    for event in events:
        lines, times = streams.setdefault(event.stream or origin.stream, ([], []))
        said = event.message.rstrip("\r\n").split("\n")
        lines += said
        times += [event.time_ms] * len(said)
    for name, (lines, times) in streams.items():
        node = STREAM_NODE.search(name)
        before = written.get(name, 0)
        written[name] = before + len(lines)
        yield LogPage.of(name, node[1] if node else origin.node, before + 1, lines, tuple(times))


def portions(events: Iterable[Event]) -> Iterator[list[Event]]:
    """The events in lists of so much text as may be in memory at once; of most copies that is one."""
    found: list[Event] = []
    size = 0
    for event in events:
        found.append(event)
        size += len(event.message) + _EVENT_CHARS
        if size >= PORTION_CHARS:
            yield found
            found, size = [], 0
    if found:
        yield found


def oldest_first(events: list[Event]) -> list[Event]:
    """The events in time; a query's answer has the newest first. Those of one time keep their order."""
    times = [event.time_ms for event in events if event.time_ms is not None]
    if len(times) < len(events):
        return events
    falls = sum(later < earlier for earlier, later in pairwise(times))
    rises = sum(later > earlier for earlier, later in pairwise(times))
    return sorted(reversed(events) if falls > rises else events, key=lambda event: event.time_ms or 0)


def unix_ms(stamp: object) -> int | None:
    """Unix milliseconds of what a copy shows for a time: milliseconds, seconds, or ISO 8601; UTC where no zone stands."""
    if isinstance(stamp, str):
        text = stamp.strip().replace(",", ".")
        if text.isascii() and text.isdigit() and len(text) in {10, 13}:
            return unix_ms(int(text))
        try:
            moment = datetime.fromisoformat(text)
            stamp = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
        except (ValueError, OverflowError):
            return None
    if not isinstance(stamp, int) or isinstance(stamp, bool):
        return None
    time_ms = stamp * 1000 if 0 <= stamp < _LATEST_MS // 1000 else stamp
    return time_ms if _EARLIEST_MS <= time_ms < _LATEST_MS else None
