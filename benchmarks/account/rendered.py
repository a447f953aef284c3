"""What does an event look like in an answer? Each is written as JSON once; a page is a slice of these bytes."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from benchmarks.account.streams import Numbers, Stream

# CloudWatch Logs counts an event as its message in UTF-8 and 26 bytes, and puts at most 1 MiB on a page. Whether a
# page of GetLogEvents is measured so too, or as its JSON, is not documented.
_EVENT_BYTES = 26
PAGE_BYTES = 1_048_576
PAGE_EVENTS = 10_000

_quoted = json.encoder.encode_basestring  # leaves letters beyond ASCII as they are, as AWS does


@dataclass(frozen=True, slots=True)
class Rendered:
    """All events of a stream, each followed by a comma."""

    text: memoryview
    starts: Numbers
    """Where each event begins, and the end of all."""
    sizes: Numbers
    """What each event counts on a page, in bytes."""

    def page(self, places: Numbers) -> bytes | memoryview:
        """The events at these places (ascending), with commas between them."""
        if not len(places):
            return b""
        first, last = int(places[0]), int(places[-1])
        if last - first + 1 == len(places):
            return self.text[int(self.starts[first]) : int(self.starts[last + 1]) - 1]
        return b",".join(self.event(place) for place in places.tolist())

    def event(self, place: int) -> memoryview:
        """One event, a JSON object."""
        return self.text[int(self.starts[place]) : int(self.starts[place + 1]) - 1]


def rendered(stream: Stream) -> Rendered:
    """About a microsecond and 250 bytes an event."""
    texts = stream.texts()
    events = [
        f'{{"ingestionTime":{there},"message":{_quoted(text)},"timestamp":{time}}},'.encode()
        for there, text, time in zip(stream.ingested.tolist(), texts, stream.times.tolist(), strict=True)
    ]
    starts = np.zeros(len(events) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, events), np.int64, len(events)), out=starts[1:])
    sizes = np.fromiter((len(text) if text.isascii() else len(text.encode()) for text in texts), np.int64, len(texts))
    return Rendered(memoryview(b"".join(events)), starts, sizes + _EVENT_BYTES)


def that_fit(sizes: Numbers, limit: int) -> int:
    """How many of the events fit on one page, in their order: at least one, and at most ``limit``."""
    fitting = int(np.searchsorted(np.cumsum(sizes[:limit]), PAGE_BYTES, "right"))
    return max(1, fitting) if len(sizes) else 0


def page_count(sizes: Numbers) -> int:
    """How many pages all the events take: the fewest calls with which a stream can be read."""
    ends = np.cumsum(sizes)
    at = pages = 0
    while at < len(sizes):
        before = int(ends[at - 1]) if at else 0
        at = min(max(at + 1, int(np.searchsorted(ends, before + PAGE_BYTES, "right"))), at + PAGE_EVENTS)
        pages += 1
    return pages
