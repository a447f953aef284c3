"""All events of a run, collected page by page in any order; what is said thousands of times is kept once."""

from __future__ import annotations

from collections.abc import Iterator

from monitor.model import LogPage
from monitor.parse.rows import EventRow

# What NCCL prints for every channel of every rank, at worst a line in five of a log: kept once for each writer and text.
SAID_ONCE = frozenset({"transport"})


class EventRows:
    """Events, and of each stream its first line so far (kind "first-line"), whose time tells when a host began."""

    def __init__(self) -> None:
        self._rows: list[EventRow] = []
        self._said: dict[tuple[str, int | None, str, str, str], int] = {}
        self._first: dict[str, EventRow] = {}

    def __iter__(self) -> Iterator[EventRow]:
        yield from self._first.values()
        yield from self._rows

    def __len__(self) -> int:
        return len(self._first) + len(self._rows)

    def add_page(self, page: LogPage) -> None:
        """Remembers where the stream begins, as far as it was read."""
        known = self._first.get(page.stream)
        if known is None or page.first_line < known.line:
            time_ms = page.times_ms[0] if page.times_ms else None
            row = EventRow(page.stream, page.node, page.first_line, -1, time_ms, None, "", "first-line", "")
            self._first[page.stream] = row

    def add(self, row: EventRow) -> None:
        """Adds an event."""
        if row.kind in SAID_ONCE:
            # The first line that says it, whichever page comes first.
            place = self._said.setdefault((row.stream, row.rank, row.host, row.kind, row.text), len(self._rows))
            if place < len(self._rows):
                self._rows[place] = min(row, self._rows[place], key=_in_stream)
                return
        self._rows.append(row)


def _in_stream(row: EventRow) -> tuple[int, int]:
    return row.line, row.part
