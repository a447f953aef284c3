"""Numbers like which a plan was held against the readers: their digits, a zero in front or none, and their order of size."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.parse.pages.keyed import CLASSES, Bytes, Ints, RunsOfLines

_CLASSES = CLASSES + 3
_LENGTHS = 2048
# So many ways in which a plan was wrong are remembered; beyond, lines have to be alike in all their classes.
_MOST_WRONG = 64
#: A line of more numbers is no report of one step.
MOST_RUNS = 48
_ODD = np.random.default_rng(1).integers(1, 2**62, 2 * MOST_RUNS) * 2 + 1


class Classes(NamedTuple):
    """Of lines of one shape."""

    numbers: Bytes
    """A class of each number of each line, a row each number, and below how each compares with the next."""
    lengths: Ints
    """Of the rest of the line."""

    def of(self, at: Ints) -> Classes:
        """Those of some of the lines."""
        return Classes(self.numbers[:, at], self.lengths[at])

    def whole(self) -> Ints:
        """One number for all the classes of a line together."""
        out: Ints = _ODD[: len(self.numbers)] @ self.numbers.astype(np.int64)
        return out


def classes(runs: RunsOfLines, lengths: Ints) -> Classes:
    """The classes of lines, of which the rest is so long."""
    values = runs.values
    out = np.empty((max(0, 2 * len(values) - 1), values.shape[1]), np.uint8)
    out[: len(values)] = runs.classes
    order = out[len(values) :]
    np.subtract(values[:-1] > values[1:], values[:-1] < values[1:], out=order.view(np.int8), dtype=np.int8)
    order += np.uint8(CLASSES + 1)
    return Classes(out, lengths)


class Verified:
    """What was held against the readers for one shape.

    Classes are looked at one by one as long as that tells the lines about which the plan is right from those about which it
    was wrong. Two odd lines may have all parts of an ordinary one between them: from then on a line has to be like another in
    all of them together.
    """

    def __init__(self, runs: int) -> None:
        self.runs = runs
        self._seen = np.zeros((max(0, 2 * runs - 1), _CLASSES), bool)
        self._rows = np.arange(len(self._seen))[:, None] * _CLASSES
        # Longer lines than there is room for are never good.
        self._lengths = np.zeros(_LENGTHS, bool)
        self._right: set[int] = set()
        self._wrong: dict[int, Classes] = {}
        self.together = False
        """Lines have to be like another one in all their classes."""

    def has(self, lines: Classes) -> NDArray[np.bool_]:
        """Which lines are like some that were held against the readers."""
        out = self._parts(lines)
        if self._wrong and out.any():
            out &= ~self.lacks(lines)
            if self.together:
                out &= np.isin(lines.whole(), list(self._right))
        return out

    def lacks(self, lines: Classes) -> NDArray[np.bool_]:
        """Which lines are like some that the plan was wrong about."""
        if not self._wrong:
            return np.zeros(len(lines.lengths), bool)
        out: NDArray[np.bool_] = np.isin(lines.whole(), list(self._wrong))
        return out

    def add(self, line: Classes, agrees: bool) -> None:
        """A line was held against the readers."""
        (whole,) = line.whole().tolist()
        if agrees:
            self._seen.put(self._rows + line.numbers, True)
            self._lengths[line.lengths[line.lengths < _LENGTHS - 1]] = True
            self._right.add(whole)
        elif len(self._wrong) < _MOST_WRONG:
            self._wrong[whole] = line
        else:
            self.together = True
        self.together = self.together or any(self._parts(wrong).any() for wrong in self._wrong.values())

    def _parts(self, lines: Classes) -> NDArray[np.bool_]:
        out: NDArray[np.bool_] = self._lengths[np.minimum(lines.lengths, _LENGTHS - 1)]
        out &= self._seen.take(self._rows + lines.numbers).all(axis=0)
        return out
