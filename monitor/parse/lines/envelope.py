"""What wraps a training script's own words: process tags, labels, colors, carriage returns, escapes, times of copies.

Taken off once, here. ``monitor.fetch.files.renderings`` turns what only a whole file can tell (tables, JSON, wrapped
consoles, srun's bare numbers) into lines that are read here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from monitor.parse.lines.page_texts import Texts
from monitor.parse.lines.stamps import written_at_ms
from monitor.parse.numbers import process_number

# CloudWatch shows control characters of a message as "#" and three octal digits.
_OCTAL = {"#010": "\b", "#011": "\t", "#015": "\r", "#033": "\x1b"}
_OCTAL_BYTES = {octal.encode(): character.encode() for octal, character in _OCTAL.items()}
_OCTALS = Texts(*_OCTAL_BYTES)
# Open MPI's --tag-output, "[1,12]<stdout>:", and the form the SageMaker toolkit makes of it,
# "[1,mpirank:12,algo-2]<stdout>:". Anchored to these so that "[1,0]" in a script's own text stays.
TAG = re.compile(
    r"\[\d{1,9},(?:mpirank:(?P<rank>\d{1,9}),(?P<host>algo-\d{1,9})\](?:<std(?:out|err|diag)>)?"
    r"|(?P<bare>\d{1,9})\]<std(?:out|err|diag)>):?"
)
# What stands in front of a whole line, whatever the order: each is taken off until none is left.
_SGR = r"(?:\x1b\[[\d;]{0,20}m)?"
_PREFIX = re.compile(
    # Exports, `aws logs tail` (its short form has no zone), docker's and kubectl's --timestamps; Insights: time, stream.
    r"(?P<time>20\d\d-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
    r"| \d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)))"
    rf"{_SGR}(?:[ \t,]|$)(?:{_SGR}(?:[^\s/]{{1,200}}/)?(?P<stream>algo-\d{{1,9}})(?:-\d{{1,20}})?{_SGR}(?:[ \t,]|$))?"
    # Local mode, docker compose: "1x4fc011ay-algo-1-nrgii | text".
    r"|[\w.-]{0,60}?\b(?P<compose>algo-\d{1,9})(?:-\w{1,60}){0,3} *\|"
    rf"{_SGR}(?: |$)"
    # kubectl logs --prefix: "[pod/name/container] text".
    r"|\[pod/(?P<pod>[\w.-]{1,253})/[\w.-]{1,253}\](?: |$)"
    # pdsh, as DeepSpeed's launcher uses it: "algo-2: text", "ip-10-0-1-7: text".
    r"|(?P<name>algo-\d{1,9}|ip-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3})(?:\.[\w.-]{1,200})?:(?: |$)"
    # torchrun's --tee counts processes of its node, and its template may name the global rank behind: "[trainer0|16]:";
    # PyTorch's own label names that alone. "task" is srun's number.
    r"|\s*+\[(?:(?P<role>default|trainer|worker)-?|(?P<kind>rank|Rank |task))"
    r"(?P<number>\d{1,9})(?:[:|](?P<global>\d{1,9}))?\]:(?(role)|[ \t]?)"
)
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_BYTES_OF_COLOUR = re.compile(_COLOUR.pattern.encode())
_RESET = "\x1b[0m"
_FEED = ord("\n")
_ESCAPE = re.compile(r"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
# A color whose escape character a copy lost: "[32mloss[39m", "[1m 40/500[0m". Alone "[35m" might be minutes.
_BARE_COLOUR = re.compile(r"\[(?:\d{1,3};){0,8}\d{1,3}m")
_SURELY_COLOURED = re.compile(r"\[(?:[39]\dm[A-Za-z]|38;[25];\d|(?:1|[39]\d)m[^\n]{0,200}?\[(?:0|22|39)m)")
_LOOKED_AT_FOR_COLOUR = 2_000
# Prefixes end within so many characters; colors are taken off there first, to see them.
_HEAD = 600
_MOST_PREFIXES = 8
# Anything that asks for more than cutting one tag off: control characters, their escapes, another tag.
_WRAPPED = re.compile(r"[\r\x08\x1b]|#0[13]|\]<std|,mpirank:|(?:it/s|s/it)\](?:2|[^\s\d|,<'\"\\\]])")
# Characters that a line with a prefix begins with, or a word that it holds early.
_MAY_HAVE_PREFIX = re.compile(r"20\d\d-|\s*+\[(?:[rR]ank|default|trainer|worker|task|pod/)|ip-|[\w.-]{0,60}?\balgo-\d")
_BYTES_MAY_HAVE_PREFIX = re.compile(_MAY_HAVE_PREFIX.pattern.encode())
_FIRST = "2[i \t"
_CURSOR_UP = "\x1b[A"
# What stands behind it was written by another than the bar that is left so.
_BEHIND_A_BAR = re.compile(r"\x1b\[A(?=(?:\x1b\[[\d;]*m)*+[^\s\x08\x1b])")
_BYTES_BEHIND_A_BAR = re.compile(_BEHIND_A_BAR.pattern.encode())
# A report that was printed where a bar had been left without an end of its line: "9.1it/s]Epoch 3, loss 0.52". Signs may stand
# before it, "==> ", "🚀 ": of those that are no ASCII the ones whose first byte tells that they are no letters.
_BEFORE_REPORTS = r"(?:[=>*#+~(\[-]{1,12}+ ?|SIGN ?)?"
_GLUED_BEHIND = (
    rf"/(?:(?<=it/)s|(?<=s/)it)\](?={_BEFORE_REPORTS}(?i:(?:(?:train|start|begin|end|finish)(?:ing|ed)?[ :]{{1,2}}){{0,2}}"
    r"(?:epoch|step|iter(?:ation)?|eta|global_step)[ :=\[#])|\{['\"]|\[?(?:20\d\d-\d\d-\d\d |INFO\b))"
)
_GLUED = re.compile(_GLUED_BEHIND.replace("SIGN", "[\u2000-\u2fff\U00010000-\U0003ffff]\ufe0f?"))
_BYTES_GLUED = re.compile(
    _GLUED_BEHIND.encode().replace(b"SIGN", rb"(?:\xe2[\x80-\xbf]{2}|\xf0[\x80-\xbf]{3})(?:\xef\xb8\x8f)?")
)
_UP = _CURSOR_UP.encode()
# Bars with the begin of what may stand behind them.
_BEGINS = (*(bytes([sign]) for sign in b"TtEeSsIiGgBbFf{[=>*#+~(-\xe2\xf0"), b"20")
_BESIDE_BARS = Texts(_UP, *(end + begin for end in (b"it/s]", b"s/it]") for begin in _BEGINS))
_REDRAW = re.compile(r"[\r\b]+")
# A bar that goes back to its middle to write its count there.
_INTO_THE_MIDDLE = re.compile(r"(?<!\x08)\x08{20,}+(?= \d{1,9}/\d{1,9} )")
_ZONE = re.compile(r"([+-])(\d\d):?(\d\d)$")


class Fragment(NamedTuple):
    """A piece of one line that one process wrote in one go."""

    text: str
    rank: int | None
    host: str
    nested: bool
    """The cursor goes up after it: a bar drawn below another one."""
    time_ms: int | None = None
    """The time that a copy of the log put in front of the line."""
    local_rank: int | None = None
    """The process's number on its node, where the label counts those (torchrun's --tee)."""
    task: int | None = None
    """The number srun gave the process or the node; which of the two, the line does not tell."""


class _Writer(NamedTuple):
    """Who wrote a piece, as far as the wrapping before it tells."""

    rank: int | None = None
    host: str = ""
    time_ms: int | None = None
    local_rank: int | None = None
    task: int | None = None


_NOBODY = _Writer()
LONGEST_TAG = 60
# So many are remembered of lines of one shape: ranks, or times that differ each.
_MOST_WRAPPINGS = 64


@lru_cache(maxsize=4096)
def _tagged(tag: str) -> tuple[int, str] | None:
    """Rank and host of a whole MPI tag."""
    found = TAG.fullmatch(tag)
    return None if found is None or (rank := _rank(found)) is None else (rank, found["host"] or "")


def _rank(tag: re.Match[str]) -> int | None:
    return process_number(tag["rank"] or tag["bare"])


def fragments(line: str, plain: bool = False) -> list[Fragment]:
    """The pieces of ``line`` without their wrapping, in order; empty pieces are left out.

    ``plain`` says that the line is known to hold no control character and no "#0".
    """
    if ("[3" in line or "[9" in line or "[1m" in line) and "\x1b" not in line and "#033" not in line:
        line = _without_bare_colours(line)
    # Most lines have no wrapping, or one tag and nothing else; the SDK puts a color around.
    if not plain and line[:1] == "\x1b" and line.endswith(_RESET) and (colour := _COLOUR.match(line)) is not None:
        line = line[colour.end() : -len(_RESET)]
    rank, host, text = None, "", line
    if line[:1] == "[" and (end := line.find(">:", 0, LONGEST_TAG) + 2) > 1 and (known := _tagged(line[:end])):
        rank, host = known
        text = line[end:]
    first = text[:1]
    if (first not in _FIRST and "algo-" not in text[:72]) or not _MAY_HAVE_PREFIX.match(text):
        wrapped = "]<std" in text or ",mpirank:" in text if plain else _WRAPPED.search(text)
        if not wrapped:
            return [Fragment(text, rank, host, False)] if first > " " or text.strip() else []
    pieces: list[Fragment] = []
    line = without_octal(line)
    start, end = 0, len(line)
    writer = _NOBODY
    for tag in TAG.finditer(line):
        if tag.start() > start:
            writer = _pieces(line[start : tag.start()], writer, pieces)
        # A rank's own label or host counts no longer once another rank speaks.
        writer = _Writer(_rank(tag), tag["host"] or writer.host, writer.time_ms)
        start = tag.end()
    if start < end:
        _pieces(line[start:], writer, pieces)
    return pieces


def without_wrapping(lines: Iterable[str], plain: bool) -> Iterator[Fragment]:
    """``fragments`` of lines of one shape that are one fragment each: what the same wrapping tells is worked out once."""
    known: dict[str, Fragment] = {}
    lengths: list[int] = []
    for line in lines:
        for length in lengths:
            if (same := known.get(line[:length])) is not None and not _MAY_HAVE_PREFIX.match(line, length):
                yield same._replace(text=line[length:])
                break
        else:
            (one,) = fragments(line, plain)
            yield one
            length = len(line) - len(one.text)
            if length and line.endswith(one.text) and len(known) < _MOST_WRAPPINGS:
                known[line[:length]] = one
                lengths = sorted({*lengths, length})


def redraws(line: bytes) -> list[bytes] | None:
    """The same as ``apart`` for the usual line: redraws behind one MPI tag or none, each as it is; None for others.

    Octal signs and backspaces are no more in it.
    """
    if line[:1] == b"\x1b" and line.endswith(_RESET.encode()) and (colour := _BYTES_OF_COLOUR.match(line)) is not None:
        line = line[colour.end() : -len(_RESET)]
    head, text = b"", line
    if line[:1] == b"[" and (end := line.find(b">:", 0, LONGEST_TAG) + 2) > 1 and _tagged(line[:end].decode("latin-1")):
        head, text = line[:end], line[end:]
    if b"]<std" in text or b",mpirank:" in text:
        return None
    escapes = b"\x1b" in text
    if text[:1] in b"2[i \t\x1b" or b"algo-" in text[:80]:
        begun = text[:_HEAD].decode("latin-1")
        if _MAY_HAVE_PREFIX.match(_COLOUR.sub("", begun) if escapes else begun):
            return None
    parts = [head + part for part in text.split(b"\r") if part and not part.isspace()]
    if escapes:
        parts = [
            part
            for part in parts
            if b"\x1b" not in part or without_escapes(part[len(head) :].decode("latin-1")).strip()
        ]
    return parts


def apart(line: str) -> list[str]:
    """The pieces of ``line``, each with all the wrapping that tells of it: a line of its own that is one fragment.

    The whole line, of several fragments, where one cannot be told without the ones before.
    """
    line = without_octal(line)
    tags = list(TAG.finditer(line)) if "]<std" in line or ",mpirank:" in line else ()
    found: list[str] = []
    start, end = 0, tags[0].start() if tags else len(line)
    head = _add_apart("", line[:end], found)
    for tag, following in zip_longest(tags, tags[1:]):
        start, end = tag.end(), following.start() if following else len(line)
        known = _add_apart(head + tag[0], line[start:end], found)
        if following and (known != head + tag[0] or (tag["host"] and not following["host"])):
            # Whose words these are the ones before tell, too.
            return [line]
    return found


def _add_apart(head: str, text: str, into: list[str]) -> str:
    """Adds the redraws in ``text`` with ``head`` in front; what stands in front of all of them."""
    own = ""
    if text[:1] in "\x1b" or ((text[:1] in _FIRST or "algo-" in text[:80]) and _MAY_HAVE_PREFIX.match(text)):
        own = text[: prefix_length(text)]
    text = _parted(text)
    for place, part in enumerate(_REDRAW.split(_INTO_THE_MIDDLE.sub("", text)) if "\b" in text else text.split("\r")):
        if part.strip() and without_escapes(part).strip():
            into.append(head + part if not place else head + own + part)
    return head + own


def _pieces(text: str, writer: _Writer, into: list[Fragment]) -> _Writer:
    """Adds the redraws in ``text``; who the prefixes at its start name."""
    text, writer = _without_prefixes(_parted(text), writer)
    if "\r" not in text and "\b" not in text and "\x1b" not in text:
        if text.strip():
            into.append(Fragment(text, writer.rank, writer.host, False, writer.time_ms, writer.local_rank, writer.task))
        return writer
    for part in _REDRAW.split(_INTO_THE_MIDDLE.sub("", text) if "\b" in text else text):
        clean, who = _without_prefixes(without_escapes(part), writer)
        if clean.strip():
            into.append(Fragment(clean, who.rank, who.host, _CURSOR_UP in part, who.time_ms, who.local_rank, who.task))
    return writer


def _without_prefixes(text: str, writer: _Writer) -> tuple[str, _Writer]:
    if "\x1b" in text[:_HEAD]:
        head = _COLOUR.sub("", text[:_HEAD])
        if not _MAY_HAVE_PREFIX.match(head):
            return text, writer
        text = head + text[_HEAD:]
    for _ in range(_MOST_PREFIXES):
        if text[:1] not in _FIRST and "algo-" not in text[:80]:
            break
        found = _PREFIX.match(text)
        if found is None:
            break
        writer = _named(found, writer)
        text = text[found.end() :]
    return text, writer


def _named(found: re.Match[str], writer: _Writer) -> _Writer:
    """The outermost word counts for time, the innermost for the process; an MPI tag's rank is never overruled."""
    if stamp := found["time"]:
        rank, host, time_ms, local_rank, task = writer
        time_ms = time_ms if time_ms is not None else _with_zone_ms(stamp)
        return _Writer(rank, host or found["stream"] or "", time_ms, local_rank, task)
    if host := found["compose"] or found["pod"] or found["name"]:
        return writer._replace(host=writer.host or host)
    number = process_number(found["number"])
    if found["kind"] == "task":
        return writer._replace(task=number)
    if found["kind"]:
        return writer._replace(rank=number if writer.rank is None else writer.rank)
    rank = process_number(found["global"]) if found["global"] and writer.rank is None else writer.rank
    return writer._replace(rank=rank, local_rank=number)


def without_octal(text: str) -> str:
    """The text with the control characters that CloudWatch shows as "#015" and the like."""
    if "#0" in text:
        for octal, character in _OCTAL.items():
            text = text.replace(octal, character)
    return text


def _parted(text: str) -> str:
    text = _BEHIND_A_BAR.sub(_CURSOR_UP + "\r", text) if _CURSOR_UP in text else text
    return _GLUED.sub("\\g<0>\r", text) if "it/s]" in text or "s/it]" in text else text


def parted_bytes(data: bytes) -> bytes:
    """The bytes with a carriage return between a bar and what is written behind it, once the cursor has gone up again or
    where the bar was left.
    """
    held = _BESIDE_BARS.on(data)
    data = _BYTES_BEHIND_A_BAR.sub(_UP + b"\r", data) if _UP in held else data
    return _BYTES_GLUED.sub(b"\\g<0>\r", data) if held - {_UP} else data


def without_octal_bytes(data: bytes) -> bytes:
    """``without_octal`` of bytes."""
    for octal in _OCTALS.on(data):
        data = data.replace(octal, _OCTAL_BYTES[octal])
    return data


def without_colours(data: bytes) -> bytes:
    """The bytes without the escapes of colors, which may stand between a name and its sign; as they are where none does, as
    around whole lines.
    """
    if b"\x1b" not in data:
        return data
    bytes_ = np.frombuffer(b"\n" + data + b"\n   ", np.uint8)
    at = np.flatnonzero(bytes_ == ord("\x1b"))
    at = at[bytes_[at + 1] == ord("[")]
    around = (bytes_[at - 1] == _FEED) | (
        (bytes_[at + 2] == ord("0")) & (bytes_[at + 3] == ord("m")) & (bytes_[at + 4] == _FEED)
    )
    return data if around.all() else _BYTES_OF_COLOUR.sub(b"", data)


@lru_cache(maxsize=4096)
def is_tag(text: bytes) -> bool:
    """Whether this is an MPI tag and nothing else."""
    return _tagged(text.decode("latin-1")) is not None


def may_have_prefix(data: bytes, at: int) -> bool:
    """Whether what stands there may be a label or a time that was put in front of a line."""
    if data[at : at + 1] == b"\x1b":
        data, at = _BYTES_OF_COLOUR.sub(b"", data[at : at + _HEAD]), 0
    return _BYTES_MAY_HAVE_PREFIX.match(data, at) is not None


def without_escapes(text: str) -> str:
    """The text without terminal escapes: colors, cursor movements, links."""
    return _ESCAPE.sub("", text) if "\x1b" in text else text


def prefix_length(line: str) -> int:
    """How many characters at the start of ``line`` are no words of any process: times, streams, labels, no MPI tag."""
    place = 0
    for _ in range(2 * _MOST_PREFIXES):
        found = _COLOUR.match(line, place) or _PREFIX.match(line, place)
        if found is None or found.end() == place:
            break
        place = found.end()
    return place


def _with_zone_ms(stamp: str) -> int | None:
    time_ms = written_at_ms(stamp)
    zone = None if stamp[-1] == "Z" else _ZONE.search(stamp, 19)
    if time_ms is None or zone is None:
        return time_ms
    ahead_ms = (int(zone[2]) * 60 + int(zone[3])) * 60_000
    return time_ms - ahead_ms if zone[1] == "+" else time_ms + ahead_ms


def _without_bare_colours(line: str) -> str:
    surely = _SURELY_COLOURED.search(line, 0, _LOOKED_AT_FOR_COLOUR) is not None
    return _BARE_COLOUR.sub("", line) if surely else line
