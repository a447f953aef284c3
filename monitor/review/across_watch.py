"""The list of many accounts for whoever looks: read in the background, shown as far as it has come."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from monitor.accounts import AccountRegion
from monitor.fetch.background import begin
from monitor.fetch.source import JobQuery
from monitor.review.across import Across, Open, Sweep

#: A look is one call a pair: that often is enough to see a job begin or end.
EVERY = timedelta(seconds=20)


@dataclass(frozen=True, slots=True)
class AcrossSnapshot:
    """What is known of all accounts right now."""

    across: Across
    is_first: bool
    """Not every pair has answered yet."""
    looked_at: datetime | None
    """When the last look began that has ended."""


class AcrossWatch:
    """Looks again while somebody asks. Safe to share between threads."""

    def __init__(self, pairs: Sequence[AccountRegion], open_pair: Open, limit: int) -> None:
        self._pairs = tuple(pairs)
        self._query = JobQuery(limit=limit)
        self.sweep = Sweep(open_pair)
        self._lock = threading.Lock()
        self._is_looking = False
        self._looked_at: datetime | None = None

    def snapshot(self) -> AcrossSnapshot:
        """The newest that is known; never blocks, and begins another look where the last one is old."""
        now = datetime.now(UTC)
        with self._lock:
            is_due = self._looked_at is None or now - self._looked_at >= EVERY
            if is_due and not self._is_looking:
                self._is_looking = True
                begin(self._look, now)
            looked_at = self._looked_at
        across = self.sweep.so_far(self._pairs, self._query, now)
        return AcrossSnapshot(across, len(across.asked) < len(self._pairs), looked_at)

    def _look(self, now: datetime) -> None:
        try:
            self.sweep.look(self._pairs, self._query, now)
        finally:
            with self._lock:
                self._is_looking, self._looked_at = False, now
