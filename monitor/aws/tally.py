"""What was requested from AWS, and what does it cost? One tally for the program, and one for whatever is metered
within it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from monitor.errors import CannotDo
from monitor.model import ApiBill

#: CloudWatch's price of GetMetricData; the other calls this program makes to read are not charged by the call.
USD_PER_METRIC_REQUESTED = 0.01 / 1000


class Tally:
    """Counts HTTP requests by operation, tries again included. Safe to share between threads."""

    def __init__(self, max_usd: float | None = None) -> None:
        self._lock = threading.Lock()
        self._calls: Counter[str] = Counter()
        self._metrics_requested = 0
        self._more_usd = 0.0
        self._max_usd = max_usd

    def count(self, operation: str) -> None:
        with self._lock:
            self._calls[operation] += 1

    def count_metrics(self, requested: int) -> None:
        """Metrics that are about to be asked for. CannotDo where they would cost more than is allowed."""
        with self._lock:
            usd = self._usd(requested)
            if self._max_usd is not None and usd > self._max_usd:
                raise CannotDo(
                    f"The metrics would bring the cost to about ${usd:.4f}, more than --max-usd {self._max_usd:g}.",
                    "Allow more with --max-usd.",
                )
            self._metrics_requested += requested

    def add_usd(self, usd: float) -> None:
        """What is not charged by the call, such as the bytes that a query scanned."""
        with self._lock:
            self._more_usd += usd

    def bill(self) -> ApiBill:
        """Everything so far, and its price in USD (an estimate)."""
        with self._lock:
            return ApiBill(dict(sorted(self._calls.items())), self._usd())

    def _usd(self, more_metrics: int = 0) -> float:
        return (self._metrics_requested + more_metrics) * USD_PER_METRIC_REQUESTED + self._more_usd


class Share(Tally):
    """Of one of many who together may spend no more than ``whole`` allows."""

    def __init__(self, whole: Tally) -> None:
        super().__init__()
        self._whole = whole
        self.is_refused = False
        """Whether something was not asked for, as it would have cost too much."""

    def count_metrics(self, requested: int) -> None:
        try:
            self._whole.count_metrics(requested)
        except CannotDo:
            self.is_refused = True
            raise
        super().count_metrics(requested)


_METERED: ContextVar[tuple[Tally, ...]] = ContextVar("metered", default=())


@contextmanager
def metered(max_usd: float | None = None) -> Iterator[Tally]:
    """A tally of what is called within the block, by threads that it starts too."""
    with counted(tally := Tally(max_usd)):
        yield tally


@contextmanager
def counted(tally: Tally) -> Iterator[None]:
    """What is called within the block counts in this tally, too."""
    token = _METERED.set((*_METERED.get(), tally))
    try:
        yield
    finally:
        _METERED.reset(token)


def running() -> tuple[Tally, ...]:
    """The tallies of the blocks that the caller is in."""
    return _METERED.get()
