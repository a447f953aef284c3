"""CBOR, as much of it as the rpc-v2 protocol needs: values to bytes and back (RFC 8949)."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

_BREAK = 0xFF
_WIDTHS = {24: ">B", 25: ">H", 26: ">I", 27: ">Q"}
_FLOATS = {25: ">e", 26: ">f", 27: ">d"}
_SIMPLE = {20: False, 21: True, 22: None, 23: None}


class Ready(NamedTuple):
    """Bytes that are CBOR already."""

    body: bytes


def written(value: Any) -> bytes:
    """The value's bytes: None, bool, int, float, str, bytes, list, dict with text keys, and what is Ready."""
    match value:
        case Ready(body):
            return body
        case None:
            return b"\xf6"
        case bool():
            return b"\xf5" if value else b"\xf4"
        case int():
            return _head(0, value) if value >= 0 else _head(1, -1 - value)
        case float():
            return struct.pack(">Bd", 0xFB, value)
        case bytes():
            return _head(2, len(value)) + value
        case str():
            text = value.encode()
            return _head(3, len(text)) + text
        case list() | tuple():
            return array_head(len(value)) + b"".join(map(written, value))
        case dict():
            return _head(5, len(value)) + b"".join(written(part) for pair in value.items() for part in pair)
    raise TypeError(f"{type(value).__name__} has no CBOR here")


def array_head(count: int) -> bytes:
    """What stands before that many values of an array."""
    return _head(4, count)


def read(body: bytes) -> Any:
    """The value that the bytes hold; moments become epoch numbers. ValueError for what is no CBOR."""
    try:
        return _item(body, 0)[0]
    except (IndexError, KeyError, struct.error) as error:
        raise ValueError("not CBOR") from error


def _head(kind: int, number: int) -> bytes:
    if number < 24:
        return bytes([kind << 5 | number])
    for more, form in _WIDTHS.items():
        if number < 1 << 8 * struct.calcsize(form):
            return bytes([kind << 5 | more]) + struct.pack(form, number)
    raise ValueError("a number of more than 64 bits")


def _item(body: bytes, at: int) -> tuple[Any, int]:
    kind, more = body[at] >> 5, body[at] & 31
    at += 1
    if kind == 7:
        if more in _SIMPLE:
            return _SIMPLE[more], at
        return struct.unpack_from(_FLOATS[more], body, at)[0], at + struct.calcsize(_FLOATS[more])
    count: int | None = more
    if more == 31:
        count = None
    elif more >= 24:
        count = struct.unpack_from(_WIDTHS[more], body, at)[0]
        at += struct.calcsize(_WIDTHS[more])
    if kind in (4, 5):
        return _collection(body, at, count, kind == 5)
    if count is None:
        raise ValueError("text in pieces")
    match kind:
        case 0:
            return count, at
        case 1:
            return -1 - count, at
        case 6:
            return _item(body, at)
    piece = body[at : at + count]
    return piece if kind == 2 else piece.decode(), at + count


def _collection(body: bytes, at: int, count: int | None, pairs: bool) -> tuple[Any, int]:
    found: list[Any] = []
    wanted = None if count is None else count * (2 if pairs else 1)
    while wanted is None or len(found) < wanted:
        if wanted is None and body[at] == _BREAK:
            at += 1
            break
        value, at = _item(body, at)
        found.append(value)
    return (dict(zip(found[::2], found[1::2], strict=True)) if pairs else found), at
