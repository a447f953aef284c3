"""The shape of a line as a key: its text with one sign for every run of digits, and one for what a bar or a column is drawn with.

Keys of a whole page are made at once. What a key leaves out (the digits, and how long a run is) is all that lines of one
shape differ in.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.parse.columns import Floats

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]

#: More digits are no whole number that a float holds.
MOST_DIGITS = 15
CLASSES = 4 * (MOST_DIGITS + 1)
# What a key has for each of these, and for their runs: numbers below _RUNS. A block of a bar is 0, a digit 1.
_DRAWN = b" #=-.*_"
_DIGIT, _RUNS = 1, 2 + len(_DRAWN)
# What is the same as the byte before it, and is left out; no text holds such a byte.
_AGAIN = b"\xff"
_NO_KEYS = {*range(_RUNS), *_AGAIN}
_TABLE = bytes(
    _DIGIT if byte in b"0123456789" else 2 + _DRAWN.index(byte) if byte in _DRAWN else 127 if byte in _NO_KEYS else byte
    for byte in range(256)
)
_BLOCK = b"\xe2"
# Hexadecimal numbers by their keys: other digits and letters each time.
_HEX = re.compile(
    rb"\x01x[\x01a-f]+|(?<![\x01\w])[\x01a-f]*(?:[a-f]\x01|\x01[a-f])(?:\x01[a-f]|[a-f]\x01|[\x01a-f]){2,}(?![\x01\w])"
)
#: Of ten.
POWERS = 10 ** np.arange(MOST_DIGITS + 1, dtype=np.int64)
_FLOATS = POWERS.astype(float)
# Of longer runs two are told apart by so many digits; shorter ones are numbers of 32 bits.
_MOST_READ, _OF_32_BITS = 40, 10


def keys(page: bytes) -> bytes:
    """The keys of a page's lines, with a line feed between them."""
    marked = np.frombuffer(bytearray(page.translate(_TABLE)), np.uint8)
    if _BLOCK in page:
        for place in _blocks(np.frombuffer(page, np.uint8)):
            marked[place] = 0
    again = marked[1:] == marked[:-1]
    again &= marked[1:] < _RUNS
    np.putmask(marked[1:], again, _AGAIN[0])
    return marked.tobytes().translate(None, _AGAIN)


def _blocks(page: Bytes) -> tuple[Ints, ...]:
    """Where the bytes of blocks and lines stand that bars are drawn with."""
    at = np.flatnonzero(page[:-2] == _BLOCK[0])
    second, third = page[at + 1], page[at + 2]
    # Where a line was cut within a block its end is none of it.
    drawn = (second == 0x96) & (third >= 0x80) & (third < 0xA0)
    drawn |= (second == 0x94) & (third == 0x81)
    drawn |= (second == 0x95) & ((third == 0xB8) | (third == 0xBA))
    at = at[drawn]
    return at, at + 1, at + 2


def without_hex(key: bytes) -> bytes:
    """The key with one sign for each hexadecimal number."""
    return _HEX.sub(b"\x01", key)


class RunsOfLines(NamedTuple):
    """The runs of digits of lines that have equally many: a row each run, a column each line."""

    page: DigitRuns
    at: Ints
    values: Ints
    widths: Ints
    classes: Bytes


class DigitRuns:
    """The runs of digits on a page."""

    def __init__(self, page: bytes) -> None:
        self.page = page
        self._digits = np.frombuffer(page, np.uint8) - np.uint8(ord("0"))
        edges = np.zeros(len(page) + 2, bool)
        np.less(self._digits, 10, out=edges[1:-1])
        bounds = np.flatnonzero(edges[1:] != edges[:-1])
        self.starts, self.ends = bounds[::2], bounds[1::2]
        self.widths = self.ends - self.starts

    def first(self, starts: Ints) -> Ints:
        """The number of the first run behind each of these places."""
        return np.searchsorted(self.starts, starts)

    def of(self, at: Ints) -> RunsOfLines:
        """Those with these numbers, a column a line."""
        return RunsOfLines(self, at, self.values.take(at), self.widths.take(at), self.classes.take(at))

    @cached_property
    def values(self) -> Ints:
        """Each as a whole number; of more than 18 digits it is none."""
        out = np.empty(len(self.starts), np.int64)
        widths = np.minimum(self.widths, _MOST_READ)
        for width in np.flatnonzero(np.bincount(widths)).tolist():
            at = np.flatnonzero(widths == width)
            starts = self.starts[at]
            value: Ints = self._digits.take(starts).astype(np.int32 if width < _OF_32_BITS else np.int64)
            for place in range(1, width):
                value *= 10
                value += self._digits.take(starts + place)
            out[at] = value
        return out

    @cached_property
    def classes(self) -> Bytes:
        """Of each how long it is, and whether it is nothing, begins with a zero, or is a power of ten: below CLASSES."""
        widths, values = np.minimum(self.widths, MOST_DIGITS), self.values
        # Nothing, a hundred per cent: what is said there may be another thing.
        kinds = np.where(self._digits.take(self.starts) == 0, values != 0, 2 + (values == POWERS.take(widths - 1)))
        out: Bytes = (4 * widths + kinds).astype(np.uint8)
        return out


def decimal(mantissa: Ints, decimals: Ints) -> Floats:
    """mantissa / 10^decimals, as the number is read that is printed so: exact as both are."""
    out: Floats
    if len(decimals) and decimals.min() >= 0 and decimals.max() <= MOST_DIGITS:
        out = mantissa / _FLOATS[decimals]
        return out
    power = 10.0 ** np.abs(decimals)
    out = np.where(decimals >= 0, mantissa / power, mantissa * power)
    return out
