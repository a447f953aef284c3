"""In which order were events written, and which of them are the same one told twice?

CloudWatch promises no order within an object, two exports may overlap, and a subscription delivers at least once. So the events
of a job are sorted by stream and time; beyond so many bytes in runs on disk, which are merged: a job of any size takes the
memory of one run.
"""

from __future__ import annotations

import heapq
import marshal
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import chain, pairwise
from operator import itemgetter
from typing import IO

from monitor.fetch.exports.event import ExportedEvent

#: Of the text that is sorted in memory at once.
RUN_BYTES = 64 << 20
# What an event takes beside its message.
_EVENT_BYTES = 200
_BATCH = 4096
_LENGTH_BYTES = 8
_KEY = itemgetter(0, 1)


class InOrder:
    """The events of one job, each once, in the order of its log. Reads them all when it is made; iterated, gives them again."""

    def __init__(self, events: Iterable[ExportedEvent], run_bytes: int = RUN_BYTES) -> None:
        self._files = ExitStack()
        self._runs: list[tuple[IO[bytes], ExportedEvent, ExportedEvent]] = []
        self.count = 0
        self.first_ms: int | None = None
        self.last_ms: int | None = None
        self.streams: set[str] = set()
        held: list[ExportedEvent] = []
        size = 0
        for event in events:
            held.append(event)
            size += len(event.message) + _EVENT_BYTES
            if size >= run_bytes:
                self._spill(held)
                held, size = [], 0
        held.sort(key=_KEY)
        self._look_at(held)
        self._held = held

    def __iter__(self) -> Iterator[ExportedEvent]:
        together: list[ExportedEvent] = []
        for event in self._merged():
            if together and (event.time_ms != together[0].time_ms or event.stream != together[0].stream):
                yield from together if len(together) == 1 else once(together)
                together = []
            together.append(event)
        yield from once(together)

    def close(self) -> None:
        """Lets go of the disk."""
        self._files.close()

    def _look_at(self, run: list[ExportedEvent]) -> None:
        self.count += len(run)
        self.streams.update(event.stream for event in run)
        times = [event.time_ms for event in run if event.time_ms >= 0]
        if times:
            self.first_ms = min(times) if self.first_ms is None else min(self.first_ms, min(times))
            self.last_ms = max(times) if self.last_ms is None else max(self.last_ms, max(times))

    def _spill(self, run: list[ExportedEvent]) -> None:
        run.sort(key=_KEY)
        self._look_at(run)
        file = self._files.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        for place in range(0, len(run), _BATCH):
            batch = marshal.dumps([tuple(event) for event in run[place : place + _BATCH]])
            # marshal.load reads a file a few bytes at a time.
            file.write(len(batch).to_bytes(_LENGTH_BYTES))
            file.write(batch)
        self._runs.append((file, run[0], run[-1]))

    def _merged(self) -> Iterator[ExportedEvent]:
        runs = [_read(file) for file, _, _ in self._runs]
        ends = [(_KEY(first), _KEY(last)) for _, first, last in self._runs]
        if self._held:
            runs.append(iter(self._held))
            ends.append((_KEY(self._held[0]), _KEY(self._held[-1])))
        # As nearly always, what was read later is later.
        if all(last <= first for (_, last), (first, _) in pairwise(ends)):
            return chain.from_iterable(runs)
        return heapq.merge(*runs, key=_KEY)


def once(together: list[ExportedEvent]) -> Iterator[ExportedEvent]:
    """Events of one stream and time without those that are told again: the same id, or the same message in another source as
    often as there."""
    by_source: dict[str, list[ExportedEvent]] = defaultdict(list)
    ids: set[str] = set()
    for event in together:
        if not event.id or event.id not in ids:
            by_source[event.source].append(event)
            ids.add(event.id)
    given: Counter[str] = Counter()
    for mine in by_source.values():
        seen: Counter[str] = Counter()
        for event in mine:
            seen[event.message] += 1
            if seen[event.message] > given[event.message]:
                given[event.message] += 1
                yield event


def _read(file: IO[bytes]) -> Iterator[ExportedEvent]:
    place = 0
    # Two that iterate at the same time each go on where they were.
    while file.seek(place) == place and (head := file.read(_LENGTH_BYTES)):
        batch = marshal.loads(file.read(int.from_bytes(head)))
        place = file.tell()
        yield from map(ExportedEvent._make, batch)
