"""Collects the lines that may be reports of a trainer nobody knows, while no reader finds steps; bounded in size.

Nothing is decided here: pages come in any order, and what a shape counts shows only when all its lines are there
(``strangers.learned``). What is kept in the end is the same whatever that order is: what there is no room for is left out
by what its lines say, not by when they came. Bars alone do not end the collecting; any other report does.
"""

from __future__ import annotations

import re
import zlib
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.model import LogPage
from monitor.parse.columns import Floats
from monitor.parse.examples import LONGEST_LINE, keep_first
from monitor.parse.lines.envelope import fragments
from monitor.parse.lines.stamps import stamp, unnamed_ms
from monitor.parse.rows import BARS, UNCOUNTED
from monitor.parse.strangers.lines import Shape, candidates, is_bar, split
from monitor.parse.strangers.roles import plan_of
from monitor.parse.strangers.words import never
from monitor.parse.table import NOBODY, Rows

#: So many numbers are kept; of more those of every second, fourth, ... value of a counter.
MOST_NUMBERS = 4_000_000
#: So many shapes; of more every second, fourth, ... one, chosen by lot.
MOST_SHAPES = 8_000
# A log with so many redraws of bars is no stranger's, whatever they draw.
_MOST_REDRAWS = 20_000
_MOST_REFUSED = 50_000
# Where only one of more than so many shapes is kept nearly every line has one of its own: that is no log of a loop.
_MOST_LOTS = 8
# So many bytes of lines are put by.
_MOST_WAITING = 8 << 20
_DIGITS = re.compile(rb"\d+")


class Writer(NamedTuple):
    """Who wrote a line, as its wrapping tells."""

    stream: str
    node: str
    rank: int
    host: str
    local_rank: int
    task: int


@dataclass(slots=True)
class Lines:
    """The lines of one shape, a row of numbers each."""

    writer: array[int] = field(default_factory=lambda: array("i"))
    line: array[int] = field(default_factory=lambda: array("q"))
    part: array[int] = field(default_factory=lambda: array("i"))
    time_ms: array[float] = field(default_factory=lambda: array("d"))
    numbers: array[float] = field(default_factory=lambda: array("d"))
    texts: dict[tuple[int, int, int], str] = field(default_factory=dict)
    """Of the first lines, by line, part and writer."""

    def __len__(self) -> int:
        return len(self.line)


class Found(NamedTuple):
    """The lines of one shape as columns, in the order of streams and lines."""

    shape: Shape
    writer: NDArray[np.int32]
    line: NDArray[np.int64]
    part: NDArray[np.int32]
    time_ms: Floats
    numbers: Floats
    """A row for each line."""
    texts: Mapping[tuple[int, int, int], str]


class Strangers:
    """The lines by their shapes."""

    def __init__(self, most_numbers: int = MOST_NUMBERS, most_shapes: int = MOST_SHAPES) -> None:
        self._most_numbers, self._most_shapes = most_numbers, most_shapes
        self._shapes: dict[Shape, Lines] = {}
        # Lines that say other work, as shapes and, quicker to come by, with their digits masked.
        self._refused: set[Shape] = set()
        self._masks: set[bytes] = set()
        self._writers: dict[Writer, int] = {}
        self._waiting: list[tuple[str, str, int, bytes, int | None]] = []
        """Stream, node, number, text and time of lines that are yet to be read."""
        self._bytes_waiting = 0
        self._size = 0
        self._every = 1
        self._lots = 1
        self.closed = False
        """A reader knows the log, and will in whatever order its pages come: nothing is to be learned."""

    def add(self, page: LogPage, steps: Rows) -> None:
        """The lines of a page; ``steps`` are the reports that readers found so far."""
        if self.closed:
            return
        if steps.formats - BARS - {UNCOUNTED} or steps.read >= _MOST_REDRAWS:
            self._close()
            return
        ends, times = page.ends, page.times
        for place in candidates(page).tolist():
            data = page.data[ends[place - 1] + 1 if place else 0 : ends[place]]
            if not is_bar(data):
                self._waiting.append((page.stream, page.node, place + page.first_line, data, times[place]))
                self._bytes_waiting += len(data)
        if self._bytes_waiting > _MOST_WAITING:
            self._read_waiting()

    def _read_waiting(self) -> None:
        """Reads what was put by: in most logs a reader finds steps before that is needed."""
        waiting, self._waiting, self._bytes_waiting = self._waiting, [], 0
        for stream, node, number, data, written_ms in waiting:
            if (mask := _DIGITS.sub(b"0", data)) in self._masks:
                continue
            if self._add(stream, node, number, data.decode("utf-8", "replace"), written_ms):
                continue
            if len(self._masks) >= _MOST_REFUSED:
                self._masks.clear()
            self._masks.add(mask)
        if self._size > self._most_numbers:
            self._thin()
        if self._lots > _MOST_LOTS:
            self._close()

    def _close(self) -> None:
        self.closed = True
        self._shapes, self._refused, self._masks, self._writers, self._size = {}, set(), set(), {}, 0
        self._waiting, self._bytes_waiting = [], 0

    def writers(self) -> list[Writer]:
        """By the numbers that lines have them by."""
        self._read_waiting()
        return list(self._writers)

    def found(self) -> list[Found]:
        """The shapes, those with the most lines first, in an order that only what they are decides."""
        self._read_waiting()
        names = [writer.stream for writer in self._writers]
        turn = {name: place for place, name in enumerate(sorted(set(names)))}
        streams = np.array([turn[name] for name in names], np.int64)
        found = []
        for shape, lines in self._shapes.items():
            if len(lines):
                writer, line, part = np.array(lines.writer), np.array(lines.line), np.array(lines.part)
                order = np.lexsort((part, line, streams[writer]))
                numbers = np.array(lines.numbers).reshape(len(line), -1)[order]
                found.append(
                    Found(
                        shape,
                        writer[order],
                        line[order],
                        part[order],
                        np.array(lines.time_ms)[order],
                        numbers,
                        lines.texts,
                    )
                )
        return sorted(found, key=lambda one: (-len(one.line), one.shape))

    def _add(self, stream: str, node: str, number: int, text: str, written_ms: int | None) -> bool:
        """Takes the pieces of a line; False where the words of all of them say other work."""
        good = False
        for part, piece in enumerate(fragments(text)):
            if (one := split(piece.text)) is None or one[0] in self._refused:
                continue
            shape, numbers = one
            lines = self._shapes.get(shape)
            if lines is None:
                if never("\0".join(shape)):
                    if len(self._refused) >= _MOST_REFUSED:
                        self._refused.clear()
                    self._refused.add(shape)
                    continue
                lines = self._new(shape)
            good = True
            if lines is None or (self._every > 1 and not self._is_kept(shape, numbers)):
                continue
            time_ms = written_ms if piece.time_ms is None else piece.time_ms
            if time_ms is None:
                printed = stamp(piece.text)
                time_ms = unnamed_ms(piece.text) if printed is None else printed.ms
            process = (NOBODY if each is None else each for each in (piece.local_rank, piece.task))
            rank = NOBODY if piece.rank is None else piece.rank
            writer = self._writers.setdefault(Writer(stream, node, rank, piece.host, *process), len(self._writers))
            lines.writer.append(writer)
            lines.line.append(number)
            lines.part.append(part)
            lines.time_ms.append(float("nan") if time_ms is None else time_ms)
            lines.numbers.extend(numbers)
            keep_first(lines.texts, (number, part, writer), piece.text[:LONGEST_LINE])
            self._size += len(numbers)
        return good

    def _new(self, shape: Shape) -> Lines | None:
        """Room for the lines of a shape; None where the lot falls on others."""
        if self._lots > 1 and _lot(shape) % self._lots:
            return None
        self._shapes[shape] = Lines()
        while len(self._shapes) > self._most_shapes:
            self._lots *= 2
            self._shapes = {one: kept for one, kept in self._shapes.items() if not _lot(one) % self._lots}
            self._size = sum(len(kept.numbers) for kept in self._shapes.values())
        return self._shapes.get(shape)

    def _thin(self) -> None:
        """Keeps the lines of one of twice as many counts as before, until there is room."""
        while self._size > self._most_numbers:
            self._every *= 2
            for shape, lines in self._shapes.items():
                width = len(lines.numbers) // len(lines) if len(lines) else 0
                rows = np.array(lines.numbers).reshape(len(lines), width)
                keep = np.array([self._is_kept(shape, row) for row in rows.tolist()], bool)
                lines.numbers = array("d", rows[keep].ravel().tobytes())
                for name in ("writer", "line", "part", "time_ms"):
                    column = getattr(lines, name)
                    setattr(lines, name, array(column.typecode, np.array(column)[keep].tobytes()))
                kept = set(zip(lines.line, lines.part, lines.writer, strict=True))
                lines.texts = {place: text for place, text in lines.texts.items() if place in kept}
            self._size = sum(len(lines.numbers) for lines in self._shapes.values())

    def _is_kept(self, shape: Shape, numbers: list[float]) -> bool:
        """Of lines that may count their first count decides, beyond that all their numbers do, by lot."""
        beyond = self._every
        if (known := plan_of(shape)) is not None and known.counters:
            count = numbers[known.counters[0].place]
            if count % min(self._every, _BY_COUNT):
                return False
            beyond //= _BY_COUNT
        return beyond <= 1 or zlib.crc32(repr(numbers).encode()) % beyond == 0


# Of so many counts one is kept; beyond that lines are chosen by lot.
_BY_COUNT = 64


def _lot(shape: Shape) -> int:
    return zlib.crc32("\0".join(shape).encode("utf-8", "replace"))
