"""How does a stream of bytes become lines? Plain, gzip, UTF-16 or UTF-32 text, split at line feeds alone."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

PAGE_LINES = 10_000
# Pages of very long lines (redrawn progress bars) end earlier.
_PAGE_BYTES = 4 << 20
_SAMPLE_BYTES = 8192
# A line is read so far (bytes, or characters of UTF-16): no event is as long, and a file may lack line feeds altogether.
_LONGEST_LINE = 4 << 20

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
class Look:
    """What the first bytes show."""

    is_empty: bool = False
    is_text: bool = True
    is_gzip: bool = False
    encoding: str = "utf-8"
    kind: str = ""
    """What it is in place of text ("a zip archive"), where that is known."""


def look(file: io.BufferedReader) -> Look:
    """What kind of bytes come; none is taken from the file. BrokenTextError for a gzip file with a damaged head."""
    head = file.peek(_SAMPLE_BYTES)
    is_gzip = head.startswith(_GZIP)
    sample = _unpacked(head) if is_gzip else head
    kind = next((name for place, mark, name in _PACKED if sample.startswith(mark, place)), "")
    if kind:
        return Look(is_text=False, is_gzip=is_gzip, kind=kind)
    encoding = next((name for mark, name in _MARKS.items() if sample.startswith(mark)), "utf-8")
    is_empty = len(sample) < _SAMPLE_BYTES // 2 and not sample.decode(encoding, "replace").strip("\ufeff \t\r\n")
    return Look(is_empty, encoding != "utf-8" or _is_text(sample), is_gzip, encoding)


def pages(file: io.BufferedReader, seen: Look) -> Iterator[tuple[str, ...]]:
    """The lines in pages of at most ``PAGE_LINES``; no more than a page is in memory, and of a line its first 4 MiB.

    Bytes that are no UTF-8 become U+FFFD. Where every line of the first page ends in carriage return and line feed,
    the carriage return is no part of the lines. BrokenTextError where gzip data are damaged or end too early: the whole
    lines before were given by then.
    """
    source: io.BufferedReader | io.TextIOWrapper = file
    if seen.is_gzip:
        source = file = io.BufferedReader(cast("io.RawIOBase", gzip.GzipFile(fileobj=file)), 1 << 18)
    if seen.encoding != "utf-8":
        source = io.TextIOWrapper(file, seen.encoding, "replace", newline="\n")
    ends_in_crlf: bool | None = None
    for batch in _batches(source):
        text = _text(batch)
        if ends_in_crlf is None:
            text = text.removeprefix("\ufeff")
            ends_in_crlf = text.count("\r\n") == text.count("\n") > 0
        lines = (text.replace("\r\n", "\n") if ends_in_crlf else text).split("\n")
        if not lines[-1]:
            lines.pop()
        yield tuple(lines)


def _batches(source: io.BufferedReader | io.TextIOWrapper) -> Iterator[list[bytes] | list[str]]:
    batch: list = []
    size = 0
    try:
        while line := source.readline(_LONGEST_LINE):
            if len(line) >= _LONGEST_LINE:
                line = _without_rest(line, source)
            batch.append(line)
            size += len(line)
            if len(batch) >= PAGE_LINES or size >= _PAGE_BYTES:
                yield batch
                batch, size = [], 0
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        if batch:
            yield batch
        raise BrokenTextError(str(error)) from error
    if batch:
        yield batch


def _without_rest(line: Any, source: io.BufferedReader | io.TextIOWrapper) -> Any:
    """The beginning of a line that is too long; what follows up to the line feed is read past."""
    feed = b"\n" if isinstance(line, bytes) else "\n"
    last = line
    while last and not last.endswith(feed):
        last = source.readline(_LONGEST_LINE)
    return line if line.endswith(feed) else line + feed


def _text(batch: list[bytes] | list[str]) -> str:
    # One decoding a page: a line feed is never part of another character in UTF-8.
    if isinstance(batch[0], bytes):
        return b"".join(batch).decode("utf-8", "replace")
    return "".join(batch)


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
