"""How does a stream of bytes become lines? Plain, gzip or UTF-16 text, split only at line feeds."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

_PIECE_BYTES = 1 << 20
_SAMPLE_BYTES = 8192
# A line is read so far: no event is as long, and a file may lack line feeds altogether.
_LONGEST_LINE = 4 << 20
# So many NULs before the first text are looked behind.
_MOST_NULS = 256 << 20

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
    sample = _unpacked(head) if is_gzip else _behind_nuls(file, head)
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
    while block := file.read(_PIECE_BYTES):
        end, size = b"", len(block)
        # The rest of a line that is too long is read past; NULs make none long.
        while more := file.readline(_LONGEST_LINE):
            size += len(more)
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
                passed += size - _LONGEST_LINE
                held, size = [b"".join(held)[:_LONGEST_LINE]], _LONGEST_LINE
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


def _behind_nuls(file: io.BufferedReader, head: bytes) -> bytes:
    """The first bytes behind NULs that stand where a log was cut off while it was written: a file keeps their room. What
    cannot be read ahead, and all that is NULs, is ``head``."""
    if not head.startswith(b"\0"):
        return head
    found = head.lstrip(b"\0")
    if found or not file.seekable():
        return found or head
    start = file.tell()
    try:
        while not found and file.tell() < start + _MOST_NULS and (block := file.read(_PIECE_BYTES)):
            found = block.lstrip(b"\0")
        return found[:_SAMPLE_BYTES] or head
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
