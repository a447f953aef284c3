"""What the readers make of one line, in the form in which answers are compared."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from monitor.parse.lines.envelope import Fragment
from monitor.parse.lines.one_line import Known
from monitor.parse.rows import Reading
from monitor.parse.table import PLACE

#: The fields of a row that are numbers, and those that are texts.
TEXTS = ("host", "format", "meaning", "throughput_unit", "bar")
_WRITER = PLACE[2:]
NUMBERS = tuple(dict.fromkeys(name for name in (*_WRITER, *Reading._fields) if name not in TEXTS))
_OF_WRITER = [_WRITER.index(name) for name in NUMBERS if name in _WRITER]
_OF_READING = [Reading._fields.index(name) for name in NUMBERS if name not in _WRITER]
_HOST = _WRITER.index("host")
_WORDS = [Reading._fields.index(name) for name in TEXTS[1:]]
_NAN = math.nan


class Answer(NamedTuple):
    """What the readers make of one line."""

    words: tuple[tuple[bool | str, ...], ...]
    """Of each row: whether it stands beside reports, and its texts."""
    numbers: tuple[tuple[float, ...], ...]
    events: tuple[tuple[str, str], ...]
    text: str
    """The words of the line."""
    bare: bool
    """There is no wrapping around the line."""

    def is_like(self, other: Answer) -> bool:
        """Whether both hold the same rows and events, with the same fields, whatever their numbers."""
        kinds, others = ([kind for kind, _ in one.events] for one in (self, other))
        known, theirs = ([value == value for row in one.numbers for value in row] for one in (self, other))
        return self.words == other.words and kinds == others and self.bare == other.bare and known == theirs


#: About a line that is nothing but wrapping.
NOTHING = Answer((), (), (), "", bare=False)


def answer(known: Known, fragment: Fragment, line: str) -> Answer:
    """In that form."""
    rows = [(False, *row) for row in known.steps] + [(True, *row) for row in known.beside]
    words = tuple((beside, writer[_HOST], *(reading[at] for at in _WORDS)) for beside, writer, reading in rows)
    numbers = tuple(
        tuple(
            _NAN if value is None or value != value else float(value)
            for value in (*(writer[at] for at in _OF_WRITER), *(reading[at] for at in _OF_READING))
        )
        for _, writer, reading in rows
    )
    bare = fragment == Fragment(line, None, "", False)
    return Answer(words, numbers, tuple(known.events), fragment.text, bare)  # type: ignore[arg-type]


Ask = Callable[[bytes], Answer | None]
"""None for a line that a reader fails on, and for one that is not the words of one process."""
