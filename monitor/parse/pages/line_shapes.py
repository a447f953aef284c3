"""The shapes of a log's lines: which of them anybody may know, and what was learned of each. Bounded, whatever is printed."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from monitor.parse.pages.gates import may_know
from monitor.parse.pages.keyed import Ints, keys, without_hex
from monitor.parse.pages.page_pieces import Pieces
from monitor.parse.pages.plans import ReadingPlan
from monitor.parse.reports import delimited

#: So many shapes are remembered; lines of others are read one by one.
MOST_SHAPES = 20_000
#: So many plans has a shape for the numbers that belong to it; so many characters has a line at most that is remembered.
MOST_PLANS, _LONGEST = 256, 2_000
_NEW = -3
NOBODYS, KNOWN, TABULAR, HEX = 0, 1, 2, 4


@dataclass(slots=True)
class Shape:
    """What was learned of one shape that somebody may know."""

    alone: bool = False
    """There is no plan: its lines are read one by one."""
    seen: int = 0
    planned: int = 0
    """Of so many lines so many were read by a plan."""
    literals: tuple[int, ...] = ()
    """Runs of digits that belong to the shape: lines with others there have a plan of their own."""
    plans: dict[tuple[int, ...], ReadingPlan] = field(default_factory=dict)
    is_rest: bool = False
    """These are lines that a plan of a shape does not fit."""
    rests: dict[tuple[tuple[int, ...], bool], Shape] = field(default_factory=dict)
    """Such lines, by the numbers that the plan is kept by, and whether it was wrong about them or could not tell."""


class LineShapes:
    """All shapes of one log."""

    def __init__(self, most: int = MOST_SHAPES) -> None:
        self._most = most
        self._ids: dict[bytes, int] = {}
        self.flags = np.array([*[KNOWN] * 1024, KNOWN | TABULAR, KNOWN], np.uint8)
        """By number; -1 and -2 is what is not remembered."""
        self._shapes: dict[tuple[int, bool], Shape] = {}

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def planned(self) -> int:
        """How many lines were read by plans."""
        return sum(shape.planned for shape in self._shapes.values())

    def of(self, number: int, timed: bool) -> Shape:
        """The shape with that number of lines whose time the source knows, or does not."""
        if (found := self._shapes.get((number, timed))) is None:
            found = self._shapes[number, timed] = Shape(alone=number < 0)
        return found

    def numbers(self, pieces: Pieces, everybody: bool) -> Ints:
        """The number of each piece's shape, below 0 where there is none. With ``everybody`` none is nobody's."""
        if not len(pieces.ends):
            return np.empty(0, np.int64)
        known = keys(pieces.data).split(b"\n")
        out = np.fromiter(map(self._ids.get, known, [_NEW] * len(known)), np.int64, len(known))
        unknown = np.flatnonzero(out == _NEW)
        if len(unknown):
            theirs = [known[at] for at in unknown.tolist()]
            new = dict.fromkeys(theirs, 0)
            new.update(zip(reversed(theirs), reversed(unknown.tolist()), strict=True))
            lines = [pieces[at] for at in new.values()]
            ends = np.cumsum([len(line) + 1 for line in lines]) - 1
            tabular = set(delimited.may_be_rows(b"\n".join(lines), ends).tolist())
            found = {key: self._number(key, at in tabular, everybody) for at, key in enumerate(new)}
            out[unknown] = np.fromiter(map(found.__getitem__, theirs), np.int64, len(theirs))
        return out

    def _number(self, key: bytes, tabular: bool, everybody: bool) -> int:
        if (known := self._ids.get(key)) is not None:
            return known
        flags = KNOWN if everybody or tabular or may_know(key) else NOBODYS
        plain = without_hex(key)
        if plain != key:
            # Each line has another key, which is not worth remembering.
            key, flags = plain, flags | HEX
            if (known := self._ids.get(key)) is not None:
                return known
        if len(self._ids) >= self._most or len(key) > _LONGEST:
            return -2 if tabular else -1
        number = self._ids[key] = len(self._ids)
        if number + 2 >= len(self.flags):
            self.flags = np.concatenate([self.flags[:-2], np.full(len(self.flags), KNOWN, np.uint8), self.flags[-2:]])
        self.flags[number] = flags | (TABULAR if tabular else 0)
        return number
