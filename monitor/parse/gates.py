"""Which lines of a page may anybody know, and who is to be asked about each? One scan for the literals of all
recognizers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from ahocorasick_rs import BytesAhoCorasick, Implementation
from numpy.typing import NDArray

from monitor.parse import delimited, facts, marks, pieces
from monitor.parse.columns import Columns
from monitor.parse.family import Recogniser, families

__all__ = ["Recogniser", "families"]

EventReader = Callable[[str], Iterable[tuple[str, str]]]
ManyReader = Callable[[Sequence[str]], Iterable[tuple[Sequence[int], Columns]]]
"""Texts to (index of each that holds one reading, the readings' columns); the others are left to the family's read."""
Lines = NDArray[np.int64]
"""Indexes of lines on a page."""


class Readers(NamedTuple):
    """Who is to be asked about a line: families in their order, and readers of facts and marks."""

    families: tuple[Recogniser, ...]
    events: tuple[EventReader, ...]
    many: ManyReader | None = None
    """Of the first family that can read many lines together."""
    before: tuple[Recogniser, ...] = ()
    """The families that come before that one."""
    pieces: bool = False
    """What no family knows may be a piece of a report (``monitor.parse.pieces``)."""


def wanted(data: bytes, ends: Lines) -> Iterator[tuple[Readers, Lines]]:
    """The lines that hold a gate of any recognizer, by the recognizers whose gates they hold; ``ends`` of all lines."""
    found = _SCAN.find_matches_as_indexes(data, overlapping=True)
    in_tables = delimited.may_be_rows(data, ends)
    if not found and not len(in_tables):
        return
    gates, places, _ = zip(*found, strict=True) if found else ((), (), ())
    # Matches come in the order of their ends, so lines come in order.
    rows, owners = np.searchsorted(ends, np.array(places, np.int64)), _OWNERS[np.array(gates, np.int64)]
    if len(in_tables):
        rows = np.append(rows, in_tables)
        order = np.argsort(rows, kind="stable")
        rows = rows[order]
        owners = np.append(owners, np.broadcast_to(_OF_TABLES, (len(in_tables), _WORDS)), axis=0)[order]
    firsts = np.flatnonzero(np.diff(rows, prepend=-1))
    masks = np.bitwise_or.reduceat(owners, firsts, axis=0)
    lines = rows[firsts]
    # Numbers sort many times faster than rows of them do.
    group = np.zeros(len(lines), np.int64)
    for word in masks.T:
        group = group * (len(lines) + 1) + np.unique(word, return_inverse=True)[1]
    order = np.argsort(group, kind="stable")
    cuts = np.flatnonzero(np.diff(group[order])) + 1
    for at in np.split(order, cuts):
        yield _readers(tuple(masks[at[0]].tolist())), lines[at]


@cache
def _readers(words: tuple[int, ...]) -> Readers:
    mask = sum(word << 64 * place for place, word in enumerate(words))
    asked = [family for place, family in enumerate(_FAMILIES) if mask >> place & 1]
    return Readers(
        tuple(family.read for family in asked),
        tuple(read for place, read in enumerate(_EVENTS, start=len(_FAMILIES)) if mask >> place & 1),
        pieces=bool(mask >> len(_FAMILIES) + len(_EVENTS) & 1),
    )


_FAMILIES = families()
_EVENTS: tuple[EventReader, ...] = (facts.read, marks.read, delimited.read)
_OWNERS_OF: dict[str, int] = {}
for _place, _gates in enumerate(
    (*(family.gates for family in _FAMILIES), facts.GATES, marks.GATES, delimited.GATES, pieces.GATES)
):
    for _gate in _gates:
        _OWNERS_OF[_gate] = _OWNERS_OF.get(_gate, 0) | 1 << _place
_WORDS = (len(_FAMILIES) + len(_EVENTS) + 1) // 64 + 1


def _words(owners: int) -> list[int]:
    return [owners >> 64 * word & (1 << 64) - 1 for word in range(_WORDS)]


_OWNERS = np.array([_words(owners) for owners in _OWNERS_OF.values()], np.uint64)
_OF_TABLES = np.array(_words(1 << len(_FAMILIES) + _EVENTS.index(delimited.read)), np.uint64)
_SCAN = BytesAhoCorasick([gate.encode() for gate in _OWNERS_OF], implementation=Implementation.DFA)
#: Everybody, for lines that a pattern without literals is asked about.
ALL = Readers(tuple(family.read for family in _FAMILIES), _EVENTS, pieces=True)
