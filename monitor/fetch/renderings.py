"""In which form was a log copied out of CloudWatch? JSON of the AWS tools, console pairs, and the SDK's rich console.

Each is turned back into the lines that were written, with their times and streams where the copy has them. Line numbers
stay those of the file: a line that was merged into another leaves an empty one behind.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from monitor.model import LogPage
from monitor.parse.envelope import without_escapes

# What the first page must show, in how many of its lines.
_SAMPLE = 60
_JSON_HEAD = re.compile(
    r'^\s*[\[{]\s*(?:"|\{\s*")(?:events|timestamp|logStreamName|ingestionTime|eventId|nextForwardToken)"'
)
_STREAM_NODE = re.compile(r"\b(algo-\d+)(?:-\d+)?$")
_STAMP_ALONE = re.compile(r"^20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?$")
# A record of rich's log handler: clock (or its width in blanks), level, message, and on the right where it came from.
_RICH = re.compile(r"^(?:\[[\d/]{8} [\d:]{8}\]| {15,21}) ?(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) {1,6}\S")
_RICH_MARGIN = re.compile(r"^(?:\[[\d/]{8} [\d:]{8}\]| {15,21}) ?(?:(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) {1,6}| {9})")
_RICH_STREAM = re.compile(r"^\S{1,200}/algo-\d+-\d+\s*:\s*")
_RICH_SOURCE = re.compile(r"\s+\w+\.py:\d+\s*$")


def restored(pages: Iterable[LogPage]) -> Iterator[LogPage]:
    """The pages as they were written, whatever copied them; pages of an ordinary log pass as they are."""
    iterator = iter(pages)
    first = next(iterator, None)
    if first is None:
        return
    together = _chain(first, iterator)
    change = _rendering(first)
    yield from together if change is None else change(together)


def _chain(first: LogPage, rest: Iterator[LogPage]) -> Iterator[LogPage]:
    yield first
    yield from rest


def _rendering(page: LogPage) -> Callable[[Iterator[LogPage]], Iterator[LogPage]] | None:
    if page.first_line != 1:
        return None
    sample = [line for line in page.lines[:_SAMPLE] if line.strip()]
    if not sample:
        return None
    if _JSON_HEAD.match(" ".join(sample[:4])):
        return _from_json
    stamps = sum(bool(_STAMP_ALONE.match(line.strip())) for line in sample)
    if stamps >= max(2, len(sample) // 4):
        return _from_pairs
    plain = [without_escapes(line) for line in sample]
    heads = sum(bool(_RICH.match(line)) for line in plain)
    margins = sum(bool(_RICH_MARGIN.match(line)) for line in plain)
    return _from_rich if heads >= 2 and margins >= 0.7 * len(plain) else None


def _from_json(pages: Iterator[LogPage]) -> Iterator[LogPage]:
    """The answers of get-log-events and filter-log-events; text that is no such answer passes as it is."""
    kept = list(pages)
    text = "\n".join(line for page in kept for line in page.lines)
    events = _events(text)
    if events is None:
        yield from kept
        return
    origin = kept[0]
    streams: dict[str, list[tuple[int | None, str]]] = {}
    for event in events:
        name = str(event.get("logStreamName") or origin.stream)
        lines = streams.setdefault(name, [])
        stamp = event.get("timestamp")
        lines += [(_ms(stamp), line) for line in str(event["message"]).rstrip("\n").split("\n")]
    for name, lines in streams.items():
        node = _STREAM_NODE.search(name)
        times = tuple(ms for ms, _ in lines)
        yield LogPage.of(name, node[1] if node else origin.node, 1, [line for _, line in lines], times)


def _events(text: str) -> list[dict[str, Any]] | None:
    decoder, place, found = json.JSONDecoder(), 0, []
    while place < len(text):
        head = re.compile(r"\s*").match(text, place)
        place = head.end() if head else place
        if place >= len(text):
            break
        try:
            value, place = decoder.raw_decode(text, place)
        except ValueError:
            return None
        for item in value if isinstance(value, list) else [value]:
            many = item.get("events") if isinstance(item, dict) else None
            found += many if isinstance(many, list) else [item]
    good = [event for event in found if isinstance(event, dict) and isinstance(event.get("message"), str)]
    return good or None


def _ms(stamp: object) -> int | None:
    if isinstance(stamp, int):
        return stamp
    if isinstance(stamp, str):
        try:
            moment = datetime.fromisoformat(stamp.replace("Z", "+00:00"))
        except ValueError:
            return None
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    return None


def _from_pairs(pages: Iterator[LogPage]) -> Iterator[LogPage]:
    """A copy from the console: the time on a line of its own, the message on the next."""
    stamp: int | None = None
    for page in pages:
        lines, times = [], []
        for line in page.lines:
            alone = _STAMP_ALONE.match(line.strip()) is not None
            if alone:
                stamp = _ms(line.strip().replace(",", "."))
            lines.append("" if alone else line)
            times.append(None if alone else stamp)
        yield LogPage.of(page.stream, page.node, page.first_line, lines, tuple(times))


def _from_rich(pages: Iterator[LogPage]) -> Iterator[LogPage]:
    """The console of the SDK's ModelTrainer: records wrapped at the terminal's width, colours inside of numbers."""
    for page in pages:
        plain = [without_escapes(line) for line in page.lines]
        out = [""] * len(plain)
        width = max((len(line.rstrip()) for line in plain if not _RICH.match(line)), default=0)
        head = None
        for place, line in enumerate(plain):
            if _RICH.match(line) or head is None or not _RICH_MARGIN.match(line):
                head = place
                out[place] = _RICH_SOURCE.sub("", _RICH_MARGIN.sub("", line)).rstrip()
            else:
                # A full line was cut in the middle of a word; else it ended at a blank.
                blank = "" if len(plain[place - 1].rstrip()) >= width else " "
                out[head] += blank + _RICH_MARGIN.sub("", line).rstrip()
        lines = [_RICH_STREAM.sub("", line) for line in out]
        yield LogPage.of(page.stream, page.node, page.first_line, lines, page.times_ms)
