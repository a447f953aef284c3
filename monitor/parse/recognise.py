"""A page of log lines to raw rows: each line by itself, with no memory of any other line.

So the order in which pages arrive, how they are cut, late lines and restarts cannot matter: what relates lines to
one another is done in ``monitor.parse.assemble`` over all rows.
"""

from __future__ import annotations

import gc
import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import repeat
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from ahocorasick_rs import BytesAhoCorasick, Implementation
from numpy.typing import NDArray

from monitor.model import LogPage
from monitor.parse import facts, formats, marks
from monitor.parse.envelope import fragments, written_at_ms
from monitor.parse.rows import EventRow, Reading
from monitor.parse.shapes import Shapes
from monitor.parse.table import NOBODY, Place, Rows

# A line that is longer holds hundreds of redraws at best; what lies beyond is not read.
LONGEST_LINE = 1 << 20
# Beyond this a line is no candidate for a pattern of the user's.
LONGEST_SHAPE = 600
# So many lines of a page are looked at for shapes while no step has been seen.
SHAPE_LINES = 2000
# What NCCL prints for every channel of every rank, at worst a line in five of a log: kept once for each writer and text.
SAID_ONCE = frozenset({"transport"})

Recogniser = Callable[[str], Iterable[Reading]]
EventReader = Callable[[str], Iterable[tuple[str, str]]]
Columns = Mapping[str, Sequence[Any] | str]
"""Readings as columns by the fields' names; a text that is the same for all of them stands alone."""
ManyReader = Callable[[Sequence[str]], Iterable[tuple[Sequence[int], Columns]]]
"""Texts to (index of each that holds one reading, the readings' columns); the others are left to the family's read."""


def families() -> tuple[ModuleType, ...]:
    """The modules of ``monitor.parse.formats`` by name, those marked GENERIC last."""
    names = sorted(module.name for module in pkgutil.iter_modules(formats.__path__))
    found = [importlib.import_module(f"{formats.__name__}.{name}") for name in names]
    return tuple(sorted(found, key=lambda family: bool(getattr(family, "GENERIC", False))))


Said = dict[tuple[str, int | None, str, str, str], int]
"""(stream, rank, host, kind, text) -> place among the events."""


@dataclass
class RawRows:
    """All rows recognised so far; ``add`` takes pages of any stream in any order."""

    extra: tuple[Recogniser, ...] = ()
    """Recognisers that the user gave: asked first."""
    further: tuple[Recogniser, ...] = ()
    """Recognisers that the job brought along: asked last."""
    steps: Rows = field(default_factory=Rows)
    events: list[EventRow] = field(default_factory=list)
    lines: int = 0
    last_ms: int | None = None
    """Time of the newest line, where the source has times."""
    streams: set[str] = field(default_factory=set)
    shapes: Shapes = field(default_factory=Shapes)
    _said: Said = field(default_factory=dict)

    def add(self, page: LogPage) -> None:
        """Reads one page."""
        self.streams.add(page.stream)
        newest = page.times_ms[-1] if page.times_ms else None
        if newest is not None:
            self.last_ms = newest if self.last_ms is None else max(self.last_ms, newest)
        if page.first_line == 1:
            time_ms = page.times_ms[0] if page.times_ms else None
            self.events.append(EventRow(page.stream, page.node, 1, -1, time_ms, None, "", "first-line", ""))
        ends = _line_ends(page.data)
        self.lines += len(ends)
        # Rows make no cycles; looking for some among thousands of new tuples takes a fifth of the time.
        collecting = gc.isenabled()
        gc.disable()
        try:
            self._read(page, ends)
        finally:
            if collecting:
                gc.enable()
        if not self.steps:
            for line in page.data.split(b"\n", SHAPE_LINES)[:SHAPE_LINES]:
                if len(line) <= LONGEST_SHAPE:
                    for fragment in fragments(line.decode("utf-8", "replace")):
                        self.shapes.add(fragment.text)

    def _read(self, page: LogPage, ends: Ends) -> None:
        page_rows = _PageRows(page, self.events, self._said)
        own = bool(self.extra or self.further)
        # A pattern of the user's has no literals to look for: it is asked about every line.
        wanted = _every_line(ends) if own else _candidates(page.data, ends)
        whole = page.data.decode("ascii") if page.data.isascii() else ""
        together: dict[Readers, list[Piece]] = {}
        for offset, start, end, readers in wanted:
            end = min(end, start + LONGEST_LINE)
            line = whole[start:end] or page.data[start:end].decode("utf-8", "replace")
            written_ms = page.times_ms[offset] if page.times_ms else None
            if own:
                readers = Readers((*self.extra, *readers.families, *self.further), readers.events)
            pieces = fragments(line)
            for part, (text, rank, host, nested, copied_ms) in enumerate(pieces):
                time_ms = written_ms if copied_ms is None else copied_ms
                piece = (text, page.first_line + offset, part, time_ms, rank, host, nested)
                if readers.many is not None and len(pieces) == 1:
                    together.setdefault(readers, []).append(piece)
                else:
                    page_rows.read(piece, readers)
        for readers, alike in together.items():
            page_rows.read_many(alike, readers)
        page_rows.add_to(self.steps)


Piece = tuple[str, int, int, int | None, int | None, str, bool]
"""A fragment in its place: text, line, part of the line, time, rank, host, nested."""


@dataclass(slots=True)
class _PageRows:
    """What was read on one page."""

    page: LogPage
    events: list[EventRow]
    said: Said
    places: list[Place] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    blocks: list[tuple[int, Columns]] = field(default_factory=list)

    def read(self, piece: Piece, readers: Readers) -> None:
        """The readings and events of one piece of a line."""
        text, line, part, time_ms, rank, host, nested = piece
        for family in readers.families:
            # The first that knows the text is the one: the user's, then exact ones, then generic ones.
            if found := list(family(text)):
                if time_ms is None:
                    time_ms = written_at_ms(text)
                for reading in found:
                    if reading.format:
                        writer = reading.rank if rank is None else rank
                        writer = NOBODY if writer is None else writer
                        self.places.append((line, part, time_ms, writer, host, nested or reading.nested))
                        self.readings.append(reading)
                break
        self.read_events(piece, readers)

    def read_events(self, piece: Piece, readers: Readers) -> None:
        text, line, part, time_ms, rank, host, _ = piece
        for read_event in readers.events:
            for kind, said in read_event(text):
                if time_ms is None:
                    time_ms = written_at_ms(text)
                row = EventRow(self.page.stream, self.page.node, line, part, time_ms, rank, host, kind, said)
                if kind in SAID_ONCE:
                    # The first line that says it, whichever page comes first.
                    place = self.said.setdefault((row.stream, rank, host, kind, said), len(self.events))
                    if place < len(self.events):
                        self.events[place] = min(row, self.events[place], key=_in_stream)
                        continue
                self.events.append(row)

    def read_many(self, pieces: Sequence[Piece], readers: Readers) -> None:
        """The same for pieces that one family may read together."""
        assert readers.many is not None
        taken: set[int] = set()
        for at, columns in readers.many([piece[0] for piece in pieces]):
            taken.update(at)
            known = [pieces[place] for place in at]
            texts, lines, parts, times, ranks, hosts, nested = zip(*known, strict=True)
            if None in times:
                times = tuple(written_at_ms(text) if ms is None else ms for text, ms in zip(texts, times, strict=True))
            printed = columns.get("rank") or repeat(None)
            ranks = tuple(own if rank is None else rank for rank, own in zip(ranks, printed, strict=False))
            ranks = tuple(NOBODY if rank is None else rank for rank in ranks)
            where = {"line": lines, "part": parts, "time_ms": times, "rank": ranks, "host": hosts, "nested": nested}
            self.blocks.append((len(known), {**columns, **where}))
            for piece in known if readers.events else ():
                self.read_events(piece, readers)
        for place, piece in enumerate(pieces):
            if place not in taken:
                self.read(piece, readers)

    def add_to(self, rows: Rows) -> None:
        rows.add(self.page.stream, self.page.node, self.places, self.readings)
        for size, columns in self.blocks:
            rows.add_columns(self.page.stream, self.page.node, size, columns)


class Readers(NamedTuple):
    """Who is to be asked about a line: families in their order, and readers of facts and marks."""

    families: tuple[Recogniser, ...]
    events: tuple[EventReader, ...]
    many: ManyReader | None = None
    """Of the first family, where it can read many lines together."""


def _in_stream(row: EventRow) -> tuple[int, int]:
    return row.line, row.part


Ends = NDArray[np.int64]
"""Where each line of a page ends."""


def _line_ends(data: bytes) -> Ends:
    breaks = np.flatnonzero(np.frombuffer(data, np.uint8) == _LINE_FEED)
    return np.append(breaks, len(data))


Wanted = Iterable[tuple[int, int, int, Readers]]
"""Lines to look at: (index on the page, where it starts, where it ends, who is to be asked)."""


def _candidates(data: bytes, ends: Ends) -> Wanted:
    """The lines that hold a gate of any recogniser, with the recognisers whose gates they hold, in one scan."""
    found = _SCAN.find_matches_as_indexes(data, overlapping=True)
    if not found:
        return ()
    gates, places, _ = zip(*found, strict=True)
    rows = np.searchsorted(ends, np.array(places))
    # Matches come in the order of their ends, so lines come in order.
    firsts = np.flatnonzero(np.diff(rows, prepend=-1))
    owners = _OWNERS[np.array(gates)]
    masks = (np.bitwise_or.reduceat(word, firsts).tolist() for word in owners.T)
    return _lines(ends, rows[firsts], map(_readers, zip(*masks, strict=True)))


def _every_line(ends: Ends) -> Wanted:
    return _lines(ends, np.arange(len(ends)), repeat(_ALL))


def _lines(ends: Ends, rows: Ends, readers: Iterable[Readers]) -> Wanted:
    starts = np.where(rows > 0, ends[rows - 1] + 1, 0)
    return zip(rows.tolist(), starts.tolist(), ends[rows].tolist(), readers, strict=False)


@cache
def _readers(words: tuple[int, ...]) -> Readers:
    mask = sum(word << 64 * place for place, word in enumerate(words))
    asked = [family for place, family in enumerate(_FAMILIES) if mask >> place & 1]
    return Readers(
        tuple(family.read for family in asked),
        tuple(read for place, read in enumerate(_EVENTS, start=len(_FAMILIES)) if mask >> place & 1),
        getattr(asked[0], "read_many", None) if asked else None,
    )


_LINE_FEED = ord("\n")
_FAMILIES = families()
_EVENTS: tuple[EventReader, ...] = (facts.read, marks.read)
_OWNERS_OF: dict[str, int] = {}
for _place, _gates in enumerate((*(family.GATES for family in _FAMILIES), facts.GATES, marks.GATES)):
    for _gate in _gates:
        _OWNERS_OF[_gate] = _OWNERS_OF.get(_gate, 0) | 1 << _place
_WORDS = (len(_FAMILIES) + len(_EVENTS)) // 64 + 1
_OWNERS = np.array(
    [[owners >> 64 * word & (1 << 64) - 1 for word in range(_WORDS)] for owners in _OWNERS_OF.values()], np.uint64
)
_SCAN = BytesAhoCorasick([gate.encode() for gate in _OWNERS_OF], implementation=Implementation.DFA)
_ALL = Readers(tuple(family.read for family in _FAMILIES), _EVENTS)
