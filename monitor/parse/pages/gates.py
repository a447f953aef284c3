"""Who may know a line? The literal texts of all recognizers, looked for at once in a line or in the key of its shape."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple

import numpy as np
from ahocorasick_rs import BytesAhoCorasick, Implementation
from numpy.typing import NDArray

from monitor.parse.events import facts, marks
from monitor.parse.family import Recogniser, families
from monitor.parse.pages.keyed import keys
from monitor.parse.reports import delimited, pieces

__all__ = ["Recogniser", "families"]

EventReader = Callable[[str], Iterable[tuple[str, str]]]
Lines = NDArray[np.int64]
"""Indexes of lines on a page."""


class Readers(NamedTuple):
    """Who is to be asked about a line: families in their order, and readers of facts and marks."""

    families: tuple[Recogniser, ...]
    events: tuple[EventReader, ...]
    pieces: bool = False
    """What no family knows may be a piece of a report (``monitor.parse.reports.pieces``)."""


def readers_of(line: bytes, tabular: bool = False) -> Readers:
    """Those whose gates the line holds; ``tabular`` says that it may be the row of a table, which has none."""
    owners = _OF_TABLES if tabular else 0
    for gate, _, _ in _SCAN.find_matches_as_indexes(line, overlapping=True):
        owners |= _OWNERS[gate]
    return _readers(owners)


def may_know(shape: bytes) -> bool:
    """Whether a line with this key may hold a gate."""
    return bool(_SCAN_OF_KEYS.find_matches_as_indexes(shape))


@cache
def _readers(owners: int) -> Readers:
    asked = tuple(read for place, read in enumerate(_FAMILIES) if owners >> place & 1)
    events = tuple(read for place, read in enumerate(_EVENTS, start=len(_FAMILIES)) if owners >> place & 1)
    return Readers(asked, events, bool(owners >> len(_FAMILIES) + len(_EVENTS) & 1))


_FAMILIES = tuple(family.read for family in families())
_EVENTS: tuple[EventReader, ...] = (facts.read, marks.read, delimited.read)
_OF_TABLES = 1 << len(_FAMILIES) + _EVENTS.index(delimited.read)
_OWNERS_OF: dict[bytes, int] = {}
for _place, _gates in enumerate(
    (*(family.gates for family in families()), facts.GATES, marks.GATES, delimited.GATES, pieces.GATES)
):
    for _gate in _gates:
        # A tab may be printed as its octal number, which is taken off before anybody reads.
        for _spelled in {_gate.encode(), _gate.replace("#011", "\t").encode()}:
            _OWNERS_OF[_spelled] = _OWNERS_OF.get(_spelled, 0) | 1 << _place
_OWNERS = tuple(_OWNERS_OF.values())
_SCAN = BytesAhoCorasick(list(_OWNERS_OF), implementation=Implementation.DFA)
_SCAN_OF_KEYS = BytesAhoCorasick(
    sorted({keys(gate) for gate in _OWNERS_OF}), implementation=Implementation.ContiguousNFA
)
#: Everybody, for lines that a pattern without literals is asked about.
ALL = Readers(_FAMILIES, _EVENTS, pieces=True)
