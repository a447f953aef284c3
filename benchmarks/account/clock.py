"""What time is it in the account? The machine's time, or a time that stands still or runs at a rate of its own."""

from __future__ import annotations

import time


class Clock:
    """Epoch milliseconds."""

    def __init__(self, now_ms: float | None, rate: float) -> None:
        self.set(now_ms, rate)

    def set(self, now_ms: float | None, rate: float) -> None:
        """From here on the time is ``now_ms`` and runs at ``rate``; None: the machine's own."""
        self._real_s = time.monotonic()
        self._now_ms, self._rate = now_ms, rate

    def advance(self, by_ms: float) -> None:
        """Puts the clock forward; one that follows the machine's clock then keeps its lead."""
        rate = 1.0 if self._now_ms is None else self._rate
        self.set(self.now_ms() + by_ms, rate)

    def now_ms(self) -> float:
        if self._now_ms is None:
            return time.time() * 1000
        return self._now_ms + (time.monotonic() - self._real_s) * 1000 * self._rate
