"""The first lines of each log format, kept as they stand, so that a user sees what was read. Bounded, whatever comes."""

from __future__ import annotations

from collections.abc import Mapping

#: So many lines of each kind of line are kept.
EACH = 4
# Kinds beyond these have no example: a log of thousands of different progress bars.
_MOST_KINDS = 256
_LONGEST_LINE = 400

Kind = tuple[str, str]
"""Format and, of a progress bar, its description."""
Where = tuple[str, int]
"""Stream and number of the line, as in raw rows."""


class Examples:
    """Collects lines from pages in any order; those that stand first in the first stream stay."""

    def __init__(self) -> None:
        self._lines: dict[Kind, dict[Where, str]] = {}

    def offer(self, kind: Kind, where: Where, text: str) -> None:
        """A line of that kind."""
        lines = self._lines.get(kind)
        if lines is None:
            if len(self._lines) >= _MOST_KINDS:
                return
            lines = self._lines[kind] = {}
        lines[where] = text[:_LONGEST_LINE]
        if len(lines) > EACH:
            del lines[max(lines)]

    def texts(self) -> Mapping[Where, str]:
        """All that are kept."""
        return {where: text for lines in self._lines.values() for where, text in lines.items()}
