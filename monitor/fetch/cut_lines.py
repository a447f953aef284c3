"""Which lines are the rest of the line before, and whose they are.

The SageMaker toolkit reads what mpirun prints in chunks of 64 KB, and CloudWatch takes events of 256 KB (today 1 MB):
a line that does not fit goes on in the next one, which has no tag. Read alone, the first part may end in half a number.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from monitor.model import LogPage
from monitor.parse.lines.envelope import TAG, fragments, prefix_length, without_escapes, without_octal

# A line whose bytes fill one of these up to the overhead of an event goes on in the next one, tags or not.
_LIMITS = (1 << 16, 1 << 18, 1 << 20)
_OVERHEAD = 64
# Characters of the shortest line that may fill the least of them, all of three bytes, and half of them escapes.
_LONG = (1 << 16) // 6
_FULL = 65_000
_LONGEST = 1 << 20
_RESET = re.compile(r"(?:\x1b\[0?m)++$")
_REDRAW = re.compile(r"[\r\b]+")
_NUMBER_ENDS = re.compile(r"(?:\d|\d[.]|\d[eE][+-]?|[:= ][-.])$")
_NUMBER_GOES_ON = re.compile(r"(?!20\d\d-\d\d-\d\d)(?!\d{1,9}: )(?:\.?\d|[eE][-+]?\d)")
_ESCAPE_ENDS, _ESCAPE_GOES_ON = re.compile(r"#(?:0(?:[13])?)?$"), re.compile(r"0?[13]?[0135]")
_NUMBERS = re.compile(r"\d++(?:\.\d++)?+(?:[eE][-+]?\d++)?+")
_BAR = re.compile(r"[=>.#~_\-\s\u2500-\u259f]++")
_REMEMBERED = 60
_TAGGED = re.compile(rb"\]<std|,mpirank:")
_TAG_MARKS = (b"]<std", b",mpirank:")
_NONE = 1 << 62
_BRACKET = ord("[")
_SAMPLE_BYTES = 1 << 17
_RESTS_ANYWAY, _RESTS_A_CHUNK = 16, 8
_SHAPE_CHARS = 2000
_MOST_SHAPES = 4


@dataclass
class RecentShapes:
    """The last lines with tags; the shapes of their reports are made when they are asked for, once."""

    _lines: deque[str] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    _shapes: deque[str] = field(default_factory=lambda: deque(maxlen=_REMEMBERED * _MOST_SHAPES))

    def add(self, line: str) -> None:
        self._lines.append(line[-_SHAPE_CHARS:])

    def shapes(self) -> set[str]:
        for line in self._lines:
            pieces = fragments(line)[-_MOST_SHAPES:]
            self._shapes.extend(_shape(piece.text) for piece in pieces)
        self._lines.clear()
        return set(self._shapes)


def joined(pages: Iterable[LogPage]) -> Iterator[LogPage]:
    """The pages with each such rest put where it belongs; where it stood an empty line, or what follows it, remains.

    A rest is recognized where a line fills a chunk, where a number goes on, or where both parts together look as other
    lines did and the first does not. Pages of one stream must be consecutive; the last line of each is held back until
    the next is known.
    """
    held: LogPage | None = None
    memory, behind = RecentShapes(), ("", 0)
    for page in pages:
        if behind != (page.stream, page.first_line):
            memory = RecentShapes()
            if held is not None:
                yield held
        elif held is not None:
            times = None if held.times_ms is page.times_ms is None else held.times + page.times
            page = LogPage(page.stream, page.node, held.first_line, held.data + b"\n" + page.data, times)
        behind = (page.stream, page.first_line + page.count)
        page, open_at = _joined(page, memory)
        held = None
        if open_at is None:
            yield page
        else:
            until, begin = page.count - 1, open_at
            times = page.times_ms
            if until:
                yield replace(page, data=page.data[: begin - 1], times_ms=times and times[:until])
            held = replace(
                page, first_line=page.first_line + until, data=page.data[begin:], times_ms=times and times[until:]
            )
    if held is not None:
        yield held


def joined_within(page: LogPage) -> LogPage:
    """One page with the rests of its lines put where they belong."""
    return _joined(page, RecentShapes())[0]


def _joined(page: LogPage, memory: RecentShapes) -> tuple[LogPage, int | None]:
    """(the page, where its last line begins if that may go on in the next page)."""
    data = page.data
    ends = page.ends
    starts = np.append(0, ends[:-1] + 1)
    is_long = ends - starts >= _LONG
    most_rests = _RESTS_ANYWAY + _RESTS_A_CHUNK * len(data) // _LIMITS[0]
    # The older form of a tag lacks "<stdout>" on every line of its page.
    mark = next((mark for mark in _TAG_MARKS if mark in data), b"")
    # Of a page's first part, for the whole of it.
    count = data.count(mark, 0, _SAMPLE_BYTES) * max(1, len(data) // _SAMPLE_BYTES) if mark else 0
    if count * 2 < len(starts) and (not count or count > 4 * most_rests) and not is_long.any():
        return page, None  # no line has a tag, or most have none and are lines of their own
    tags = np.fromiter(_positions(data, mark) if mark else (), np.int64)
    if not len(tags) and not is_long.any():
        return page, None
    rows = np.searchsorted(ends, tags)
    first_tag = np.full(len(starts), _NONE)
    first_tag[rows[::-1]] = tags[::-1]
    is_tagged = first_tag < _NONE
    may_go_on = is_long | is_tagged
    filled = ends > starts
    begins_tagged = is_tagged & (np.frombuffer(data + b"\n", np.uint8)[starts] == _BRACKET)
    rests = np.flatnonzero(may_go_on[:-1] & filled[:-1] & ~begins_tagged[1:] & filled[1:]) + 1
    # Copies put times and colors in front of a tag.
    doubtful = is_tagged[rests]
    rests = np.delete(
        rests,
        [
            place
            for place in np.flatnonzero(doubtful).tolist()
            if _begins_with_tag(_line(data, starts[rests[place]], ends[rests[place]]))
        ],
    )
    # A rest follows a chunk's border. Where lines without tags are many they are lines of their own.
    if len(rests) > most_rests:
        rests = rests[is_long[rests - 1]]
    if len(rests):
        page = _put_together(page, rests.tolist(), is_tagged, memory)
    data = page.data
    last = data.rpartition(b"\n")[2]
    is_open = bool(last) and (len(last) >= _LONG or _TAGGED.search(last) is not None)
    newest = data.split(b"\n") if len(starts) <= _REMEMBERED else data.rsplit(b"\n", _REMEMBERED)[1:]
    # A line that may go on is looked at again with what follows.
    for line in newest[:-1] if is_open else newest:
        if _TAGGED.search(line):
            memory.add(line.decode("utf-8", "replace"))
    return page, len(data) - len(last) if is_open else None


def _positions(data: bytes, mark: bytes) -> Iterator[int]:
    place = data.find(mark)
    while place >= 0:
        yield place
        place = data.find(mark, place + 1)


def _put_together(page: LogPage, rests: Sequence[int], is_tagged: NDArray[np.bool_], memory: RecentShapes) -> LogPage:
    lines = list(page.lines)
    seen = 0
    last = -1  # the line that may go on
    for at in rests:
        tagged = np.flatnonzero(is_tagged[seen : at - 1]) + seen
        for before in tagged[-_REMEMBERED:].tolist():
            memory.add(lines[before])
        seen = at - 1
        # A rest that fills a chunk itself goes on.
        head = last if last >= 0 and lines[at - 1] == "" else at - 1
        if not lines[head]:
            last = -1
            continue
        last = _join(lines, head, at, prefix_length(lines[at]), memory)
        if last == at:
            last = -1
    changed = tuple(lines)
    return LogPage.of(page.stream, page.node, page.first_line, changed, page.times_ms)


def _begins_with_tag(line: str) -> bool:
    return TAG.match(line) is not None or TAG.match(line, prefix_length(line)) is not None


def _line(data: bytes, start: int, end: int) -> str:
    return data[start:end].decode("utf-8", "replace")


def _join(lines: list[str], last: int, at: int, begin: int, memory: RecentShapes) -> int:
    """Joins line ``at`` to line ``last`` if it is its rest; the line that may go on then."""
    head, rest = lines[last], lines[at]
    tag = TAG.search(rest, begin)
    end = tag.start() if tag else len(rest)
    goes_on = (
        len(head) + end < _LONGEST
        and begin < end
        and _stream(head, prefix_length(head)) == _stream(rest, begin)
        and _goes_on(_without_reset(head), rest[begin:end], memory)
    )
    if not goes_on:
        return at if tag or len(rest) >= _LONG else -1
    lines[last] = _without_reset(head) + rest[begin:end]
    if tag:
        lines[at] = rest[:begin] + rest[end:]
        return at
    lines[at] = ""
    # Only a rest that fills a chunk itself goes on.
    return last if len(rest) >= _LONG else -1


def _stream(line: str, begin: int) -> str:
    """What stands before the words of a line, but for the time: lines of one stream share it."""
    return re.sub(r"20\d\d-\S++", "", line[:begin])


def _goes_on(head: str, rest: str, memory: RecentShapes) -> bool:
    words = head[prefix_length(head) :]
    if len(words) >= _LONG and _fills(words):
        return True
    tags = list(TAG.finditer(head[-4096:]))
    if not tags and not TAG.search(head):
        return False
    if len(words) >= _FULL:
        return True
    piece = without_octal(head[-4096:][tags[-1].end() :] if tags else head[-4096:])
    if _ESCAPE_ENDS.search(piece) and _ESCAPE_GOES_ON.match(rest):
        return True
    piece = _last_redraw(piece)
    behind = without_escapes(_REDRAW.split(without_octal(rest[:4096]), maxsplit=1)[0])
    if not piece.strip() or not behind:
        return False
    if _NUMBER_ENDS.search(piece) and _NUMBER_GOES_ON.match(behind):
        return True
    known = memory.shapes()
    return _shape(piece + behind) in known and _shape(piece) not in known


def _fills(words: str) -> bool:
    sizes = {len(words.encode("utf-8", "replace")), len(without_octal(words).encode("utf-8", "replace"))}
    return any(limit - _OVERHEAD <= size <= limit for size in sizes for limit in _LIMITS)


def _without_reset(line: str) -> str:
    """The line without the colors' end, which stands at the end of each event that the SDK prints."""
    reset = _RESET.search(line, max(0, len(line) - 16))
    return line[: reset.start()] if reset else line


def _last_redraw(text: str) -> str:
    return without_escapes(text[max(text.rfind("\r"), text.rfind("\b")) + 1 :])


def _shape(text: str) -> str:
    return _BAR.sub(" ", _NUMBERS.sub("0", text)).strip()
