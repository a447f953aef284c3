"""What does a stretch of a log say, line by line? Who wrote it, at which level, what was recognized; without its
secrets."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from monitor.fetch.logs.streams import node_of_stream
from monitor.masking import MASK, KeyLines, without_secrets
from monitor.model import LogLine, LogSpan
from monitor.parse.envelope import TAG, fragments, without_escapes, without_octal
from monitor.parse.gates import Recogniser
from monitor.parse.levels import level_of
from monitor.parse.told import streams, told

#: A cell holds no more of a line; all of it is shown on demand.
LONGEST_CELL = 500
# So much of a line is looked at for who wrote it.
_HEAD = 4_000
# Lines before the new ones that are looked at again: a clock that they print is differenced.
_CONTEXT = 200
_COLUMNS = {
    "time": "datetime64[ms, UTC]",
    "stream": "str",
    "node": "str",
    "rank": "Int64",
    "level": "str",
    "known": "str",
    "line": "str",
    "whole": "str",
    "masked": "bool",
    "digest": "int64",
}
_REDRAW = re.compile(r"[\r\b]+")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class LogTable:
    """The lines of a span as a frame, in time.

    ``time stream node rank level known line whole masked digest``: ``line`` is what stands in a cell, ``whole`` the line as
    it is; both without secrets. ``digest`` tells lines of one time apart.
    """

    frame: pd.DataFrame
    span: LogSpan


def tabled(
    span: LogSpan,
    extra: tuple[Recogniser, ...] = (),
    further: tuple[Recogniser, ...] = (),
    before: LogTable | None = None,
    secrets: tuple[str, ...] = (),
) -> LogTable:
    """The table of a span; recognizers as the job's own review has them, ``secrets`` the job's own, masked anywhere.

    What ``before`` has is not read again.
    """
    skipped, same = (0, 0) if before is None else _same(before.span.lines, span.lines)
    lines = span.lines[max(0, same - _CONTEXT) :]
    nodes = {stream: node_of_stream(stream) for stream in {line.stream for line in lines}}
    pages = streams((line.stream, nodes[line.stream], line.time_ms, line.text) for line in lines)
    known, errors = told(pages, extra, further)
    numbers, keys = dict.fromkeys(nodes, 0), KeyLines()
    rows = []
    for at, line in enumerate(lines, start=max(0, same - _CONTEXT)):
        numbers[line.stream] += 1
        whole = MASK if keys.holds(line.stream, line.text) else without_secrets(line.text, secrets)
        if at >= same:
            place = (line.stream, numbers[line.stream])
            said = without_secrets(known.get(place, ""), secrets)
            rows.append(_row(line, whole, nodes[line.stream], said, place in errors))
    fresh = _frame(rows)
    if before is not None and same:
        fresh = pd.concat([before.frame.iloc[skipped : skipped + same], fresh], ignore_index=True)
    return LogTable(fresh, span)


def _same(old: Sequence[LogLine], new: Sequence[LogLine]) -> tuple[int, int]:
    """(how many of the old lines are gone from the head, how many of the new ones are the old ones that follow)."""
    skipped = next((at for at, line in enumerate(old) if new and line is new[0]), len(old))
    same = 0
    for known, line in zip(old[skipped:], new, strict=False):
        if known is not line:
            break
        same += 1
    return skipped, same


def _row(line: LogLine, whole: str, stream_node: str, known: str, is_error: bool) -> tuple[Any, ...]:
    rank, host, text = written(line.text)
    level = level_of(text)
    return (
        line.time_ms,
        line.stream,
        host or stream_node,
        rank,
        "error" if is_error and level != "warning" else level,
        known,
        cell(whole),
        whole,
        whole != line.text,
        zlib.crc32(f"{line.stream} {whole}".encode("utf-8", "replace")),
    )


def _frame(rows: Sequence[tuple[Any, ...]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=list(_COLUMNS))
    frame["time"] = pd.to_datetime(frame["time"].astype("int64"), unit="ms", utc=True).astype("datetime64[ms, UTC]")
    return frame.astype({name: dtype for name, dtype in _COLUMNS.items() if name != "time"})


def cell(whole: str) -> str:
    """A line as one cell: without process tag, colors and what was drawn over."""
    text = without_escapes(without_octal(whole[: 8 * LONGEST_CELL]))
    tag = TAG.match(text)
    text = text[tag.end() :] if tag else text
    drawn = [part for part in _REDRAW.split(text) if part.strip()]
    if len(drawn) > 1:
        text = f"… {drawn[-1]}"
    text = _CONTROLS.sub("", text.replace("\t", "    ")).rstrip()
    return text if len(text) <= LONGEST_CELL and len(whole) <= 8 * LONGEST_CELL else f"{text[: LONGEST_CELL - 1]}…"


def as_it_is(whole: str) -> str:
    """A line with its control characters made visible, so that nothing of it acts."""
    text = without_octal(whole).replace("\r\n", "\n").replace("\r", "␍\n").replace("\x1b", "␛").replace("\b", "␈")
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text.replace("\t", "    "))


def written(line: str) -> tuple[int | None, str, str]:
    """(rank, host, words) of the line's last piece, as its tags tell."""
    pieces = fragments(line[:_HEAD])
    if not pieces:
        return None, "", ""
    last = pieces[-1]
    return last.rank, last.host, last.text
