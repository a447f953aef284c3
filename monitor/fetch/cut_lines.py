"""Which lines are the rest of the line before, and whose are they?

The SageMaker toolkit reads what mpirun prints in chunks of 64 KB, and CloudWatch takes events of 256 KB (today 1 MB):
a line that does not fit goes on in the next one, which has no tag. Read alone, the first part may end in half a number.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from monitor.model import LogPage
from monitor.parse.envelope import TAG, fragments, prefix_length, without_escapes, without_octal

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
_SHAPE_CHARS = 2000
_MOST_SHAPES = 4


@dataclass
class Memory:
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

    A rest is recognised where a line fills a chunk, where a number goes on, or where both parts together look as other
    lines did and the first does not. Pages of one stream must be consecutive; the last line of each is held back until
    the next is known.
    """
    held: LogPage | None = None
    memory, behind = Memory(), ("", 0)
    for page in pages:
        if behind != (page.stream, page.first_line):
            memory = Memory()
            if held is not None:
                yield held
        elif held is not None:
            page = replace(held, node=page.node, lines=held.lines + page.lines, times_ms=held.times_ms + page.times_ms)
        behind = (page.stream, page.first_line + len(page.lines))
        page, until = _joined(page, memory)
        if until:
            yield replace(page, lines=page.lines[:until], times_ms=page.times_ms[:until])
        held = None
        if until < len(page.lines):
            held = LogPage(page.stream, page.node, page.first_line + until, page.lines[until:], page.times_ms[until:])
    if held is not None:
        yield held


def joined_within(page: LogPage) -> LogPage:
    """One page with the rests of its lines put where they belong."""
    return _joined(page, Memory())[0]


def _joined(page: LogPage, memory: Memory) -> tuple[LogPage, int]:
    """The page, and from which line on it may change once more is known."""
    text = "\n".join(page.lines)
    has_tags = _is_tagged(text)
    if not has_tags and (len(text) < _LONG or max(map(len, page.lines)) < _LONG):
        return page, len(page.lines)
    lines = list(page.lines)
    last, was_tagged = -1, False  # the line that may go on
    for at, line in enumerate(page.lines):
        is_tagged = has_tags and _is_tagged(line)
        before, before_tagged = last, was_tagged
        if not line:
            last = -1
        elif last >= 0 and not (is_tagged and (TAG.match(line) or TAG.match(line, prefix_length(line)))):
            last = _join(lines, last, at, prefix_length(line), memory)
        elif is_tagged:
            last = at
        else:
            last = at if len(line) >= _LONG else -1
        if before != last:
            was_tagged = is_tagged
            if before >= 0 and before_tagged:
                memory.add(lines[before])
    page = replace(page, lines=tuple(lines)) if lines != list(page.lines) else page
    return page, last if last >= 0 else len(lines)


def _is_tagged(text: str) -> bool:
    return "]<std" in text or ",mpirank:" in text


def _join(lines: list[str], last: int, at: int, begin: int, memory: Memory) -> int:
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


def _goes_on(head: str, rest: str, memory: Memory) -> bool:
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
    """The line without the colours' end, which stands at the end of each event that the SDK prints."""
    reset = _RESET.search(line, max(0, len(line) - 16))
    return line[: reset.start()] if reset else line


def _last_redraw(text: str) -> str:
    return without_escapes(text[max(text.rfind("\r"), text.rfind("\b")) + 1 :])


def _shape(text: str) -> str:
    return _BAR.sub(" ", _NUMBERS.sub("0", text)).strip()
