"""What did all streams hold, window after window back in time? For users who may filter log events but not read
streams."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from monitor.aws.clients import Clients
from monitor.fetch.logs.filtering import Look
from monitor.fetch.logs.pages import Event

_FIRST_MS = 300_000
# A window is held in memory while it is read.
_FEW_EVENTS, _MANY_EVENTS = 10_000, 100_000


@dataclass(frozen=True, slots=True)
class Window:
    """All events in [from_ms, to_ms), by stream, each in ascending time."""

    from_ms: int
    to_ms: int
    events: dict[str, list[Event]]


def windows(clients: Clients, job_name: str, from_ms: int, to_ms: int) -> Iterator[Window]:
    """The span in windows, the newest first; wider where little was written. Errors of ``monitor.errors``."""
    span_ms = _FIRST_MS
    while to_ms > from_ms:
        begin_ms = max(from_ms, to_ms - span_ms)
        events: dict[str, list[Event]] = {}
        for found in Look(begin_ms, to_ms).answers(clients, job_name):
            for stream, some in found:
                events.setdefault(stream, []).extend(some)
        yield Window(begin_ms, to_ms, events)
        count, to_ms = sum(map(len, events.values())), begin_ms
        if count < _FEW_EVENTS:
            span_ms *= 2
        elif count > _MANY_EVENTS:
            span_ms = max(1000, span_ms // 2)
