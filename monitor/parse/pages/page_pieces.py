"""A page as the pieces of its lines: most lines are one, redraws and glued tags are cut apart and know their line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from monitor.model import LogPage
from monitor.parse.lines.envelope import (
    LONGEST_TAG,
    apart,
    is_tag,
    may_have_prefix,
    parted_bytes,
    redraws,
    without_colours,
    without_escapes,
    without_octal_bytes,
)
from monitor.parse.lines.page_texts import Texts
from monitor.parse.pages.keyed import Bytes, Ints

# What lies beyond in a line, or in a redraw of a bar, is not read.
LONGEST_LINE = 1 << 20
# A tag that ends further in, behind a color, stands behind other words.
_FURTHEST_TAG = 34
# A host's name that begins further in is no prefix.
_FURTHEST_HOST = 80
_BACK, _FEED, _RETURN, _ESCAPE, _COLON, _TAG_END = b"\b\n\r\x1b:>"
_SPACE = 32
_MAY_LABEL, _MAY_DATE, _BEFORE_NOTHING = np.zeros((3, 256), bool)
_MAY_LABEL[list(b"2[i \t\x1b")] = True
_MAY_DATE[list(b"2\x1b")] = True
_BEFORE_NOTHING[list(b" \t\x0b\x0c\x1b")] = True
_SHORT, _LOOKED_AHEAD = 200, 4
# A bar that goes back to its middle to write its count there.
_LONG_WAY_BACK, _COUNT = 20, re.compile(rb" \d{1,9}/\d{1,9} ")
# Without these a line has no wrapping but tags and labels.
_OCTAL = Texts(b"#0")
_CONTROLS = (b"\r", b"\b", b"\x1b")
# Without these, and the name of a host, no line has a label: what may stand in front is a day.
_LABELS = Texts(b"[rank", b"[Rank", b"[default", b"[trainer", b"[worker", b"[task", b"[pod/", b"ip-")
_TAGS, _HOSTS = Texts(b"]<std", b",mpirank:"), Texts(b"algo-")


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
        return not any(mark in self.data for mark in _CONTROLS) and not _OCTAL.on(self.data)

    def __getitem__(self, at: int) -> bytes:
        return self.data[int(self.starts[at]) : int(self.ends[at])]

    def text(self, at: int) -> str:
        return self[at][:LONGEST_LINE].decode("utf-8", "replace")

    def texts(self, at: Ints) -> list[str]:
        """``text`` of each."""
        data = self.data
        return [
            data[start : min(end, start + LONGEST_LINE)].decode("utf-8", "replace")
            for start, end in zip(self.starts[at].tolist(), self.ends[at].tolist(), strict=True)
        ]


def pieces_of(page: LogPage) -> Pieces:
    """The page cut where a line holds redraws, or words of several processes."""
    data, ends = _unescaped(page.data), page.ends
    if data is not page.data:
        ends = np.append(np.flatnonzero(np.frombuffer(data, np.uint8) == _FEED), len(data))
    wrapped, others = _wrapped(data, ends)
    if len(others):
        lines, whole = data.split(b"\n"), []
        for at in others.tolist():
            line = lines[at]
            cut = _cut(line if b"\r" in line else line[:LONGEST_LINE])
            lines[at] = b"\r".join(cut)
            if len(cut) == 1:
                whole.append(at)
        wrapped = np.setdiff1d(wrapped, whole, assume_unique=True)
        data = b"\n".join(lines)
        ends = np.cumsum([len(line) + 1 for line in lines]) - 1
    if not len(wrapped):
        return Pieces(data, ends, np.arange(page.count), np.zeros(page.count, np.int64))
    return _at_returns(data, ends, wrapped)


def _unescaped(data: bytes) -> bytes:
    """The page without colors, with carriage returns alone between redraws, whatever a program or a copy has there, and none
    before the first.
    """
    data = without_colours(parted_bytes(without_octal_bytes(data)))
    page = np.frombuffer(data, np.uint8)
    backs, returns = np.flatnonzero(page == _BACK), np.flatnonzero(page == _RETURN)
    if not len(backs) and not len(returns):
        return data
    keep = np.ones(len(page), bool)
    if len(backs):
        begins, ends = backs[np.diff(backs, prepend=-2) > 1], backs[np.diff(backs, append=len(page) + 1) > 1] + 1
        page = page.copy()
        page[backs] = _RETURN
        keep[backs] = False
        middle = (ends - begins >= _LONG_WAY_BACK) & (page.take(ends, mode="clip") == _SPACE)
        for at in np.flatnonzero(middle).tolist():
            middle[at] = _COUNT.match(data, int(ends[at])) is not None
        keep[begins[~middle]] = True
        returns = np.append(returns, begins[~middle])
    before = page.take(returns - 1, mode="wrap")
    keep[returns[(returns == 0) | (before == _FEED)]] = False
    behind_tags = returns[(before == _COLON) & (page.take(returns - 2, mode="wrap") == _TAG_END)]
    for at in behind_tags.tolist():
        begin = data.rfind(b"[", max(0, at - LONGEST_TAG), at)
        keep[at] = begin < 0 or not is_tag(data[begin:at])
    return data if keep.all() and not len(backs) else page[keep].tobytes()


def _cut(line: bytes) -> list[bytes]:
    cut = redraws(line)
    return (
        [piece.encode("utf-8", "replace") for piece in apart(line.decode("utf-8", "replace"))] if cut is None else cut
    )


def _wrapped(data: bytes, ends: Ints) -> tuple[Ints, Ints]:
    """(the lines to be cut, those of them that are not cut at their returns alone)."""
    page = np.frombuffer(data, np.uint8)
    returns = _places(page, b"\r") if b"\r" in data else np.empty(0, np.int64)
    # At the end of a line it is that of another system.
    found = [np.searchsorted(ends, returns[~np.isin(returns + 1, ends, assume_unique=True)])]
    tagged = np.empty(0, np.int64)
    if _TAGS.on(data):
        tags = np.concatenate([_places(page, b"]<std"), _places(page, b",mpirank:")])
        tagged = np.searchsorted(ends, tags)
        found.append(tagged[tags - _begins(ends, tagged) > _FURTHEST_TAG])
    wrapped = np.unique(np.concatenate(found))
    if not len(wrapped):
        return wrapped, wrapped
    starts = _begins(ends, wrapped)
    others = np.isin(wrapped, tagged)
    first = page.take(starts, mode="clip")
    hosts = _HOSTS.on(data)
    may = _MAY_LABEL if hosts or _LABELS.on(data) else _MAY_DATE
    for at in np.flatnonzero(may[first] & ~others).tolist():
        others[at] = may_have_prefix(data, int(starts[at]))
    if hosts:
        names = _places(page, b"algo-")
        named = np.searchsorted(ends, names)
        others |= np.isin(wrapped, named[names - _begins(ends, named) < _FURTHEST_HOST])
    return wrapped, wrapped[others]


def _begins(ends: Ints, lines: Ints) -> Ints:
    """Where these lines begin."""
    return np.where(lines > 0, ends[lines - 1] + 1, 0)


def _at_returns(data: bytes, ends: Ints, wrapped: Ints) -> Pieces:
    """The pieces of lines between their carriage returns, without those in which nothing is to be seen."""
    page = np.frombuffer(data + b"\n", np.uint8).copy()
    is_cut = np.zeros(len(ends), bool)
    is_cut[wrapped] = True
    returns = np.flatnonzero(page == _RETURN)
    page[returns[is_cut[np.searchsorted(ends, returns)]]] = _FEED
    stops = np.flatnonzero(page == _FEED)
    starts = np.concatenate(([0], stops[:-1] + 1))
    line = np.searchsorted(ends, stops)
    is_blank = is_cut[line] & (starts == stops)
    at = np.flatnonzero(is_cut[line] & ~is_blank & _BEFORE_NOTHING[page[starts]])
    for ahead in range(1, _LOOKED_AHEAD):
        at = at[(page.take(starts[at] + ahead, mode="clip") <= _SPACE) | (page[starts[at]] == _ESCAPE)]
    known: dict[bytes, bool] = {}
    for place, start, stop in zip(at.tolist(), starts[at].tolist(), stops[at].tolist(), strict=True):
        text = data[start:stop]
        if (blank := known.get(text)) is None:
            blank = not text.strip() or (b"\x1b" in text and not without_escapes(text.decode("latin-1")).strip())
            if len(text) < _SHORT:
                known[text] = blank
        is_blank[place] = blank
    if is_blank.any():
        cuts = np.flatnonzero(is_blank)
        kept = zip([0, *(stops[cuts] + 1).tolist()], [*starts[cuts].tolist(), len(page)], strict=True)
        bytes_ = page.tobytes()
        page = np.frombuffer(b"".join([bytes_[begin:end] for begin, end in kept]), np.uint8)
        line, stops = line[~is_blank], np.flatnonzero(page == _FEED)
    first_of_line = np.searchsorted(line, line)
    return Pieces(page[:-1].tobytes(), stops, line, np.arange(len(line)) - first_of_line)


def _places(page: Bytes, text: bytes) -> Ints:
    """Where a text stands."""
    at = np.flatnonzero(page[: len(page) - len(text) + 1] == text[0])
    for place, byte in enumerate(text[1:], start=1):
        at = at[page[at + place] == byte]
    return at
