"""What does an object of CreateExportTask hold? ``2026-11-24T10:00:00.123Z message`` a line, gzip.

A message of several lines goes on in lines without a time.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from datetime import datetime

from monitor.fetch.exports.event import ExportedEvent
from monitor.fetch.files.text import chunks, text_kind

_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z(?: |$)")
_STAMP_CHARS = len("2026-11-24T10:00:00.123Z ")
_SECOND_CHARS = len("2026-11-24T10:00:00")


def events(file: io.BufferedReader, stream: str, source: str) -> Iterator[ExportedEvent]:
    """The events, in the order in which they stand there. BrokenTextError, behind all that can be read, where the object is
    damaged or cut off."""
    seen = text_kind(file)
    if seen.is_empty or not seen.is_text:
        return
    second, second_ms = "", 0
    time_ms, message = -1, list[str]()
    for chunk in chunks(file, seen):
        for line in chunk.data.decode("utf-8", "replace").split("\n"):
            if _STAMP.match(line) is None:
                message.append(line)
                continue
            if message:
                yield ExportedEvent(stream, time_ms, source, "", text_of(message))
            if line[:_SECOND_CHARS] != second:
                second = line[:_SECOND_CHARS]
                second_ms = _ms(second)
            time_ms = second_ms + int(line[_SECOND_CHARS + 1 : _SECOND_CHARS + 4])
            message = [line[_STAMP_CHARS:]]
    if message:
        yield ExportedEvent(stream, time_ms, source, "", text_of(message))


def text_of(lines: list[str]) -> str:
    """A message as it is read: a line feed at its end begins no line."""
    return "\n".join(lines[:-1] if len(lines) > 1 and not lines[-1] else lines)


def _ms(second: str) -> int:
    try:
        return int(datetime.fromisoformat(f"{second}+00:00").timestamp()) * 1000
    except ValueError:  # 99 o'clock
        return -1
