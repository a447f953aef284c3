"""Strategy: the newest events of all streams together, by a few calls whatever the number of streams."""

from __future__ import annotations

from dataclasses import dataclass

from monitor.fetch.logs.events import EventPage, JobEvents

# The last seconds, or where these hold little, the last minutes. A page holds so many ordinary events.
_NEWEST_MS, _WIDER_MS, _CALLS = 15_000, 300_000, 4
_FEW_EVENTS, _FEW_OF_A_STREAM, _SURE_OF_A_CALL = 300, 40, 5000


@dataclass(frozen=True, slots=True)
class Tail:
    """What was written since ``from_ms``, as far as the calls lasted; with a token the newest of it is still to be read."""

    from_ms: int
    page: EventPage

    @property
    def is_empty(self) -> bool:
        return not self.page.events and self.page.token is None


def newest_events(events: JobEvents, end_ms: int, stream_count: int) -> Tail:
    """The last events before ``end_ms``. Errors of ``monitor.errors``."""
    from_ms = end_ms - _NEWEST_MS
    page = events.first_in_time(from_ms, calls=_CALLS)
    wanted, left = max(_FEW_EVENTS, _FEW_OF_A_STREAM * stream_count), _CALLS - page.calls
    if page.token is None and len(page.events) < wanted and left:
        times = min(4 * wanted, left * _SURE_OF_A_CALL) / max(1, len(page.events))
        from_ms = end_ms - min(_WIDER_MS, round(_NEWEST_MS * times))
        page = events.first_in_time(from_ms, calls=left)
    return Tail(from_ms, page)
