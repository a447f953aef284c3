"""A page as the pieces of its lines: most lines are one, redraws and glued tags are cut apart and know their line."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from monitor.model import LogPage
from monitor.parse.envelope import Fragment, fragments
from monitor.parse.failed import Failures
from monitor.parse.keyed import Bytes, Ints

# A line that is longer holds hundreds of redraws at best; what lies beyond is not read.
LONGEST_LINE = 1 << 20
# Between what is known of a piece that was cut out of a line, and its text.
_MARK = "\x1e"
_FURTHEST_TAG = 80
# Without these a line has no wrapping but tags and labels.
_CONTROLS = (b"\r", b"\b", b"\x1b", b"#0", _MARK.encode())


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

    def fragments(self, at: int) -> list[Fragment]:
        """A piece without its wrapping: several where it is cut after all, none where it is empty."""
        return unwrapped(self[at], self.plain)


def unwrapped(piece: bytes, plain: bool = False) -> list[Fragment]:
    """The words of one process in a piece, and who that is."""
    text = piece[:LONGEST_LINE].decode("utf-8", "replace")
    if text[:1] != _MARK:
        return fragments(text, plain)
    _, rank, host, nested, time_ms, local_rank, task, text = text.split(_MARK, 7)
    rank_, time_, local, task_ = (int(number) if number else None for number in (rank, time_ms, local_rank, task))
    return [Fragment(text, rank_, host, bool(nested), time_, local, task_)]


def pieces_of(page: LogPage, failures: Failures) -> Pieces:
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
        try:
            cut = fragments(lines[at][:LONGEST_LINE].decode("utf-8", "replace"))
        except Exception as error:
            failures.add(fragments, error)
            cut = []
        found += [_marked(piece) for piece in cut]
        counts[at] = len(cut)
    found += lines[begun:]
    data = b"\n".join(found)
    line = np.repeat(np.arange(len(lines)), counts)
    ends = np.cumsum([len(piece) + 1 for piece in found]) - 1 if found else np.empty(0, np.int64)
    return Pieces(data, ends, line, np.arange(len(line)) - np.repeat(np.cumsum(counts) - counts, counts))


def _marked(piece: Fragment) -> bytes:
    text, *known = piece
    rank, host, nested, time_ms, local_rank, task = ("" if each is None or each is False else each for each in known)
    told = (rank, host, "y" if nested else "", time_ms, local_rank, task, text)
    return "".join(f"{_MARK}{each}" for each in told).encode("utf-8", "replace")


def _wrapped(data: bytes, ends: Ints) -> Ints:
    """The lines to be cut."""
    page = np.frombuffer(data, np.uint8)
    found = [_places(page, mark) for mark in (b"\r", b"\b", _MARK.encode()) if mark in data]
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
