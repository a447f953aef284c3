"""What does an object of a subscription hold? Records of CloudWatch Logs as Firehose puts them behind one another.

Each is ``{"messageType", "owner", "logGroup", "logStream", "logEvents": [{"id", "timestamp", "message"}]}``, gzip by itself, and
all of them once more where Firehose compresses; nothing stands between two. Firehose delivers at least once: what came twice has
the same id.
"""

from __future__ import annotations

import codecs
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from monitor.fetch.exports.event import ExportedEvent
from monitor.fetch.exports.lines import text_of
from monitor.fetch.exports.names import job_of_stream
from monitor.fetch.files.text import BrokenTextError
from monitor.fetch.logs.streams import GROUP

SOURCE = "subscription"
_GZIP = b"\x1f\x8b"
_PIECE_BYTES = 4 << 20
# One record: CloudWatch sends at most a MiB, compressed.
_MOST_CHARS = 256 << 20
_HEAD = re.compile(rb'\s*\{\s*"(?:messageType|owner|logGroup|logStream|subscriptionFilters|logEvents)"\s*:')


@dataclass(frozen=True, slots=True)
class Record:
    """Events of one stream of a training job."""

    owner: str
    """The number of its account."""
    job: str
    events: tuple[ExportedEvent, ...]


def is_subscription(file: io.BufferedReader) -> bool:
    """Whether the object begins as one; nothing is taken from it."""
    head = file.peek(1 << 16)
    for _ in range(2):
        if head.startswith(_GZIP):
            try:
                head = zlib.decompressobj(wbits=31).decompress(head, 1 << 16)
            except zlib.error:
                return False
    return _HEAD.match(head) is not None


def records(file: io.BufferedReader) -> Iterator[Record]:
    """Those of training jobs. BrokenTextError, behind all that can be read, where the object is damaged or cut off."""
    for found in _values(file):
        told = _record(found)
        if told is not None:
            yield told


def _record(value: Any) -> Record | None:
    if not isinstance(value, dict) or value.get("messageType") != "DATA_MESSAGE" or value.get("logGroup") != GROUP:
        return None
    stream, events = value.get("logStream"), value.get("logEvents")
    job = job_of_stream(stream) if isinstance(stream, str) else None
    if job is None or not isinstance(stream, str) or not isinstance(events, list):
        return None
    told = (each for each in events if isinstance(each, dict) and isinstance(each.get("message"), str))
    return Record(
        str(value.get("owner") or ""),
        job,
        tuple(
            ExportedEvent(
                stream,
                _ms(each.get("timestamp")),
                SOURCE,
                str(each.get("id") or ""),
                text_of(each["message"].split("\n")),
            )
            for each in told
        ),
    )


def _ms(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else -1


def _values(file: io.BufferedReader) -> Iterator[Any]:
    decoder, text = json.JSONDecoder(), ""
    for piece in _text(file):
        found, text = _whole(decoder, text + piece)
        yield from found
        if len(text) > _MOST_CHARS:
            break
    if text:
        raise BrokenTextError("it ends within a record")


def _text(file: io.BufferedReader) -> Iterator[str]:
    source: Any = file
    # The one that Firehose made, and those of the single records.
    for _ in range(2):
        if source.peek(2)[:2] == _GZIP:
            source = gzip.GzipFile(fileobj=source, mode="rb")
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    try:
        # read1 gives what a damaged object still holds before it fails.
        while piece := source.read1(_PIECE_BYTES):
            yield decoder.decode(piece)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BrokenTextError(str(error)) from error
    yield decoder.decode(b"", final=True)


def _whole(decoder: json.JSONDecoder, text: str) -> tuple[list[Any], str]:
    """The records that end in a text, and what is left of it."""
    found: list[Any] = []
    place = _behind_blanks(text, 0)
    while place < len(text):
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            break
        found.append(value)
        place = _behind_blanks(text, place)
    return found, text[place:]


def _behind_blanks(text: str, place: int) -> int:
    while text[place : place + 1].isspace():
        place += 1
    return place
