"""Is a file the JSON that an AWS tool answered, and which events does it hold?

get-log-events and filter-log-events ({"events": [...]}, a list of events, or one a line), get-query-results
({"results": [[{"field", "value"}, ...], ...]}), and the list of rows that the console of Logs Insights copies.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from monitor.fetch.files.events import PORTION_CHARS, Event, as_pages, oldest_first, unix_ms
from monitor.model import LogPage

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


def looks_like(sample: Sequence[str]) -> bool:
    """Whether the first lines that are not blank may begin such an answer."""
    if not _HEAD.match("\n".join(sample[:6])):
        return False
    try:
        first = json.loads(sample[0])
    except (ValueError, RecursionError):
        return True  # it goes on over more lines, or is cut off
    return bool(_of(first))


def restored(pages: Iterator[LogPage]) -> Iterator[LogPage]:
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


def _taken(text: str, is_open: bool) -> tuple[list[Event], str, bool] | None:
    """(the events of all answers that end in ``text``, what is left of it, whether that is of a list that goes on); None where
    anything else stands among them.

    An answer that does not end in a text so long is opened: the elements of its list are taken one by one.
    """
    decoder, place, found = json.JSONDecoder(), 0, list[Event]()
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


def _of(value: Any) -> list[Event]:
    if isinstance(value, dict):
        for name in ("events", "results"):
            if isinstance(value.get(name), list):
                value = value[name]
                break
    items: Iterable[Any] = value if isinstance(value, list) else [value]
    return [event for item in items if (event := _event(item)) is not None]


def _event(item: Any) -> Event | None:
    if isinstance(item, list):
        cells = [cell for cell in item if isinstance(cell, dict) and isinstance(cell.get("field"), str)]
        item = {cell["field"]: cell.get("value") for cell in cells}
    if not isinstance(item, dict):
        return None
    if "@message" in item:
        said = item["@message"]
        # The console shows a message that is JSON as what it says.
        message = said if isinstance(said, str) else json.dumps(said)
        return Event(_name(item.get("@logStream")), unix_ms(item.get("@timestamp")), message)
    # Scripts, too, write JSON with a time and a message, and more beside them: that is a log.
    if isinstance(item.get("message"), str) and len(item) > 1 and item.keys() <= _EVENT_KEYS:
        return Event(_name(item.get("logStreamName")), unix_ms(item.get("timestamp")), item["message"])
    return None


def _name(stream: Any) -> str:
    return stream if isinstance(stream, str) else ""
