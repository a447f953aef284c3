"""Forms of a copied log. Bytes become lines (plain, gzip or UTF-16 text, split only at line feeds); JSON and tables of
the AWS tools, console pairs, the SDK's rich console and srun's labels become those of the log.

Each is turned back into the lines that were written, with their times and streams where the copy has them. Line numbers
stay those of the file where its lines are those of the log: one that was merged into another leaves an empty one behind.

Of what `aws logs tail` printed, only an event's first line carries time and stream; a message that is JSON is printed over
many lines (--format json).

srun puts the task's number before each line ("0: text", " 3: text" where there are ten tasks or more), and cuts a line
that is longer than its buffer, each piece with the label. A bare number may as well be an epoch or a step, so only a
whole page can tell. Its lines then get a label that cannot be mistaken ("[task3]: text"); what was cut is put together.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise
from typing import NamedTuple

from monitor.fetch.cut_lines import joined
from monitor.fetch.files import events
from monitor.fetch.files.events import unix_ms
from monitor.model import LogPage
from monitor.parse.lines.envelope import without_escapes

_PIECE_BYTES = 1 << 20
_SAMPLE_BYTES = 8192
# A line is read so far, or cut where a bar was drawn again: no event is as long, and a file may lack line feeds altogether.
_LONGEST_LINE = 4 << 20
# So many NULs before text are looked behind; elsewhere in a file short runs of them say that it is none.
_MOST_NULS = 256 << 20
_HOLES = re.compile(rb"\A\0+|\0{512,}")

_GZIP = b"\x1f\x8b"
# Longer marks first: that of UTF-16 begins the one of UTF-32.
_MARKS = {b"\xff\xfe\0\0": "utf-32", b"\0\0\xfe\xff": "utf-32", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
# What holds text at times and is none: place and bytes that give it away.
_PACKED = (
    (0, b"PK\x03\x04", "a zip archive"),
    (257, b"ustar", "a tar archive"),
    (0, b"BZh", "packed with bzip2"),
    (0, b"\xfd7zXZ\0", "packed with xz"),
    (0, b"\x28\xb5\x2f\xfd", "packed with zstd"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (0, b"PAR1", "a Parquet file"),
    (0, b"SQLite format 3\0", "a database"),
    (0, b"%PDF-", "a PDF document"),
)
_UTF8_MARK = b"\xef\xbb\xbf"
# What no log prints: control characters but backspace, tab, line feed, form feed, carriage return and escape.
_NOT_TEXT = bytes(code for code in (*range(32), 127) if code not in b"\b\t\n\f\r\x1b")


class BrokenTextError(Exception):
    """The bytes stop making sense in the middle, as in a gzip file that was cut off."""


@dataclass(frozen=True, slots=True)
class TextKind:
    """What the first bytes show."""

    is_empty: bool = False
    is_text: bool = True
    is_gzip: bool = False
    encoding: str = "utf-8"
    kind: str = ""
    """What it is instead of text, where that is known: "a zip archive"."""


def text_kind(file: io.BufferedReader) -> TextKind:
    """What kind of bytes come; none is taken from the file. BrokenTextError for a gzip file with a damaged head."""
    head = file.peek(_SAMPLE_BYTES)
    is_gzip = head.startswith(_GZIP)
    sample = _unpacked(head) if is_gzip else _without_holes(file, head)
    kind = next((name for place, mark, name in _PACKED if sample.startswith(mark, place)), "")
    if kind:
        return TextKind(is_text=False, is_gzip=is_gzip, kind=kind)
    encoding = next((name for mark, name in _MARKS.items() if sample.startswith(mark)), "utf-8")
    is_empty = len(sample) < _SAMPLE_BYTES // 2 and not sample.decode(encoding, "replace").strip("\ufeff \t\r\n")
    return TextKind(is_empty, encoding != "utf-8" or _is_text(sample), is_gzip, encoding)


class Chunk(NamedTuple):
    """Whole lines out of the middle of a file."""

    data: bytes
    """UTF-8, a line feed between the lines and none behind the last."""
    size: int
    """How many bytes of the file they took up."""


def chunks(file: io.BufferedReader, seen: TextKind) -> Iterator[Chunk]:
    """The lines in pieces of about a MiB (one line, if that is longer); no more than a piece is in memory.

    Where every line of the first piece ends in carriage return and line feed, the carriage return is no part of the
    lines; NULs are part of none. BrokenTextError where gzip data are damaged or end too early: the whole lines before
    were given by then.
    """
    source = gzip.GzipFile(fileobj=file) if seen.is_gzip else file
    # read1 gives what a damaged file still holds before it fails.
    read: Callable[[int], bytes] = source.read1 if seen.is_gzip else source.read
    if seen.encoding != "utf-8":
        wide = io.TextIOWrapper(source, seen.encoding, "replace", newline="\n")

        def read(size: int) -> bytes:
            return wide.read(size).encode("utf-8", "replace")

    ends_in_crlf: bool | None = None
    is_first = True
    plain = not seen.is_gzip and seen.encoding == "utf-8"
    for data, size in _plain_lines(file) if plain else _whole_lines(read):
        if is_first:
            data, is_first = data.removeprefix(_UTF8_MARK), False
        if b"\0" in data:
            data = data.replace(b"\0", b"")
        if ends_in_crlf is None and (feeds := data.count(b"\n")):
            ends_in_crlf = data.count(b"\r\n") == feeds
        yield Chunk((data.replace(b"\r\n", b"\n") if ends_in_crlf else data).removesuffix(b"\n"), size)


def _plain_lines(file: io.BufferedReader) -> Iterator[tuple[bytes, int]]:
    """(whole lines, bytes that they took up before a line too long was cut) of a file that cannot break off."""
    rest = b""
    while block := rest + file.read(_PIECE_BYTES):
        end, size, rest = b"", len(block), b""
        # The rest of a line that is too long is read past; NULs make none long.
        while more := file.readline(_LONGEST_LINE):
            size += len(more)
            if len(more) == _LONGEST_LINE and (cut := more.rfind(b"\r") + 1):
                more, rest = more[: cut - 1], more[cut:]
                size -= len(rest)
                end += more
                break
            if len(end) < _LONGEST_LINE:
                end = (end + more.replace(b"\0", b""))[:_LONGEST_LINE]
            if more.endswith(b"\n"):
                break
        yield b"".join((block, end.removesuffix(b"\n"))), size


def _whole_lines(read: Callable[[int], bytes]) -> Iterator[tuple[bytes, int]]:
    """(whole lines, bytes that they took up before a line too long was cut)."""
    held: list[bytes] = []
    size = passed = 0
    broken: Exception | None = None
    while True:
        try:
            block = read(_PIECE_BYTES)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            block, broken = b"", error
        if size >= _LONGEST_LINE and block:
            # The rest of a line that is too long is read past.
            feed = block.find(b"\n")
            passed += len(block) if feed < 0 else feed
            if feed < 0:
                continue
            block = block[feed:]
        held.append(block)
        size += len(block)
        if block and (size < _PIECE_BYTES or b"\n" not in block):
            if size > _LONGEST_LINE:
                data = b"".join(held)
                if cut := data.rfind(b"\r") + 1:
                    yield data[: cut - 1], cut + passed
                    passed, held, size = 0, [data[cut:]], len(data) - cut
                else:
                    passed += size - _LONGEST_LINE
                    held, size = [data[:_LONGEST_LINE]], _LONGEST_LINE
            continue
        data = b"".join(held)
        cut = data.rfind(b"\n") + 1 if block or broken else len(data)
        if cut:
            yield data[:cut], cut + passed
            passed = 0
        held = [data[cut:]]
        size = len(held[0])
        if broken:
            raise BrokenTextError(str(broken)) from broken
        if not block:
            return


def _without_holes(file: io.BufferedReader, head: bytes) -> bytes:
    """The first bytes without the NULs that stand where a log was cut off while it was written: a file keeps their room. What
    cannot be read ahead, and all that is NULs, is ``head``."""
    found = _HOLES.sub(b"", head)
    if len(found) == len(head) or not file.seekable():
        return found or head
    start, block = file.tell(), head
    try:
        # What stands before a hole says nothing of what is behind it.
        while block.endswith(b"\0") and file.tell() < start + _MOST_NULS:
            block = file.read(_PIECE_BYTES)
            found += _HOLES.sub(b"", block)[:_SAMPLE_BYTES]
        return found or head
    finally:
        file.seek(start)


def _unpacked(head: bytes) -> bytes:
    try:
        return zlib.decompressobj(wbits=31).decompress(head, _SAMPLE_BYTES)
    except zlib.error as error:
        raise BrokenTextError(str(error)) from error


def _is_text(sample: bytes) -> bool:
    """Text may hold a few NULs, and in other encodings than UTF-8 many bytes that are none; never both in numbers."""
    if not sample:
        return True
    controls = len(sample) - len(sample.translate(None, _NOT_TEXT))
    strange = sample.decode("utf-8", "replace").count("\ufffd")
    many_nuls = sample.count(0) > 0.1 * len(sample)
    return not many_nuls and not (controls > 0.02 * len(sample) and strange > 0.05 * len(sample))


# So many lines are looked at for what copied them; most copies show themselves in the first few.
_LOOKED_AT = 5000
_SAMPLE = 60
_STAMP_ALONE = re.compile(r"(?:20\d\d-\d\d-\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?")
# A record of rich's log handler: clock (or its width in blanks), level, message, and on the right where it came from.
_RICH = re.compile(r"^(?:\[[\d/]{8} [\d:]{8}\]| {15,21}) ?(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) {1,6}\S")
_RICH_MARGIN = re.compile(r"^(?:\[[\d/]{8} [\d:]{8}\]| {15,21}) ?(?:(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) {1,6}| {9})")
_RICH_STREAM = re.compile(r"^\S{1,200}/algo-\d+-\d+\s*:\s*")
_RICH_SOURCE = re.compile(r"\s\w{1,100}\.py:\d{1,9}$")
_RICH_SOURCE_CHARS = 120
_LONGEST_RECORD = 1000


def restored(pages: Iterable[LogPage]) -> Iterator[LogPage]:
    """The pages as they were written, whatever copied them; pages of an ordinary log pass as they are."""
    iterator = iter(pages)
    begin: list[LogPage] = []
    lines = 0
    while lines < _LOOKED_AT and (page := next(iterator, None)) is not None:
        begin.append(page)
        lines += page.count
    together = chain(begin, iterator)
    change = _rendering(begin)
    yield from joined(together if change is None else change(together))


def _rendering(begin: Sequence[LogPage]) -> Callable[[Iterator[LogPage]], Iterator[LogPage]] | None:
    if not begin or begin[0].first_line != 1:
        return None
    lines = [line for page in begin for line in page.lines][:_LOOKED_AT]
    sample = [line for line in lines[:_SAMPLE] if line.strip()]
    if not sample:
        return None
    if events.is_json(sample):
        return events.from_json
    if table := events.table_reader(sample):
        return table
    plain = [without_escapes(line) for line in sample]
    stamps = sum(bool(_STAMP_ALONE.fullmatch(line.strip())) for line in plain)
    if stamps >= max(2, len(sample) // 4):
        return _from_pairs
    if _is_tail(sample):
        return _from_tail
    heads = sum(bool(_RICH.match(line)) for line in plain)
    margins = sum(bool(_RICH_MARGIN.match(line)) for line in plain)
    if heads >= 2 and margins >= 0.7 * len(plain):
        return partial(_from_rich, width=_rich_width(lines))
    return relabelled if are_labelled(lines) else None


def _from_pairs(pages: Iterator[LogPage]) -> Iterator[LogPage]:
    """A copy from the console: the time on a line of its own, the message on the next."""
    stamp: int | None = None
    for page in pages:
        lines, times = [], []
        for line in page.lines:
            # Lines of a message are long at times, and a time is short.
            alone = len(line) < 80 and _STAMP_ALONE.fullmatch(without_escapes(line).strip()) is not None
            if alone:
                stamp = unix_ms(without_escapes(line))
            lines.append("" if alone else line)
            times.append(None if alone else stamp)
        yield LogPage.of(page.stream, page.node, page.first_line, lines, tuple(times))


def _rich_width(lines: Iterable[str]) -> int:
    plain = (without_escapes(line) for line in lines)
    return max((len(line.rstrip()) for line in plain if not _RICH.match(line)), default=0)


def _from_rich(pages: Iterator[LogPage], width: int) -> Iterator[LogPage]:
    """The console of the SDK's ModelTrainer: records wrapped at the terminal's width, colors inside of numbers."""
    open_lines: tuple[str, ...] = ()
    open_times: tuple[int | None, ...] = ()
    last: LogPage | None = None
    for page in pages:
        # The last record of a page may go on in the next.
        first_line = page.first_line - len(open_lines)
        lines, times = open_lines + page.lines, open_times + page.times
        plain = [without_escapes(line) for line in lines]
        heads = _rich_heads(plain)
        until = heads[-1] if len(lines) - heads[-1] < _LONGEST_RECORD else len(lines)
        open_lines, open_times = lines[until:], times[until:]
        last = None
        if open_lines:
            last = LogPage.of(page.stream, page.node, first_line + until, open_lines, open_times)
        if until:
            out = _unwrapped(plain[:until], [head for head in heads if head < until], width)
            yield LogPage.of(page.stream, page.node, first_line, out, times[:until])
    if last is not None:
        plain = [without_escapes(line) for line in last.lines]
        yield LogPage.of(last.stream, last.node, last.first_line, _unwrapped(plain, [0], width), last.times_ms)


def _rich_heads(plain: Sequence[str]) -> list[int]:
    """The places where records begin."""
    return [at for at, line in enumerate(plain) if not at or _RICH.match(line) or not _RICH_MARGIN.match(line)]


def _unwrapped(plain: Sequence[str], heads: Sequence[int], width: int) -> tuple[str, ...]:
    """Each record in its first line."""
    out = [""] * len(plain)
    for begin, end in pairwise([*heads, len(plain)]):
        first = _RICH_MARGIN.sub("", plain[begin]).rstrip()
        source = _RICH_SOURCE.search(first, max(0, len(first) - _RICH_SOURCE_CHARS))
        parts = [(first[: source.start()] if source else first).rstrip()]
        for at in range(begin + 1, end):
            # A full line was cut in the middle of a word; else it ended at a blank.
            parts += ["" if len(plain[at - 1].rstrip()) >= width else " ", _RICH_MARGIN.sub("", plain[at]).rstrip()]
        out[begin] = _RICH_STREAM.sub("", "".join(parts))
    return tuple(out)


_HEAD = re.compile(
    r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?[+-]\d\d:\d\d [^\s/]{1,200}/algo-\d{1,9}(?:-\d{1,20})?(?: |$)"
)
_HEAD_CHARS = 400
_MOST_LINES = 1000


def _is_tail(sample: Sequence[str]) -> bool:
    """Whether the first lines that are not blank are such events, and some of several lines."""
    heads = [_HEAD.match(without_escapes(line[:_HEAD_CHARS])) is not None for line in sample]
    return heads[0] and not all(heads)


def _from_tail(pages: Iterator[LogPage]) -> Iterator[LogPage]:
    """Each line with its event's time and stream; JSON in one line, the one where it ended."""
    head = ""
    block: list[str] = []
    after_head = False
    for page in pages:
        lines: list[str] = []
        for line in page.lines:
            found = _HEAD.match(without_escapes(line[:_HEAD_CHARS]))
            if found:
                head, block = found[0].rstrip() + " ", []
                after_head = without_escapes(line).strip() == head.strip()
                lines.append(line)
                continue
            is_json = bool(block) or (after_head and line in {"{", "["})
            after_head = False
            if not is_json:
                lines.append(head + line if line else "")
                continue
            block.append(line)
            if line in {"}", "]"} or len(block) == _MOST_LINES:
                lines.append(head + _in_one(block))
                block = []
            else:
                lines.append("")
        yield LogPage.of(page.stream, page.node, page.first_line, lines, page.times_ms)


def _in_one(block: Sequence[str]) -> str:
    text = "\n".join(block)
    try:
        return json.dumps(json.loads(text))
    except (ValueError, RecursionError):
        return " ".join(line.strip() for line in block)


_LABEL = re.compile(r"(?:P\d{1,6} )? {0,6}(?P<task>\d{1,6}):(?: (?P<text>.*+)|$)", re.S)
# The buffer of a task's output, in bytes; a character cut in two is read as one sign of three bytes on each side.
_BUFFER = 1024
_BUFFER_MOST = _BUFFER + 8
_NUMBERS = re.compile(r"\d++(?:[.,]\d++)*+")
_REDRAWS = "\r\b"
# What shows that a line is one by itself, and the number before it no counter of it.
_COUNTER = re.compile(r"step|iter|epoch|batch|it/s|s/it", re.IGNORECASE)
_LABELS_LOOKED_AT = 2000


def are_labelled(lines: Sequence[str]) -> bool:
    """Whether these lines, the first of a log, are tasks of srun speaking in turns; a script may have spoken before."""
    spoken = [line for line in lines if line.strip()]
    labels = [_LABEL.match(line) for line in spoken]
    begin = next((at for at, label in enumerate(labels) if label), None)
    if begin is None:
        return False
    labels = labels[begin : begin + _LABELS_LOOKED_AT]
    known = [label for label in labels if label]
    if len(known) < 4 or len(known) < 0.9 * len(labels):
        return False
    tasks = [int(label["task"]) for label in known]
    texts = [(label["text"] or "")[:200] for label in known]
    shapes = {_NUMBERS.sub("0", text) for text in texts}
    if len(shapes) < 3 and not any(_COUNTER.search(text) for text in texts):
        return False
    changes = [later - earlier for earlier, later in pairwise(tasks) if later != earlier]
    if not changes:
        # One task alone: every line of the log is its, and they are of many kinds.
        return begin == 0 and len(known) == len(labels) and len(known) >= 8 and len(shapes) >= 3
    falls = [change for change in changes if change < 0]
    # Epochs and steps rise by one, and begin again at most now and then.
    counted = all(change == 1 for change in changes if change > 0) and len(changes) < 0.5 * len(tasks)
    return len(falls) >= 2 and not counted


def relabelled(pages: Iterator[LogPage]) -> Iterator[LogPage]:
    """The pages with labels that name the task. A redraw that was cut moves to the line in which it ends."""
    begun: dict[str, str] = {}
    for page in pages:
        lines = [_relabelled(line, begun) for line in page.lines]
        yield LogPage.of(page.stream, page.node, page.first_line, lines, page.times_ms)


def _relabelled(line: str, begun: dict[str, str]) -> str:
    label = _LABEL.match(line)
    if label is None:
        return line
    task, text = label["task"], label["text"] or ""
    is_cut = _BUFFER <= len(text.encode("utf-8", "replace")) <= _BUFFER_MOST
    before = begun.pop(task, "")
    if before.endswith("\ufffd") and text.startswith("\ufffd"):
        before, text = before.rstrip("\ufffd"), text.lstrip("\ufffd")
    text = before + text
    if is_cut:
        end = max(text.rfind(mark) for mark in _REDRAWS) + 1
        # Without redraws a line may go on for long: what is longer than any report is let go.
        begun[task] = text[end:] if len(text) - end < 64 * _BUFFER else ""
        text = text[:end]
    return f"[task{int(task)}]: {text}" if text else ""
