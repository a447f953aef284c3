"""One log event as an object tells it."""

from __future__ import annotations

from typing import NamedTuple


class ExportedEvent(NamedTuple):
    """Sorted by ``stream`` and ``time_ms``, it is in the order of the log."""

    stream: str
    time_ms: int
    """-1 where the object has none."""
    source: str
    """Where it was read from; within one source no event is told twice, but for those of one ``id``."""
    id: str
    """The service's own; empty where the object has none."""
    message: str
