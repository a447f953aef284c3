"""Copies of a log that list its events one by one, as JSON or as a table: its pages again, a stream at a time.

The JSON that AWS tools answer: get-log-events and filter-log-events ({"events": [...]}, a list of events, or one a line),
get-query-results ({"results": [[{"field", "value"}, ...], ...]}), and the list of rows that the console of Logs Insights
copies.

The tables: the console's CSV of a search or of Logs Insights, what Insights copies as Markdown, as text or for a spreadsheet,
and the text that `aws logs get-log-events --output text` prints.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import chain, dropwhile, islice, pairwise
from typing import Any, NamedTuple

from monitor.model import LogPage

STREAM_NODE = re.compile(r"\b(algo-[1-9]\d{0,8})(?:-\d+)?$")
#: Of a copy that holds more than so many characters a part at a time is turned back.
PORTION_CHARS = 16 << 20
# What an event takes beside its message.
_EVENT_CHARS = 200
# 2001 to 2100: what lies outside is no time of a log, and some of it no time at all.
_EARLIEST_MS, _LATEST_MS = 978_307_200_000, 4_102_444_800_000


class CopiedEvent(NamedTuple):
    """One event as a copy shows it; ``stream`` is empty where the copy does not name it."""

    stream: str
    time_ms: int | None
    message: str


def as_pages(events: Iterable[CopiedEvent], origin: LogPage, written: dict[str, int]) -> Iterator[LogPage]:
    """One page a stream; events without a stream belong to ``origin``'s. ``written`` has how many lines each stream had
    before, and is added to.
    """
    streams: dict[str, tuple[list[str], list[int | None]]] = {}
    for event in events:
        lines, times = streams.setdefault(event.stream or origin.stream, ([], []))
        said = event.message.rstrip("\r\n").split("\n")
        lines += said
        times += [event.time_ms] * len(said)
    for name, (lines, times) in streams.items():
        node = STREAM_NODE.search(name)
        before = written.get(name, 0)
        written[name] = before + len(lines)
        yield LogPage.of(name, node[1] if node else origin.node, before + 1, lines, tuple(times))


def portions(events: Iterable[CopiedEvent]) -> Iterator[list[CopiedEvent]]:
    """The events in lists of so much text as may be in memory at once; of most copies that is one."""
    found: list[CopiedEvent] = []
    size = 0
    for event in events:
        found.append(event)
        size += len(event.message) + _EVENT_CHARS
        if size >= PORTION_CHARS:
            yield found
            found, size = [], 0
    if found:
        yield found


def oldest_first(events: list[CopiedEvent]) -> list[CopiedEvent]:
    """The events in time; a query's answer has the newest first. Those of one time keep their order."""
    times = [event.time_ms for event in events if event.time_ms is not None]
    if len(times) < len(events):
        return events
    falls = sum(later < earlier for earlier, later in pairwise(times))
    rises = sum(later > earlier for earlier, later in pairwise(times))
    return sorted(reversed(events) if falls > rises else events, key=lambda event: event.time_ms or 0)


def unix_ms(stamp: object) -> int | None:
    """Unix milliseconds of what a copy shows for a time: milliseconds, seconds, or ISO 8601; UTC where no zone stands."""
    if isinstance(stamp, str):
        text = stamp.strip().replace(",", ".")
        if text.isascii() and text.isdigit() and len(text) in {10, 13}:
            return unix_ms(int(text))
        try:
            moment = datetime.fromisoformat(text)
            stamp = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
        except (ValueError, OverflowError):
            return None
    if not isinstance(stamp, int) or isinstance(stamp, bool):
        return None
    time_ms = stamp * 1000 if 0 <= stamp < _LATEST_MS // 1000 else stamp
    return time_ms if _EARLIEST_MS <= time_ms < _LATEST_MS else None


_KEYS = (
    "events|timestamp|message|logStreamName|ingestionTime|eventId|next(?:Forward|Backward)?Token|searchedLogStreams"
    "|results|queryLanguage|statistics|status|@(?:timestamp|message|logStream|log|ptr|ingestionTime)|field|value"
    "|ResponseMetadata"
)
_HEAD = re.compile(rf'[\[{{\s]{{1,200}}+"(?:{_KEYS})"\s*+:')
_EVENT_KEYS = {"timestamp", "message", "ingestionTime", "eventId", "logStreamName"}
_BLANK, _BLANK_OR_COMMA = re.compile(r"\s*+"), re.compile(r"[\s,]*+")
_MEMBER = r'"[^"]{0,200}"\s{0,200}+:\s{0,200}+'
# An answer up to the first of its events, behind what is told in a word.
_LIST = re.compile(
    rf'\{{\s*+(?:{_MEMBER}(?:"[^"]{{0,2000}}"|\d{{1,20}}|null|\[\s*+\])\s*+,\s*+){{0,9}}"(?:events|results)"\s*+:\s*+\[|\['
)
_OPENED = '{"": 0'


def is_json(sample: Sequence[str]) -> bool:
    """Whether the first lines that are not blank may begin such an answer."""
    if not _HEAD.match("\n".join(sample[:6])):
        return False
    try:
        first = json.loads(sample[0])
    except (ValueError, RecursionError):
        return True  # it goes on over more lines, or is cut off
    return bool(_of(first))


def from_json(pages: Iterator[LogPage]) -> Iterator[LogPage]:
    """The events' lines; text that is no such answer after all passes as it is, of a very large one from where it is none."""
    origin: LogPage | None = None
    kept: list[LogPage] = []
    size = 0
    text, is_open = "", False
    written: dict[str, int] = {}
    for page in pages:
        origin = origin or page
        kept.append(page)
        size += len(page.data)
        if size >= PORTION_CHARS:
            taken = _taken(_together(text, kept), is_open)
            if taken is None:
                break
            found, text, is_open = taken
            yield from as_pages(found, origin, written)
            kept, size = [], 0
    assert origin is not None
    taken = _taken(_together(text, kept), is_open)
    if taken is not None and not taken[1].strip():
        yield from as_pages(taken[0], origin, written) if taken[0] or written else kept
        return
    if text:
        yield LogPage.of(origin.stream, origin.node, written.get(origin.stream, 0) + 1, text.split("\n"))
    yield from kept
    yield from pages


def _together(text: str, pages: Sequence[LogPage]) -> str:
    return "\n".join(([text] if text else []) + [line for page in pages for line in page.lines])


def _taken(text: str, is_open: bool) -> tuple[list[CopiedEvent], str, bool] | None:
    """(the events of all answers that end in ``text``, what is left of it, whether that is of a list that goes on); None where
    anything else stands among them.

    An answer that does not end in a text so long is opened: the elements of its list are taken one by one.
    """
    decoder, place, found = json.JSONDecoder(), 0, list[CopiedEvent]()
    queried = False
    while True:
        between = (_BLANK_OR_COMMA if is_open else _BLANK).match(text, place)
        place = between.end() if between else place
        if place >= len(text):
            break
        if is_open and text[place] == "]":
            is_open, place = False, place + 1
            place += _behind(text[place:])
            continue
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            head = None if is_open else _LIST.match(text, place)
            if head is not None and not found and len(text) >= PORTION_CHARS:
                is_open, place = True, head.end()
                continue
            if not found and (not is_open or len(text) >= 2 * PORTION_CHARS):
                return None
            break
        found += _of(value)
        queried = queried or '"@' in text[:2000] or (isinstance(value, dict) and "results" in value)
    return oldest_first(found) if queried else found, text[place:], is_open


def _behind(text: str) -> int:
    """How far what an answer says behind its list of events reaches; 0 where the list was all of it."""
    try:
        return json.JSONDecoder().raw_decode(_OPENED + text)[1] - len(_OPENED)
    except (ValueError, RecursionError):
        return 0


def _of(value: Any) -> list[CopiedEvent]:
    if isinstance(value, dict):
        for name in ("events", "results"):
            if isinstance(value.get(name), list):
                value = value[name]
                break
    items: Iterable[Any] = value if isinstance(value, list) else [value]
    return [event for item in items if (event := _json_event(item)) is not None]


def _json_event(item: Any) -> CopiedEvent | None:
    if isinstance(item, list):
        cells = [cell for cell in item if isinstance(cell, dict) and isinstance(cell.get("field"), str)]
        item = {cell["field"]: cell.get("value") for cell in cells}
    if not isinstance(item, dict):
        return None
    if "@message" in item:
        said = item["@message"]
        # The console shows a message that is JSON as what it says.
        message = said if isinstance(said, str) else json.dumps(said)
        return CopiedEvent(_name(item.get("@logStream")), unix_ms(item.get("@timestamp")), message)
    # Scripts, too, write JSON with a time and a message, and more beside them: that is a log.
    if isinstance(item.get("message"), str) and len(item) > 1 and item.keys() <= _EVENT_KEYS:
        return CopiedEvent(_name(item.get("logStreamName")), unix_ms(item.get("timestamp")), item["message"])
    return None


def _name(stream: Any) -> str:
    return stream if isinstance(stream, str) else ""


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


def table_reader(sample: Sequence[str]) -> Callable[[Iterator[LogPage]], Iterator[LogPage]] | None:
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
    pages: Iterator[LogPage], read: Callable[[Iterator[str]], Iterator[CopiedEvent]], head: str | None
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


def _row_event(cells: Sequence[str], columns: _Columns) -> CopiedEvent:
    def cell(place: int) -> str:
        return cells[place] if 0 <= place < len(cells) else ""

    return CopiedEvent(cell(columns.stream).strip(), unix_ms(cell(columns.time)), cell(columns.message))


# --- Markdown and text: a row a line, bars between the cells ------------------------------------------------------


def _bars(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|", _MOST_COLUMNS + 1)]


def _of_bars(columns: _Columns, lines: Iterator[str]) -> Iterator[CopiedEvent]:
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


def _of_row(columns: _Columns, text: str) -> Iterator[CopiedEvent]:
    if _RULE.fullmatch(text):
        return
    text = text.strip().removeprefix("|").removesuffix("|")
    cells = _folded(text.split("|", columns.message), columns, "|")
    if len(cells) == columns.width:
        event = _row_event([cell if at == columns.message else cell.strip() for at, cell in enumerate(cells)], columns)
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


def _of_cells(columns: _Columns, mark: str, lines: Iterator[str]) -> Iterator[CopiedEvent]:
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


def _of_record(columns: _Columns, mark: str, text: str) -> Iterator[CopiedEvent]:
    if not text.strip():
        return
    cells = _cells(text, mark, columns.width)
    if len(cells) > columns.width and not _OPENS[mark].search(text):
        cells = _folded(text.split(mark, columns.message), columns, mark)
    yield _row_event(cells, columns)


# --- the text of the AWS CLI --------------------------------------------------------------------------------------


def _of_text(lines: Iterator[str]) -> Iterator[CopiedEvent]:
    record: list[str] = []
    for line in lines:
        if record or _EVENTS.match(line):
            record.append(line)
        if record and _TIME_AT_END.search(line, max(0, len(line) - 14)):
            found = _EVENT.match("\n".join(record))
            if found:
                yield CopiedEvent(found["stream"] or "", unix_ms(found["time"]), found["message"][:-14])
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
