"""A page as the pieces of its lines: most lines are one, redraws and glued tags are cut apart and know their line."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from monitor.model import LogPage
from monitor.parse.envelope import apart, redraws
from monitor.parse.keyed import Bytes, Ints

# A line that is longer holds hundreds of redraws at best; what lies beyond is not read.
LONGEST_LINE = 1 << 20
# A tag that ends further in, behind a color, stands behind other words.
_FURTHEST_TAG = 34
# Without these a line has no wrapping but tags and labels.
_CONTROLS = (b"\r", b"\b", b"\x1b", b"#0")


@dataclass(frozen=True)
class Pieces:
    """The pieces of a page, one a line of ``data``."""

    data: bytes
    ends: Ints
    line: Ints
    """Of the page, from 0."""
    part: Ints

    @cached_property
    def starts(self) -> Ints:
        """Where each begins in ``data``."""
        return np.concatenate(([0], self.ends[:-1] + 1))

    @cached_property
    def plain(self) -> bool:
        """There are no wrappings but tags and labels."""
        return not any(mark in self.data for mark in _CONTROLS)

    def __getitem__(self, at: int) -> bytes:
        return self.data[int(self.starts[at]) : int(self.ends[at])]

    def text(self, at: int) -> str:
        return self[at][:LONGEST_LINE].decode("utf-8", "replace")


def pieces_of(page: LogPage) -> Pieces:
    """The page cut where a line holds redraws, or words of several processes."""
    wrapped = _wrapped(page.data, page.ends).tolist()
    if not wrapped:
        return Pieces(page.data, page.ends, np.arange(page.count), np.zeros(page.count, np.int64))
    lines = page.data.split(b"\n")
    found: list[bytes] = []
    counts = np.ones(len(lines), np.int64)
    begun = 0
    for at in wrapped:
        found += lines[begun:at]
        begun = at + 1
        line = lines[at][:LONGEST_LINE]
        if (cut := redraws(line)) is None:
            cut = [piece.encode("utf-8", "replace") for piece in apart(line.decode("utf-8", "replace"))]
        found += cut
        counts[at] = len(cut)
    found += lines[begun:]
    data = b"\n".join(found)
    line = np.repeat(np.arange(len(lines)), counts)
    ends = np.cumsum([len(piece) + 1 for piece in found]) - 1 if found else np.empty(0, np.int64)
    return Pieces(data, ends, line, np.arange(len(line)) - np.repeat(np.cumsum(counts) - counts, counts))


def _wrapped(data: bytes, ends: Ints) -> Ints:
    """The lines to be cut."""
    page = np.frombuffer(data, np.uint8)
    found = [_places(page, mark) for mark in (b"\r", b"\b") if mark in data]
    if found and b"\r" in data:
        # At the end of a line it is that of another system.
        found[0] = found[0][~np.isin(found[0] + 1, ends, assume_unique=True)]
    if b"#0" in data:
        found += [_places(page, mark) for mark in (b"#01", b"#03")]
    lines = [np.searchsorted(ends, at) for at in found]
    if b"]<std" in data or b",mpirank:" in data:
        tags = np.concatenate([_places(page, b"]<std"), _places(page, b",mpirank:")])
        of = np.searchsorted(ends, tags)
        far = tags - np.where(of > 0, ends[of - 1] + 1, 0) > _FURTHEST_TAG
        lines.append(of[far])
    return np.unique(np.concatenate(lines)) if lines else np.empty(0, np.int64)


def _places(page: Bytes, text: bytes) -> Ints:
    """Where a text stands."""
    at = np.flatnonzero(page[: len(page) - len(text) + 1] == text[0])
    for place, byte in enumerate(text[1:], start=1):
        at = at[page[at + place] == byte]
    return at
