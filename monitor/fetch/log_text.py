"""How does a stream of bytes become lines? Plain, gzip or UTF-16 text, split at line feeds alone."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import cast

PAGE_LINES = 10_000
# Pages of very long lines (redrawn progress bars) end earlier.
_PAGE_BYTES = 4 << 20
_SAMPLE_BYTES = 8192

_GZIP = b"\x1f\x8b"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
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


def look(file: io.BufferedReader) -> Look:
    """What kind of bytes come; none is taken from the file. BrokenTextError for a gzip file with a damaged head."""
    head = file.peek(_SAMPLE_BYTES)
    is_gzip = head.startswith(_GZIP)
    sample = _unpacked(head) if is_gzip else head
    encoding = "utf-16" if sample.startswith(_UTF16) else "utf-8"
    is_empty = len(sample) < _SAMPLE_BYTES // 2 and not sample.decode(encoding, "replace").strip("\ufeff \t\r\n")
    return Look(is_empty, encoding == "utf-16" or _is_text(sample), is_gzip, encoding)


def pages(file: io.BufferedReader, seen: Look) -> Iterator[tuple[str, ...]]:
    """The lines in pages of at most ``PAGE_LINES``; no more than a page is in memory.

    Bytes that are no UTF-8 become U+FFFD. Where every line of the first page ends in carriage return and line feed,
    the carriage return is no part of the lines. BrokenTextError where gzip data are damaged or end too early: the whole
    lines before were given by then.
    """
    source: Iterable[bytes] | Iterable[str] = file
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


def _batches(source: Iterable[bytes] | Iterable[str]) -> Iterator[list[bytes] | list[str]]:
    batch: list = []
    size = 0
    try:
        for line in source:
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
