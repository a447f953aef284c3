"""Strategy: what is new in all streams together, and the last minutes again for what came late."""

from __future__ import annotations

from collections.abc import Iterator

from monitor.fetch.logs.events import Scan
from monitor.fetch.logs.seen import RecentEvents

# What two calls can hold is asked for again each time; where that does not reach back as far as a line may be late, the
# very newest of it, and time by time what has settled since.
_AGAIN_BYTES = 1_900_000
_NEWEST_BYTES = 300_000
_SETTLE_MS = 90_000


class Updates:
    """Which spans of time to scan for what came since the last scans."""

    def __init__(self) -> None:
        self.complete_ms = 0
        """Up to here the scans of what is new were whole."""
        self._checked_ms = 0
        """Up to here what settled was asked for again."""

    def scans(self, recent: RecentEvents) -> Iterator[Scan]:
        """One, or two where too much is written. Each must be read, and what it gave remembered, before the next is asked for."""
        newest_ms = recent.newest_ms
        scan = Scan(self._new_from_ms(recent))
        yield scan
        if not scan.is_done or scan.from_ms <= recent.from_ms:
            return
        self.complete_ms = recent.newest_ms
        if late := self._late(recent, is_growing=recent.newest_ms > newest_ms):
            yield late

    def _new_from_ms(self, recent: RecentEvents) -> int:
        """All that is remembered, where two calls can hold it."""
        begin_ms = recent.since(_AGAIN_BYTES)
        if begin_ms <= recent.from_ms:
            return begin_ms
        return min(recent.since(_NEWEST_BYTES), max(self.complete_ms, recent.from_ms))

    def _late(self, recent: RecentEvents, is_growing: bool) -> Scan | None:
        """The next part of what has settled."""
        settled_ms = recent.newest_ms - (_SETTLE_MS if is_growing else 0)
        from_ms = max(self._checked_ms, recent.from_ms)
        self._checked_ms = to_ms = max(from_ms, min(recent.until(from_ms, _AGAIN_BYTES), settled_ms))
        return Scan(from_ms, to_ms) if to_ms > from_ms else None
