"""One page of lines to rows: each line by itself, most of them together with others of their kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat

import numpy as np

from monitor.model import LogPage
from monitor.parse import learning, pieces
from monitor.parse.columns import Columns
from monitor.parse.envelope import Fragment, fragments, simple
from monitor.parse.event_rows import EventRows
from monitor.parse.examples import EACH, Examples, Kind
from monitor.parse.failed import Failures
from monitor.parse.gates import ALL, Lines, Readers, Recogniser, wanted
from monitor.parse.rows import EventRow, Reading
from monitor.parse.stamps import Stamp, stamp, stamps_of, written_at_ms
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
    examples: Examples,
    extra: tuple[Recogniser, ...] = (),
    further: tuple[Recogniser, ...] = (),
) -> None:
    """Adds what a page says. ``extra`` recognizers are asked first and ``further`` ones last, about every line.

    A line that a reader fails on costs that line.
    """
    found = _PageRows(page, rows, events, failures, examples)
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
    examples: Examples
    shown: Counter[Kind] = field(default_factory=Counter)
    """Examples of the lines that are being read, which stand in their order."""
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
        self.shown.clear()
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
                time_ms, stamp_ms = _clock(time_ms, stamp(text))
                rate = learning.rate_of(text) if len(found) == 1 else None
                srun = NOBODY if task is None else task
                for reading in found:
                    if reading.format:
                        writer = reading.rank if rank is None else rank
                        writer = NOBODY if writer is None else writer
                        local = reading.local_rank if local_rank is None else local_rank
                        process = (NOBODY if local is None else local, srun, rate, stamp_ms)
                        self.places.append((line, part, time_ms, writer, host, nested or reading.nested, *process))
                        self.readings.append(reading)
                        self._show((reading.format, reading.bar), line, text)
                break
        else:
            if readers.pieces and (parts := self.failures.read(pieces.read, text)):
                time_ms, stamp_ms = _clock(time_ms, stamp(text))
                own = (NOBODY if local_rank is None else local_rank, NOBODY if task is None else task, None, stamp_ms)
                place = (line, part, time_ms, NOBODY if rank is None else rank, host, nested, *own)
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
            self._show_columns(known, columns, texts, at)
            yield known
            for place in known if readers.events else ():
                time_ms = self.page.times_ms[int(at[place])] if self.page.times_ms else None
                piece = Fragment(texts[place], ranks[place], hosts[place], False)
                self._read(piece, self.page.first_line + int(at[place]), 0, time_ms, Readers((), readers.events))

    def _show(self, kind: Kind, line: int, text: str) -> None:
        if self.shown[kind] < EACH:
            self.shown[kind] += 1
            self.examples.offer(kind, (self.page.stream, line), text)

    def _show_columns(self, known: Sequence[int], columns: Columns, texts: Sequence[str], at: Lines) -> None:
        names, bars = (
            repeat(named) if isinstance(named := columns.get(name) or "", str) else named for name in ("format", "bar")
        )
        alike = isinstance(names, repeat) and isinstance(bars, repeat)
        for place, name, bar in zip(known[:EACH] if alike else known, names, bars, strict=False):
            self._show((name, bar), self.page.first_line + int(at[place]), texts[place])

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
        clocks = [
            _clock(None if times is None else times[line], printed)
            for line, printed in zip(at[known].tolist(), stamps_of([texts[place] for place in known]), strict=True)
        ]
        own = columns.get("rank") or repeat(None)
        writers = [
            theirs if (rank := ranks[place]) is None else rank for place, theirs in zip(known, own, strict=False)
        ]
        return {
            "line": at[known] + self.page.first_line,
            "part": np.zeros(len(known)),
            "time_ms": [time_ms for time_ms, _ in clocks],
            "stamp_ms": [stamp_ms for _, stamp_ms in clocks],
            "rank": [NOBODY if rank is None else rank for rank in writers],
            "host": [hosts[place] for place in known],
        }


def _clock(known_ms: int | None, printed: Stamp | None) -> tuple[int | None, int | None]:
    """(when a line was written, what it prints of itself beside that).

    Without a time of the source, or one that a copy put in front, the stamp is the line's time where it is an instant; one
    that lacks its day stays beside it.
    """
    if printed is None:
        return known_ms, None
    return (printed.ms, None) if known_ms is None and printed.dated else (known_ms, printed.ms)


def _knows(family: Recogniser, text: str) -> bool:
    try:
        return any(True for _ in family(text))
    except Exception:  # it is asked again by itself, and counted there
        return True
