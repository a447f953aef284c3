"""FilterLogEvents: one page of many streams together, by time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.account.answer import invalid
from benchmarks.account.rendered import PAGE_EVENTS, that_fit
from benchmarks.account.streams import Numbers, Stream, there
from benchmarks.account.tokens import Place, read, written
from benchmarks.account.world import World

_MOST_NAMES = 100
_TERMS = re.compile(r'"([^"]*)"|(\S+)')
_TOO_MUCH = re.compile(r"[?%{}\[\]$&|-]")


@dataclass(frozen=True, slots=True, eq=False)
class _Merged:
    """The events of some streams in one order: by time, then by when they came, then by stream."""

    streams: tuple[Stream, ...]
    times: Numbers
    ingested: Numbers
    settled: Numbers
    stream: Numbers
    """Which of the streams an event is of."""
    place: Numbers
    """Its place there."""
    sizes: Numbers


class Filter:
    """Answers for one account; the merged order of a choice of streams is worked out once."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._merged = lru_cache(8)(self._merge)

    def prepare(self) -> None:
        """Merges the streams of each job, which is what readers ask for."""
        for job in self._world.jobs:
            self._merged(tuple(name for name in self._world.streams if name.startswith(f"{job}/")))

    def filter_log_events(self, asked: dict[str, Any]) -> list[bytes | memoryview]:
        """The body of the answer. startTime and endTime are both included; searchedLogStreams is always empty.

        A page looks at up to 10,000 events and gives those that match, which may be none. Of filter patterns the stub
        knows terms and quoted phrases, which must all be in a message; it refuses others.
        """
        world = self._world
        world.check_group(asked.get("logGroupName"), asked.get("logGroupIdentifier"))
        merged = self._merged(tuple(self._names(asked)))
        limit = asked.get("limit", PAGE_EVENTS)
        if not 1 <= limit <= PAGE_EVENTS:
            raise invalid(f"1 validation error detected: Value '{limit}' at 'limit' failed to satisfy constraint")
        limit = min(limit, world.account.page_events)
        now_ms = world.clock.now_ms()
        index = pages = 0
        if token := asked.get("nextToken"):
            _, (index, pages, _) = read(token, "n", now_ms, world.account.token_ms)
        first = int(np.searchsorted(merged.times, asked.get("startTime", 0), "left"))
        last = int(np.searchsorted(merged.times, asked.get("endTime", 2**62), "right"))
        first = max(first, index)
        bound = first + limit + 1
        if bound < last and merged.settled[bound - 1] <= now_ms:
            # What lies behind the page need not be looked at, only that there is something.
            last = bound
        seen = there(merged.ingested, merged.settled, now_ms, first, max(first, last))
        page = seen[: that_fit(merged.sizes[seen[:limit]], limit)]
        events = self._events(merged, page, _terms(asked.get("filterPattern", "")))
        body: list[bytes | memoryview] = [b'{"events":[', b",".join(events), b'],"searchedLogStreams":[]']
        if len(page) < len(seen):
            following = written("n", Place(int(page[-1]) + 1, pages + 1, int(now_ms)))
            body.append(f',"nextToken":"{following}"'.encode())
        return [*body, b"}"]

    def _names(self, asked: dict[str, Any]) -> list[str]:
        names, prefix = asked.get("logStreamNames"), asked.get("logStreamNamePrefix")
        if names and prefix:
            raise invalid("logStreamNames and logStreamNamePrefix cannot be used together.")
        if names and len(names) > _MOST_NAMES:
            raise invalid(f"logStreamNames must not have more than {_MOST_NAMES} items.")
        if names:
            return [self._world.stream(name).name for name in sorted(set(names))]
        # Streams that are yet to come are part of the order; their events are not there before their time.
        found = [name for name in self._world.streams if name.startswith(prefix or "")]
        gone = {name for name, calls in self._world.faults.deleted if self._world.reads[name] > calls}
        return [name for name in found if name not in gone]

    def _merge(self, names: tuple[str, ...]) -> _Merged:
        streams = tuple(self._world.streams[name] for name in names)
        none = np.empty(0, np.int64)
        times = np.concatenate([none, *(stream.times for stream in streams)])
        ingested = np.concatenate([none, *(stream.ingested for stream in streams)])
        which = np.repeat(np.arange(len(streams)), [len(stream.times) for stream in streams])
        place = np.concatenate([none, *(np.arange(len(stream.times)) for stream in streams)])
        sizes = np.concatenate([none, *(self._world.rendered(stream).sizes for stream in streams)])
        order = np.lexsort((place, which, ingested, times))
        came = ingested[order]
        return _Merged(
            streams, times[order], came, np.maximum.accumulate(came), which[order], place[order], sizes[order]
        )

    def _events(self, merged: _Merged, page: Numbers, terms: Sequence[bytes]) -> list[bytes]:
        texts = [self._world.rendered(stream) for stream in merged.streams]
        names = [stream.name for stream in merged.streams]
        found = []
        for which, place, time in zip(
            merged.stream[page].tolist(), merged.place[page].tolist(), merged.times[page].tolist(), strict=True
        ):
            event = bytes(texts[which].event(place))
            if terms and not _matches(event, terms):
                continue
            more = f',"logStreamName":"{names[which]}","eventId":"{time:014d}{which:012d}{place:030d}"}}'
            found.append(event[:-1] + more.encode())
        return found


def _terms(pattern: str) -> list[bytes]:
    found = []
    for quoted, bare in _TERMS.findall(pattern):
        if bare and _TOO_MUCH.search(bare):
            raise invalid(f"The stub does not know the filter pattern {pattern}.")
        found.append((quoted or bare).encode())
    return found


def _matches(event: bytes, terms: Sequence[bytes]) -> bool:
    message = event[event.index(b'"message":"') + 11 : event.rindex(b'","timestamp":')]
    return all(term in message for term in terms)
