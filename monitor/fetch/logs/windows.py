"""Strategy: all streams together, window after window back in time. For users who may filter log events but not read, or
not even list, streams."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from monitor.fetch.logs.events import Event, EventPage, JobEvents, Scan
from monitor.fetch.logs.position import StreamPage, StreamPosition, backward_page

#: What another clock may be ahead of this one.
AHEAD_MS = 300_000
_FIRST_MS = 300_000
# A window is in memory while it is read.
_FEW_EVENTS, _MANY_EVENTS = 10_000, 100_000


@dataclass(frozen=True, slots=True)
class Window:
    """All events in [from_ms, to_ms), by stream, each in ascending time."""

    from_ms: int
    to_ms: int
    events: dict[str, list[Event]]

    def page(self, position: StreamPosition) -> StreamPage:
        """The events of one stream, as if it had been read from its end."""
        return backward_page(position, EventPage(self.events[position.stream], None), done=False)


def windows(events: JobEvents, from_ms: int, to_ms: int) -> Iterator[Window]:
    """The span in windows, the newest first; wider where little was written. Errors of ``monitor.errors``."""
    span_ms = _FIRST_MS
    while to_ms > from_ms:
        begin_ms = max(from_ms, to_ms - span_ms)
        by_stream: dict[str, list[Event]] = {}
        for page in Scan(begin_ms, to_ms).pages(events):
            for stream, some in page.by_stream().items():
                by_stream.setdefault(stream, []).extend(some)
        yield Window(begin_ms, to_ms, by_stream)
        count, to_ms = sum(map(len, by_stream.values())), begin_ms
        if count < _FEW_EVENTS:
            span_ms *= 2
        elif count > _MANY_EVENTS:
            span_ms = max(1000, span_ms // 2)
