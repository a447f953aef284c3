"""Is a file a table of log events, and what were they?

The console's CSV of a search or of Logs Insights, what Insights copies as Markdown, as text or for a spreadsheet, and
the text that `aws logs get-log-events --output text` prints.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, dropwhile, islice
from typing import NamedTuple

from monitor.fetch.files.events import Event, as_pages, oldest_first, portions, unix_ms
from monitor.model import LogPage

_NAMES = {
    "time": {"@timestamp", "timestamp", "time"},
    "message": {"@message", "message"},
    "stream": {"@logstream", "logstreamname", "logstream", "log stream", "log stream name"},
}
_NAME = re.compile(r"[@\w][\w .@-]{0,60}")
_MOST_COLUMNS = 40
_CELL = {
    mark: re.compile(
        rf'(?:"(?P<quoted>(?:[^"]++|"")*+)"?+(?P<rest>[^{mark}]*+)|(?P<plain>[^{mark}]*+))(?P<end>{mark}|$)'
    )
    for mark in ",\t"
}
_OPENS = {mark: re.compile(rf'(?:^|{mark})"') for mark in ",\t"}
_RULE = re.compile(r"\|?[\s|:+-]{3,}+")
_EVENTS = re.compile(r"EVENTS\t(?:\d{20,80}\t)?\d{13}\t")
_EVENT = re.compile(
    r"EVENTS\t(?:\d{20,80}\t\d{13}\t(?P<stream>[^\t]{1,512}+)\t|\d{13}\t)(?P<message>.*+)(?<=\t(?P<time>\d{13}))", re.S
)
_TIME_AT_END = re.compile(r"\t\d{13}$")
_STAMPED = re.compile(r"(?P<time>1[0-9]{12}|2[0-9]{12})\t(?P<rest>.*+)", re.S)


class _Columns(NamedTuple):
    """How many columns there are, and which is what; -1 for one that is not there."""

    width: int
    time: int
    message: int
    stream: int


def reader(sample: Sequence[str]) -> Callable[[Iterator[LogPage]], Iterator[LogPage]] | None:
    """What restores the pages that begin with ``sample`` (its blank lines left out), if they are such a table."""
    for line in sample:
        if line.startswith("|") and (columns := _columns(_bars(line))):
            return partial(_restored, read=partial(_of_bars, columns), head=line)
    first = sample[0]
    for mark in ",\t":
        if mark in first[:2000] and (columns := _columns(_cells(first, mark, _MOST_COLUMNS))):
            return partial(_restored, read=partial(_of_cells, columns, mark), head=first)
    if sum(bool(_EVENTS.match(line)) for line in sample) >= max(1, len(sample) // 3):
        return partial(_restored, read=_of_text, head=None)
    if len(sample) > 1 and sum(bool(_STAMPED.match(line)) for line in sample) >= 0.8 * len(sample):
        return _stamped
    return None


def _restored(
    pages: Iterator[LogPage], read: Callable[[Iterator[str]], Iterator[Event]], head: str | None
) -> Iterator[LogPage]:
    first = next(pages)
    lines: Iterator[str] = (line for page in chain([first], pages) for line in page.lines)
    if head is not None:
        lines = islice(dropwhile(lambda line: line != head, lines), 1, None)
    written: dict[str, int] = {}
    for events in portions(read(lines)):
        yield from as_pages(oldest_first(events), first, written)


def _columns(names: Sequence[str]) -> _Columns | None:
    if not 1 < len(names) <= _MOST_COLUMNS or not all(_NAME.fullmatch(name) for name in names):
        return None
    place = {
        kind: next((at for at, name in enumerate(names) if name.lower() in known), -1) for kind, known in _NAMES.items()
    }
    if place["message"] < 0 or max(place["time"], place["stream"]) < 0:
        return None
    return _Columns(len(names), place["time"], place["message"], place["stream"])


def _event(cells: Sequence[str], columns: _Columns) -> Event:
    def cell(place: int) -> str:
        return cells[place] if 0 <= place < len(cells) else ""

    return Event(cell(columns.stream).strip(), unix_ms(cell(columns.time)), cell(columns.message))


# --- Markdown and text: a row a line, bars between the cells ------------------------------------------------------


def _bars(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|", _MOST_COLUMNS + 1)]


def _of_bars(columns: _Columns, lines: Iterator[str]) -> Iterator[Event]:
    row: list[str] = []
    for line in lines:
        # A message of several lines goes on below its row, which it then does not close.
        if line.startswith("|") and row:
            yield from _of_row(columns, "\n".join(row))
            row = []
        if row or line.startswith("|"):
            row.append(line)
    if row:
        yield from _of_row(columns, "\n".join(row))


def _of_row(columns: _Columns, text: str) -> Iterator[Event]:
    if _RULE.fullmatch(text):
        return
    text = text.strip().removeprefix("|").removesuffix("|")
    cells = _folded(text.split("|", columns.message), columns, "|")
    if len(cells) == columns.width:
        event = _event([cell if at == columns.message else cell.strip() for at, cell in enumerate(cells)], columns)
        yield event._replace(message=event.message.removeprefix(" ").rstrip(" "))


def _folded(front: list[str], columns: _Columns, mark: str) -> list[str]:
    """The cells of a row whose message may hold separators itself, as progress bars do."""
    behind = columns.width - columns.message - 1
    return [*front[:-1], *(front[-1].rsplit(mark, behind) if behind else front[-1:])]


# --- CSV and TSV: quotes around what holds a separator or a line's end --------------------------------------------


def _cells(record: str, mark: str, most: int) -> list[str]:
    """At most ``most`` cells and the text behind them."""
    cells: list[str] = []
    for found in _CELL[mark].finditer(record):
        quoted = found["quoted"]
        cells.append(found["plain"] if quoted is None else quoted.replace('""', '"') + (found["rest"] or ""))
        if not found["end"]:
            break
        if len(cells) == most:
            cells.append(record[found.end() :])
            break
    return cells


def _of_cells(columns: _Columns, mark: str, lines: Iterator[str]) -> Iterator[Event]:
    record: list[str] = []
    is_open = False
    for line in lines:
        if is_open or _OPENS[mark].search(line):
            is_open ^= line.count('"') % 2 == 1
        record.append(line)
        if not is_open:
            yield from _of_record(columns, mark, "\n".join(record))
            record = []
    yield from _of_record(columns, mark, "\n".join(record))


def _of_record(columns: _Columns, mark: str, text: str) -> Iterator[Event]:
    if not text.strip():
        return
    cells = _cells(text, mark, columns.width)
    if len(cells) > columns.width and not _OPENS[mark].search(text):
        cells = _folded(text.split(mark, columns.message), columns, mark)
    yield _event(cells, columns)


# --- the text of the AWS CLI --------------------------------------------------------------------------------------


def _of_text(lines: Iterator[str]) -> Iterator[Event]:
    record: list[str] = []
    for line in lines:
        if record or _EVENTS.match(line):
            record.append(line)
        if record and _TIME_AT_END.search(line, max(0, len(line) - 14)):
            found = _EVENT.match("\n".join(record))
            if found:
                yield Event(found["stream"] or "", unix_ms(found["time"]), found["message"][:-14])
            record = []


def _stamped(pages: Iterator[LogPage]) -> Iterator[LogPage]:
    """`--query 'events[].[timestamp,message]' --output text`: milliseconds, a tab, the message."""
    time_ms: int | None = None
    for page in pages:
        lines, times = [], []
        for line in page.lines:
            found = _STAMPED.match(line)
            if found:
                time_ms = unix_ms(found["time"])
            lines.append(found["rest"] if found else line)
            times.append(time_ms)
        yield LogPage.of(page.stream, page.node, page.first_line, lines, tuple(times))
