"""A page of log lines to raw rows: each line by itself, with no memory of any other line.

So the order in which pages arrive, how they are cut, late lines and restarts cannot matter: what relates lines to
one another is done in ``monitor.parse.assemble`` over all rows.
"""

from __future__ import annotations

import gc
import importlib
import pkgutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import NamedTuple

import numpy as np
from ahocorasick_rs import AhoCorasick, Implementation

from monitor.model import LogPage
from monitor.parse import facts, formats, marks
from monitor.parse.envelope import fragments, written_at_ms
from monitor.parse.rows import EventRow, Reading, StepRow
from monitor.parse.shapes import Shapes

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
    steps: list[StepRow] = field(default_factory=list)
    events: list[EventRow] = field(default_factory=list)
    lines: int = 0
    last_ms: int | None = None
    """Time of the newest line, where the source has times."""
    streams: set[str] = field(default_factory=set)
    shapes: Shapes = field(default_factory=Shapes)

    def add(self, page: LogPage) -> None:
        """Reads one page."""
        self.lines += len(page.lines)
        self.streams.add(page.stream)
        newest = page.times_ms[-1] if page.times_ms else None
        if newest is not None:
            self.last_ms = newest if self.last_ms is None else max(self.last_ms, newest)
        if page.first_line == 1 and page.lines:
            self.events.append(EventRow(page.stream, page.node, 1, -1, page.times_ms[0], None, "", "first-line", ""))
        # A pattern of the user's has no literals to look for: it is asked about every line.
        wanted = dict.fromkeys(range(len(page.lines)), _ALL) if self.extra or self.further else _candidates(page.lines)
        # Rows make no cycles; looking for some among thousands of new tuples takes a fifth of the time.
        collecting = gc.isenabled()
        gc.disable()
        try:
            for offset, readers in wanted.items():
                self._add_line(page, offset, readers)
        finally:
            if collecting:
                gc.enable()
        if not self.steps:
            for line in page.lines[:SHAPE_LINES]:
                if len(line) <= LONGEST_SHAPE:
                    for fragment in fragments(line):
                        self.shapes.add(fragment.text)

    def _add_line(self, page: LogPage, offset: int, readers: Readers) -> None:
        number = page.first_line + offset
        written_ms = page.times_ms[offset]
        for part, fragment in enumerate(fragments(page.lines[offset][:LONGEST_LINE])):
            text = fragment.text
            time_ms = written_ms if fragment.time_ms is None else fragment.time_ms
            for reading in self._readings(text, readers.families):
                if time_ms is None:
                    time_ms = written_at_ms(text)
                if fragment.nested:
                    reading = reading._replace(nested=True)
                rank = reading.rank if fragment.rank is None else fragment.rank
                self.steps.append(StepRow(page.stream, page.node, number, part, time_ms, rank, fragment.host, reading))
            for read_event in readers.events:
                for kind, said in read_event(text):
                    if time_ms is None:
                        time_ms = written_at_ms(text)
                    self.events.append(
                        EventRow(
                            page.stream, page.node, number, part, time_ms, fragment.rank, fragment.host, kind, said
                        )
                    )

    def _readings(self, text: str, recognisers: tuple[Recogniser, ...]) -> Iterable[Reading]:
        """What the first recogniser that knows the text reads in it: the user's, then exact ones, then generic ones."""
        own = self.extra or self.further
        for recogniser in (*self.extra, *recognisers, *self.further) if own else recognisers:
            found = list(recogniser(text))
            if found:
                return [reading for reading in found if reading.format]
        return ()


class Readers(NamedTuple):
    """Who is to be asked about a line: families in their order, and readers of facts and marks."""

    families: tuple[Recogniser, ...]
    events: tuple[EventReader, ...]


def _candidates(lines: Sequence[str]) -> dict[int, Readers]:
    """Index of each line that holds a gate of any recogniser -> the recognisers whose gates it holds, in one scan."""
    found = _SCAN.find_matches_as_indexes("\n".join(lines), overlapping=True)
    if not found:
        return {}
    starts = np.cumsum(np.fromiter(map(len, lines), np.int64, len(lines)) + 1)
    gates, places, _ = zip(*found, strict=True)
    rows = np.searchsorted(starts, np.array(places), side="right").tolist()
    masks: dict[int, int] = {}
    for row, gate in zip(rows, gates, strict=True):
        masks[row] = masks.get(row, 0) | _OWNERS[gate]
    return {row: _readers(masks[row]) for row in sorted(masks)}


@cache
def _readers(mask: int) -> Readers:
    events = mask >> len(_READ)
    return Readers(
        tuple(read for bit, read in enumerate(_READ) if mask >> bit & 1),
        tuple(read for bit, read in enumerate(_EVENTS) if events >> bit & 1),
    )


_FAMILIES = families()
_READ: tuple[Recogniser, ...] = tuple(family.read for family in _FAMILIES)
_EVENTS: tuple[EventReader, ...] = (facts.read, marks.read)
_GATES: dict[str, int] = {}
for _bit, _gates in enumerate((*(family.GATES for family in _FAMILIES), facts.GATES, marks.GATES)):
    for _gate in _gates:
        _GATES[_gate] = _GATES.get(_gate, 0) | 1 << _bit
_OWNERS = tuple(_GATES.values())
_SCAN = AhoCorasick(list(_GATES), implementation=Implementation.DFA)
_ALL = Readers(_READ, _EVENTS)
