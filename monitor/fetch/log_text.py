"""How does a stream of bytes become lines? Plain, gzip or UTF-16 text, split at line feeds alone."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

_PIECE_BYTES = 1 << 20
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


class Chunk(NamedTuple):
    """Whole lines out of the middle of a file."""

    data: bytes
    """UTF-8, a line feed between the lines and none behind the last."""
    size: int
    """How many bytes of the file they took up."""


def chunks(file: io.BufferedReader, seen: Look) -> Iterator[Chunk]:
    """The lines in pieces of about a MiB (one line, if that is longer); no more than a piece is in memory.

    Where every line of the first piece ends in carriage return and line feed, the carriage return is no part of the
    lines. BrokenTextError where gzip data are damaged or end too early: the whole lines before were given by then.
    """
    source = gzip.GzipFile(fileobj=file) if seen.is_gzip else file
    # read1 gives what a damaged file still holds before it fails.
    read: Callable[[int], bytes] = source.read1 if seen.is_gzip else source.read
    if seen.encoding != "utf-8":
        wide = io.TextIOWrapper(source, seen.encoding, "replace", newline="\n")

        def read(size: int) -> bytes:
            return wide.read(size).encode("utf-8", "replace")

    ends_in_crlf: bool | None = None
    for data in _whole_lines(read):
        size = len(data)
        if ends_in_crlf is None:
            data = data.removeprefix(_UTF8_MARK)
            ends_in_crlf = data.count(b"\r\n") == data.count(b"\n") > 0
        yield Chunk((data.replace(b"\r\n", b"\n") if ends_in_crlf else data).removesuffix(b"\n"), size)


def _whole_lines(read: Callable[[int], bytes]) -> Iterator[bytes]:
    held: list[bytes] = []
    size = 0
    broken: Exception | None = None
    while True:
        try:
            block = read(_PIECE_BYTES)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            block, broken = b"", error
        held.append(block)
        size += len(block)
        if block and (size < _PIECE_BYTES or b"\n" not in block):
            continue
        data = b"".join(held)
        cut = data.rfind(b"\n") + 1 if block or broken else len(data)
        if cut:
            yield data[:cut]
        held = [data[cut:]]
        size = len(held[0])
        if broken:
            raise BrokenTextError(str(broken)) from broken
        if not block:
            return


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
