"""A page of log lines to raw rows: each line by itself, with no memory of any other line.

So the order in which pages arrive, how they are cut, late lines and restarts cannot matter: what relates lines to
one another is done in ``monitor.parse.assemble`` over all rows.
"""

from __future__ import annotations

import gc
import importlib
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import NamedTuple

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

Recogniser = Callable[[str], Iterable[Reading]]
EventReader = Callable[[str], Iterable[tuple[str, str]]]


def families() -> tuple[ModuleType, ...]:
    """The modules of ``monitor.parse.formats`` by name, those marked GENERIC last."""
    names = sorted(module.name for module in pkgutil.iter_modules(formats.__path__))
    found = [importlib.import_module(f"{formats.__name__}.{name}") for name in names]
    return tuple(sorted(found, key=lambda family: bool(getattr(family, "GENERIC", False))))


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
        places: list[Place] = []
        readings: list[Reading] = []
        own = bool(self.extra or self.further)
        # A pattern of the user's has no literals to look for: it is asked about every line.
        wanted = dict.fromkeys(range(len(ends)), _ALL) if own else _candidates(page.data, ends)
        for offset, readers in wanted.items():
            number = page.first_line + offset
            written_ms = page.times_ms[offset] if page.times_ms else None
            start = ends[offset - 1] + 1 if offset else 0
            line = page.data[start : min(ends[offset], start + LONGEST_LINE)].decode("utf-8", "replace")
            families = (*self.extra, *readers.families, *self.further) if own else readers.families
            for part, (text, rank, host, nested, copied_ms) in enumerate(fragments(line)):
                time_ms = written_ms if copied_ms is None else copied_ms
                for family in families:
                    # The first recogniser that knows the text is the one: the user's, then exact ones, then generic ones.
                    if found := list(family(text)):
                        for reading in found:
                            if reading.format:
                                if time_ms is None:
                                    time_ms = written_at_ms(text)
                                writer = reading.rank if rank is None else rank
                                places.append(
                                    Place(
                                        number,
                                        part,
                                        time_ms,
                                        NOBODY if writer is None else writer,
                                        host,
                                        nested or reading.nested,
                                    )
                                )
                                readings.append(reading)
                        break
                for read_event in readers.events:
                    for kind, said in read_event(text):
                        if time_ms is None:
                            time_ms = written_at_ms(text)
                        self.events.append(
                            EventRow(page.stream, page.node, number, part, time_ms, rank, host, kind, said)
                        )
        self.steps.add(page.stream, page.node, places, readings)


class Readers(NamedTuple):
    """Who is to be asked about a line: families in their order, and readers of facts and marks."""

    families: tuple[Recogniser, ...]
    events: tuple[EventReader, ...]


Ends = NDArray[np.int64]
"""Where each line of a page ends."""


def _line_ends(data: bytes) -> Ends:
    breaks = np.flatnonzero(np.frombuffer(data, np.uint8) == _LINE_FEED)
    return np.append(breaks, len(data))


def _candidates(data: bytes, ends: Ends) -> dict[int, Readers]:
    """Index of each line that holds a gate of any recogniser -> the recognisers whose gates it holds, in one scan."""
    found = _SCAN.find_matches_as_indexes(data, overlapping=True)
    if not found:
        return {}
    gates, places, _ = zip(*found, strict=True)
    rows = np.searchsorted(ends, np.array(places))
    # Matches come in the order of their ends, so lines come in order.
    firsts = np.flatnonzero(np.diff(rows, prepend=-1))
    masks = np.bitwise_or.reduceat(_OWNERS[np.array(gates)], firsts, axis=0)
    return dict(zip(rows[firsts].tolist(), map(_readers, map(bytes, masks)), strict=True))


@cache
def _readers(mask: bytes) -> Readers:
    asked = [bool(bit) for bit in np.unpackbits(np.frombuffer(mask, np.uint8))]
    return Readers(
        tuple(read for read, ask in zip(_READ, asked, strict=False) if ask),
        tuple(read for read, ask in zip(_EVENTS, asked[len(_READ) :], strict=False) if ask),
    )


_LINE_FEED = ord("\n")
_FAMILIES = families()
_READ: tuple[Recogniser, ...] = tuple(family.read for family in _FAMILIES)
_EVENTS: tuple[EventReader, ...] = (facts.read, marks.read)
_OWNERS_OF: dict[str, list[int]] = {}
for _place, _gates in enumerate((*(family.GATES for family in _FAMILIES), facts.GATES, marks.GATES)):
    for _gate in _gates:
        _OWNERS_OF.setdefault(_gate, []).append(_place)
_OWNERS = np.packbits(
    [[place in owners for place in range(len(_READ) + len(_EVENTS))] for owners in _OWNERS_OF.values()], axis=1
)
_SCAN = BytesAhoCorasick([gate.encode() for gate in _OWNERS_OF], implementation=Implementation.DFA)
_ALL = Readers(_READ, _EVENTS)
