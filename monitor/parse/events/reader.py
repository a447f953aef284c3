"""A table of what lines say, one row per kind of event; one scan of a line finds the rows that may know it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ahocorasick_rs import AhoCorasick, Implementation

#: An event's text is cut here; a traceback's last line may be a whole tensor.
LONGEST_TEXT = 500
# What an event is about stands at the head of its line, but for printed JSON.
_LOOKED_AT = 16_384


def whole(match: re.Match[str]) -> str:
    """The text of an event that is its whole line."""
    return match.string.strip()[:LONGEST_TEXT]


def captured(match: re.Match[str]) -> str:
    """The text of an event that is what its pattern names ``said``."""
    return match["said"].strip()[:LONGEST_TEXT]


class Event(NamedTuple):
    """One row: an event's kind, literal texts one of which stands in every such line, and the pattern that makes sure."""

    kind: str
    gates: tuple[str, ...]
    pattern: re.Pattern[str]
    text: Callable[[re.Match[str]], str | None] = whole
    """What is kept of it; None for nothing worth an event."""
    many: bool = False
    """One line may hold several."""
    whole_line: bool = False
    """Its line may be very long and is looked at to its end."""


def event(kind: str, gates: str, pattern: str, text: Callable[[re.Match[str]], str | None] = whole) -> Event:
    """A row of gates with ``|`` between them, and a pattern that is yet to be compiled."""
    return Event(kind, tuple(gates.split("|")), re.compile(pattern), text)


class EventTable:
    """Rows that read a line together; ``gates`` are the literals, one of which stands in every line they can read."""

    def __init__(self, rows: Sequence[Event], one_a_line: bool = False) -> None:
        self.rows = tuple(rows)
        self._one = one_a_line
        owners: dict[str, list[int]] = {}
        for place, row in enumerate(self.rows):
            for gate in row.gates:
                owners.setdefault(gate, []).append(place)
        self.gates = tuple(owners)
        self._owners = tuple(owners.values())
        self._scan = AhoCorasick(list(owners), implementation=Implementation.DFA)

    def read(self, text: str) -> Iterator[tuple[str, str]]:
        """(kind, text) of each event in ``text``, in the order of the rows; of the first row alone where so set up."""
        found = self._scan.find_matches_as_indexes(text, overlapping=True)
        if not found:
            return
        head = text[:_LOOKED_AT]
        for place in sorted({place for gate, _, _ in found for place in self._owners[gate]}):
            row = self.rows[place]
            line = text if row.whole_line else head
            matches = row.pattern.finditer(line) if row.many else filter(None, (row.pattern.search(line),))
            known = False
            for match in matches:
                if (kept := row.text(match)) is not None:
                    known = True
                    yield row.kind, kept
            if known and self._one:
                return
