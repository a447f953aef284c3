"""The first lines of each log format, kept as they stand, so that a user sees what was read. Bounded, whatever comes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

#: So many lines of each kind of line are kept.
EACH = 4
# Kinds beyond these have no example: a log of thousands of different progress bars.
_MOST_KINDS = 1024
LONGEST_LINE = 400
_Line = TypeVar("_Line")

Kind = tuple[str, ...]
"""Format and, of a progress bar, its description and its total."""
Where = tuple[str, int]
"""Stream and number of the line, as in raw rows."""
_Place = TypeVar("_Place", Where, tuple[int, int, int])


def keep_first(lines: dict[_Place, _Line], place: _Place, line: _Line) -> None:
    """Adds a line, of which those at the first places stay."""
    lines[place] = line
    if len(lines) > EACH:
        del lines[max(lines)]


class Examples:
    """Collects lines from pages in any order; those that stand first in the first stream stay, of each its first part."""

    def __init__(self) -> None:
        self._lines: dict[Kind, dict[Where, tuple[int, str]]] = {}

    def wants(self, kind: Kind, where: Where, part: int) -> bool:
        """Whether that part of a line would stay as a line of that kind."""
        lines = self._lines.get(kind)
        if lines is None:
            return len(self._lines) < _MOST_KINDS
        return part < lines[where][0] if where in lines else len(lines) < EACH or where < max(lines)

    def offer(self, kind: Kind, where: Where, part: int, text: str) -> None:
        """A line of that kind."""
        if self.wants(kind, where, part):
            lines = self._lines.setdefault(kind, {})
            keep_first(lines, where, (part, text[:LONGEST_LINE]))

    def texts(self) -> Mapping[Where, str]:
        """All that are kept."""
        found: dict[Where, tuple[int, str]] = {}
        for lines in self._lines.values():
            for where, one in lines.items():
                found[where] = min(one, found.get(where, one))
        return {where: text for where, (_, text) in found.items()}
