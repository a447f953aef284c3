"""Lines that a terminal or a copy cut at a fixed column, put together again; and what a logger was told to write on a line of
its own, behind the time that it wrote before it.

Such a log has no line beyond that column, and many that end in it, most of them in the middle of a word or a number. A
report of constant length ends so, too; but behind it comes another that begins as it does, and not its rest.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from monitor.model import LogPage
from monitor.parse.lines.page_texts import Texts

# ``logger.info("\nEpoch 4/100")``; a bar is no logger's.
_HEADS = Texts(*(b"INFO" + sign + b"\n" for sign in (b" - ", b": ", b"] ", b" ", b" | ", b" -", b":", b"]", b"")))
_HEAD_BEFORE = re.compile(
    rb"(?m)^(?P<head>[\[(]?20\d\d-\d\d-\d\d[ T]\d\d:\d\d:\d\d[^\n]{0,100}?\bINFO\b[^\w\n]{0,6})\n"
    rb"(?P<text>[^\W\d](?![^\n\r]{0,200}%\|)[^\n]*)"
)
# Narrower is no terminal, wider no line that anybody would cut.
_NARROWEST, _WIDEST = 39, 300
_FEWEST = 4
# Of all lines that many may be longer: a head of settings that was not cut.
_MOST_LONGER = 0.02
# So much of a line tells what kind it is.
_HEAD = 8
_MOSTLY, _INSIDE = 0.8, 0.3
# So many rests are asked whether they are lines by themselves.
_LOOKED_AT = 50
_DIGITS = re.compile(r"[\d.]+")
# No line ends or begins so that was written as one.
_CUT = re.compile(r"\d\n[\d.]|[a-z_]\n[a-z_]|[,:(\[/<' ]\n|\n[,:;)\]/%<']")


def unwrapped(page: LogPage, is_whole: Callable[[str], bool] = lambda line: False) -> LogPage:
    """The page with each line that was cut in one piece, and empty lines where its rest was; else the page itself.

    What ``is_whole`` by itself is no rest, or one that needs nothing before it.
    """
    if page.times_ms is None and _HEADS.on(page.data):
        page = replace(page, data=_HEAD_BEFORE.sub(rb"\g<head>\g<text>\n", page.data))
    bytes_, ends = np.frombuffer(page.data + b"\n", np.uint8), page.ends
    lengths = _lengths(bytes_, ends)
    width = _width(lengths)
    if not width or not _may_be_cut(bytes_, ends, np.flatnonzero(lengths[:-1] == width)):
        return page
    lines = page.lines
    groups = _groups([len(line) for line in lines], width)
    together = [lines[start:stop] for start, stop in groups if stop - start > 1]
    heads = Counter(_kind(parts[0]) for parts in together)
    rests = [_kind(part) for parts in together for part in parts[1:]]
    usual = {kind for kind, _ in heads.most_common(3)}
    cut = sum(
        any(_CUT.search(f"{before[-1:]}\n{behind[:1]}") for before, behind in pairwise(parts)) for parts in together
    )
    if (
        len(together) < _FEWEST
        or sum(heads[kind] for kind in usual) < _MOSTLY * len(together)
        or sum(kind in usual for kind in rests) > (1 - _MOSTLY) * len(rests)
        or cut < _INSIDE * len(together)
    ):
        return page
    # What also stands behind a line that ends earlier is no rest: "epoch:2" behind reports of constant length.
    begins = {kind for start, _ in groups if any(map(str.isalpha, kind := _kind(lines[start])))}
    if sum(kind in begins for kind in rests) > (1 - _MOSTLY) * len(rests):
        return page
    last = [parts[-1] for parts in together[:_LOOKED_AT]]
    if sum(map(is_whole, last)) > _INSIDE * len(last):
        return page
    whole = ("".join(lines[start:stop]) + "\n" * (stop - start - 1) for start, stop in groups)
    return replace(page, data="\n".join(whole).encode("utf-8", "replace"))


def _lengths(bytes_: NDArray[np.uint8], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Of each line in characters; of one of several bytes the first one counts."""
    if bytes_.max() < 0x80:
        return np.diff(ends, prepend=-1) - 1
    more = np.flatnonzero((bytes_ & 0xC0) == 0x80)
    return np.diff(ends - np.searchsorted(more, ends), prepend=-1) - 1


def _width(lengths: NDArray[np.int64]) -> int:
    """The column at which lines may have been cut; 0 where there is none."""
    if len(lengths) < 2 * _FEWEST:
        return 0
    usable = lengths[(lengths >= _NARROWEST) & (lengths <= _WIDEST)]
    if len(usable) < _FEWEST:
        return 0
    counts = np.bincount(usable)
    width = int(counts.argmax())
    longer = int((lengths > width).sum())
    return width if counts[width] >= _FEWEST and longer <= _MOST_LONGER * len(lengths) else 0


def _may_be_cut(bytes_: NDArray[np.uint8], ends: NDArray[np.int64], full: NDArray[np.int64]) -> bool:
    """Enough of the lines that are ``full`` end as no line does that was written as one: asked of all bytes at once."""
    at = ends[full]
    cut = _is_cut()[np.minimum(bytes_[at - 1], 128), np.minimum(bytes_[at + 1], 128)]
    groups = int((np.diff(full, prepend=-2) > 1).sum())
    return int(cut.sum()) >= _INSIDE * groups


@cache
def _is_cut() -> NDArray[np.bool_]:
    """What ``_CUT`` says of the bytes before and behind a line's end; from 128 on it may be anything."""
    out = np.ones((129, 129), np.bool_)
    for before, behind in product(range(128), repeat=2):
        out[before, behind] = _CUT.search(f"{before:c}\n{behind:c}") is not None
    return out


def _groups(lengths: list[int], width: int) -> list[tuple[int, int]]:
    """Lines that belong together, as (first, behind the last): those that end at the column, and the one that does not."""
    groups, start = [], 0
    for place, length in enumerate(lengths):
        if length != width:
            groups.append((start, place + 1))
            start = place + 1
    return groups if start == len(lengths) else [*groups, (start, len(lengths))]


def _kind(line: str) -> str:
    return _DIGITS.sub("0", line[: 2 * _HEAD])[:_HEAD]
