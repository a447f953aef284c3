"""One page of lines to rows: each line by itself, most of them together with others of their kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat

import numpy as np

from monitor.model import LogPage
from monitor.parse import learning, pieces
from monitor.parse.columns import Columns
from monitor.parse.envelope import Fragment, fragments, simple, written_at_ms
from monitor.parse.event_rows import EventRows
from monitor.parse.failed import Failures
from monitor.parse.gates import ALL, Lines, Readers, Recogniser, wanted
from monitor.parse.rows import EventRow, Reading
from monitor.parse.table import NOBODY, Place, Rows

# A line that is longer holds hundreds of redraws at best; what lies beyond is not read.
LONGEST_LINE = 1 << 20
# Without these a line has no wrapping but tags and labels.
_CONTROLS = ("\r", "\b", "\x1b", "#0")


def read_page(
    page: LogPage,
    rows: Rows,
    events: EventRows,
    failures: Failures,
    extra: tuple[Recogniser, ...] = (),
    further: tuple[Recogniser, ...] = (),
) -> None:
    """Adds what a page says. ``extra`` recognizers are asked first and ``further`` ones last, about every line.

    A line that a reader fails on costs that line.
    """
    found = _PageRows(page, rows, events, failures)
    if extra or further:
        readers = Readers((*extra, *ALL.families, *further), ALL.events, pieces=True)
        found.read_lines(np.arange(page.count), readers)
    else:
        for readers, lines in wanted(page.data, page.ends):
            found.read_lines(lines, readers)
    found.add_readings()


@dataclass(slots=True)
class _PageRows:
    """What was read on one page."""

    page: LogPage
    rows: Rows
    events: EventRows
    failures: Failures
    places: list[Place] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    beside_places: list[Place] = field(default_factory=list)
    beside: list[Reading] = field(default_factory=list)
    text: str = ""
    """The page as text, where bytes and characters are the same."""

    def __post_init__(self) -> None:
        data = self.page.data
        self.text = data.decode("ascii") if data.isascii() else ""

    def read_lines(self, at: Lines, readers: Readers) -> None:
        """Reads the lines ``at``, all of which ``readers`` may know."""
        lines = list(self._lines(at))
        together = "\n".join(lines)
        plain = not any(mark in together for mark in _CONTROLS)
        rest: Sequence[int] = range(len(lines))
        if readers.many is not None:
            rest = self._read_together(lines, at, readers, plain)
        numbers = (at + self.page.first_line).tolist()
        times = self.page.times_ms
        for place in rest:
            written_ms = times[int(at[place])] if times else None
            try:
                pieces = fragments(lines[place], plain)
            except Exception as error:
                self.failures.add(fragments, error)
                continue
            for part, fragment in enumerate(pieces):
                self._read(fragment, numbers[place], part, written_ms, readers)

    def add_readings(self) -> None:
        """Adds what was read line by line."""
        page = self.page
        if self.beside:
            self.rows.beside.add(page.stream, page.node, self.beside_places, self.beside)
        try:
            self.rows.add(page.stream, page.node, self.places, self.readings)
        except (OverflowError, TypeError, ValueError):
            # A number that no column holds, from a reader that did not bound it.
            for place, reading in zip(self.places, self.readings, strict=True):
                try:
                    self.rows.add(page.stream, page.node, [place], [reading])
                except (OverflowError, TypeError, ValueError) as error:
                    self.failures.add(Rows.add, error)

    def _lines(self, at: Lines) -> Iterator[str]:
        ends = self.page.ends
        starts = np.where(at > 0, ends[at - 1] + 1, 0)
        stops = np.minimum(ends[at], starts + LONGEST_LINE)
        text, data = self.text, self.page.data
        for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
            yield text[start:stop] if text else data[start:stop].decode("utf-8", "replace")

    def _read(self, fragment: Fragment, line: int, part: int, written_ms: int | None, readers: Readers) -> None:
        """The readings and events of one piece of a line."""
        text, rank, host, nested, time_ms, local_rank, task = fragment
        time_ms = written_ms if time_ms is None else time_ms
        for family in readers.families:
            # The first that knows the text is the one: the user's, then exact ones, then generic ones. What one fails on
            # is left: nobody knows whether it was its own.
            found = self.failures.read(family, text)
            if found is None:
                break
            if found:
                if time_ms is None:
                    time_ms = written_at_ms(text)
                rate = learning.rate_of(text) if len(found) == 1 else None
                process = (NOBODY if local_rank is None else local_rank, NOBODY if task is None else task, rate)
                for reading in found:
                    if reading.format:
                        writer = reading.rank if rank is None else rank
                        writer = NOBODY if writer is None else writer
                        self.places.append((line, part, time_ms, writer, host, nested or reading.nested, *process))
                        self.readings.append(reading)
                break
        else:
            if readers.pieces and (parts := self.failures.read(pieces.read, text)):
                if time_ms is None:
                    time_ms = written_at_ms(text)
                process = (NOBODY if local_rank is None else local_rank, NOBODY if task is None else task, None)
                place = (line, part, time_ms, NOBODY if rank is None else rank, host, nested, *process)
                self.beside_places.extend(repeat(place, len(parts)))
                self.beside.extend(parts)
        for read_event in readers.events:
            for kind, said in self.failures.read(read_event, text) or ():
                if time_ms is None:
                    time_ms = written_at_ms(text)
                where = (self.page.stream, self.page.node, line, part, time_ms)
                self.events.add(EventRow(*where, rank, host, kind, said))

    def _read_together(self, lines: Sequence[str], at: Lines, readers: Readers, plain: bool) -> Sequence[int]:
        """Reads the lines of one piece that one family knows together; which of ``lines`` are left."""
        assert readers.many is not None
        taken: set[int] = set()
        try:
            for known in self._blocks(lines, at, readers, plain):
                taken.update(known)
        except Exception as error:  # line by line the one that it fails on is found
            self.failures.add(readers.many, error, lines=0)
        return [place for place in range(len(lines)) if place not in taken]

    def _blocks(self, lines: Sequence[str], at: Lines, readers: Readers, plain: bool) -> Iterator[Sequence[int]]:
        """Which of ``lines`` were read, a block at a time."""
        assert readers.many is not None
        texts, ranks, hosts = simple(lines, plain)
        asked = texts
        for family in readers.before:
            # What a family before it knows, or fails on, is not its to read.
            asked = ["" if text and _knows(family, text) else text for text in asked]
        has_rate = learning.told("\n".join(texts))
        for known, columns in readers.many(asked):
            where = self._where(known, texts, ranks, hosts, at, columns)
            rates = {"learning_rate": learning.rates_of([texts[place] for place in known])} if has_rate else {}
            self.rows.add_columns(self.page.stream, self.page.node, len(known), {**columns, **rates, **where})
            yield known
            for place in known if readers.events else ():
                time_ms = self.page.times_ms[int(at[place])] if self.page.times_ms else None
                piece = Fragment(texts[place], ranks[place], hosts[place], False)
                self._read(piece, self.page.first_line + int(at[place]), 0, time_ms, Readers((), readers.events))

    def _where(
        self,
        known: Sequence[int],
        texts: Sequence[str],
        ranks: Sequence[int | None],
        hosts: Sequence[str],
        at: Lines,
        columns: Columns,
    ) -> Columns:
        times = self.page.times_ms
        own = columns.get("rank") or repeat(None)
        writers = [
            theirs if (rank := ranks[place]) is None else rank for place, theirs in zip(known, own, strict=False)
        ]
        return {
            "line": at[known] + self.page.first_line,
            "part": np.zeros(len(known)),
            "time_ms": [times[place] for place in at[known].tolist()]
            if times
            else [written_at_ms(texts[place]) for place in known],
            "rank": [NOBODY if rank is None else rank for rank in writers],
            "host": [hosts[place] for place in known],
        }


def _knows(family: Recogniser, text: str) -> bool:
    try:
        return any(True for _ in family(text))
    except Exception:  # it is asked again by itself, and counted there
        return True
