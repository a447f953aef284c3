"""Figures written out: the scalars of frameworks as their numbers, pictures that stand for the name of a figure as words, and
times of day as what they are.

``tensor(0.53, device='cuda:0', grad_fn=<MeanBackward0>)`` is 0.53. One that stands alone or behind counts, and has a gradient,
is a loss: nothing else of a training that is printed has one. ``⏱️ 53.1ms`` is a time, ``📉 2.31`` a loss, ``12_000`` a number,
``time: 01:37:05 PM`` no duration.

What is looked for in all that is read begins with plain text, which is found many times as fast as anything else; what must
stand before it is looked at there alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from monitor.model import LogPage
from monitor.parse.lines.page_texts import Texts
from monitor.parse.lines.stamps import MONTHS

_NUMBER = rb"[-+]?(?:\d{1,12}\.?\d{0,20}(?:[eE][-+]?\d{1,3})?|nan|inf)"
_IN_BOX = rb"\(\[{0,2}(?P<number>" + _NUMBER + rb")\]{0,2}(?P<told>(?:, ?(?:device='[\w:]{1,16}'"
_IN_BOX += rb"|grad_fn=<\w{1,60}(?: object at 0x[0-9a-f]{1,16})?>|dtype=[\w.]{1,20}|shape=\(1?,?\)|size=\(1,\)"
_IN_BOX += rb"|requires_grad=True|weak_type=True)){0,5})\)"
# Before a box stands the rest of its type, and before a loss without a name the begin of the line or a count.
_BARE = rb"(?P<bare>(?:(?<=\n)|^|(?<=[\d\]),|]))[ \t]{0,16})?"
_BOXES = (
    (b"ensor(", re.compile(rb"ensor" + _IN_BOX), re.compile(_BARE + rb"(?<![\w.])(?:tf\.|torch\.|mindspore\.)?[Tt]\Z")),
    (b"rray(", re.compile(rb"rray" + _IN_BOX), re.compile(rb"(?<![\w.])(?:Device|np\.|jnp\.|numpy\.)?[Aa]\Z")),
    (b".float", re.compile(rb"\.float\d\d" + _IN_BOX), re.compile(rb"(?<![\w.])(?:np|jnp|numpy)\Z")),
)
_OF_TENSORFLOW = re.compile(
    rb"<tf\.(?:Tensor|Variable)[ :][^<>\n=]{0,60}shape=\(1?,?\), dtype=\w{1,12}, numpy=(" + _NUMBER + rb")>"
)
_GROUPS = re.compile(rb"_\d{3}(?:_\d{3}){0,3}(?!\w)")
_BEFORE_GROUPS = re.compile(rb"(?<![\w.-])(?<![A-Za-z]/)\d{1,3}\Z")
_FURTHEST = 40
# A stopwatch, a clock or a face of one; a sandglass stands for what is left as well.
_PICTURES = (
    (b"\xe2\x8f", re.compile(rb"\xe2\x8f[\xb1\xb2](?:\xef\xb8\x8f)?:? {0,3}(?=\d)"), b"time "),
    (b"\xf0\x9f\x95", re.compile(rb"\xf0\x9f\x95[\x90-\xa7](?:\xef\xb8\x8f)?:? {0,3}(?=\d)"), b"time "),
    (b"\xf0\x9f\x93\x89", re.compile(rb"\xf0\x9f\x93\x89(?:\xef\xb8\x8f)?:? {0,3}(?=\d)"), b"loss "),
)
# "01:37:05 PM" is "at 13:37:05", and no duration. Behind a day, and at a line's begin, it is a stamp as it is.
_HALF_DAY = re.compile(
    rb"(?P<name>(?:\b[Tt]ime(?:stamp)?|\b[Aa]t|@)\s?[:=]?\s{0,3})?"
    rb"(?<![\d:.])(?P<h>0?\d|1[0-2])(?P<m>:[0-5]\d)(?P<s>:[0-5]\d(?:[.,]\d{1,9})?)? ?(?P<half>[AaPp])\.?[Mm]\b\.?"
)
_DAY_BEFORE = re.compile(
    rb"(?:^|\n)[^\w\n]{0,3}\Z|(?:\d{1,4}[-/.]\d{1,2}(?:[-/.]\d{1,4})?"
    rb"|(?:" + MONTHS.encode() + rb")[a-z]{0,6} \d{1,2}(?:,? \d{4})?),?[ T|]{1,3}\Z"
)
_HALVES = Texts(
    *(b"%d%s" % (digit, half) for digit in range(10) for half in (b" AM", b" PM", b" am", b" pm", b"AM", b"PM"))
)
# "time: 05/17/2024": no five seconds.
_CALLED_TIME = re.compile(rb"\b(?:[Tt]ime(?:stamp)?|[Dd]ate)\s?[:=]?\s?(?=\d\d?/\d\d?/20\d\d\D)")
_YEARS = {b"/201", b"/202", b"/203"}
_NUMPY, _IN_GROUPS = b", numpy=", {b"_%d" % digit for digit in range(10)}
_GATES = Texts(*(gate for gate, _, _ in (*_BOXES, *_PICTURES)), _NUMPY, *_IN_GROUPS, *_YEARS)


def written_out(page: LogPage) -> LogPage:
    """The page with the numbers and words alone; the page itself where there is nothing to write out."""
    data = _plain(page.data)
    return page if data == page.data else replace(page, data=data)


def line_written_out(line: str) -> str:
    """The same of one line."""
    return _plain(line.encode("utf-8", "replace")).decode()


def _plain(data: bytes) -> bytes:
    held = _GATES.on(data)
    for gate, box, before in _BOXES:
        if gate in held:
            data = _replaced(data, box, before, _unboxed)
    if _NUMPY in held:
        data = _OF_TENSORFLOW.sub(rb"\1", data)
    if not held.isdisjoint(_IN_GROUPS):
        data = _replaced(data, _GROUPS, _BEFORE_GROUPS, lambda begin, rest: begin[0] + rest[0].replace(b"_", b""))
    if not held.isdisjoint(_YEARS):
        data = _CALLED_TIME.sub(b"at ", data)
    for gate, picture, word in _PICTURES:
        if gate in held:
            data = picture.sub(word, data)
    return _HALF_DAY.sub(_of_whole_day, data) if _HALVES.on(data) else data


def _of_whole_day(clock: re.Match[bytes]) -> bytes:
    begin = clock.start()
    if clock["name"] is None and _DAY_BEFORE.search(clock.string, max(0, begin - _FURTHEST), begin):
        return clock[0]
    hours = int(clock["h"]) % 12 + 12 * (clock["half"] in b"Pp")
    return b"at %02d%s%s" % (hours, clock["m"], clock["s"] or b":00")


def _unboxed(before: re.Match[bytes], box: re.Match[bytes]) -> bytes:
    bare = before.groupdict().get("bare")
    if bare is None:
        return box["number"]
    return bare + (b"loss=" if b"grad_fn=" in box["told"] else b"") + box["number"]


def _replaced(
    data: bytes,
    what: re.Pattern[bytes],
    before: re.Pattern[bytes],
    new: Callable[[re.Match[bytes], re.Match[bytes]], bytes],
) -> bytes:
    """The bytes with something new for each of what is found where that stands before it."""
    parts, end = [], 0
    for found in what.finditer(data):
        begin = before.search(data, max(end, found.start() - _FURTHEST), found.start())
        if begin is not None:
            parts += [data[end : begin.start()], new(begin, found)]
            end = found.end()
    return b"".join((*parts, data[end:])) if parts else data
