"""Is a file the JSON that an AWS tool answered, and which events does it hold?

get-log-events and filter-log-events ({"events": [...]}, a list of events, or one a line), get-query-results
({"results": [[{"field", "value"}, ...], ...]}), and the list of rows that the console of Logs Insights copies.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from monitor.fetch.events import Event, as_pages, oldest_first, unix_ms
from monitor.model import LogPage

_KEYS = (
    "events|timestamp|message|logStreamName|ingestionTime|eventId|next(?:Forward|Backward)?Token|searchedLogStreams"
    "|results|queryLanguage|statistics|status|@(?:timestamp|message|logStream|log|ptr|ingestionTime)|field|value"
    "|ResponseMetadata"
)
_HEAD = re.compile(rf'[\[{{\s]{{1,200}}+"(?:{_KEYS})"\s*+:')
_EVENT_KEYS = {"timestamp", "message", "ingestionTime", "eventId", "logStreamName"}
_BLANK = re.compile(r"\s*+")


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
    """The events' lines; text that is no such answer after all passes as it is."""
    kept = list(pages)
    events = _events("\n".join(line for page in kept for line in page.lines))
    yield from as_pages(events, kept[0]) if events else kept


def _events(text: str) -> list[Event]:
    """The events of all answers in ``text``, one behind the other; none where anything else stands among them."""
    decoder, place, found = json.JSONDecoder(), 0, list[Event]()
    queried = False
    while place < len(text):
        blank = _BLANK.match(text, place)
        place = blank.end() if blank else place
        if place >= len(text):
            break
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            return []
        found += _of(value)
        queried = queried or '"@' in text[:2000] or (isinstance(value, dict) and "results" in value)
    return oldest_first(found) if queried else found


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
