"""One job of exported logs as a source: its lines are those of its objects, what it was is what a kept description tells.

CloudWatch promises no order within an object, two exports may overlap, and a subscription delivers at least once. So the events
of a job are sorted by stream and time, each kept once; beyond so many bytes in runs on disk, which are merged: a job of any size
takes the memory of one run.
"""

from __future__ import annotations

import heapq
import marshal
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from itertools import chain, pairwise
from operator import itemgetter
from typing import IO, Literal

from monitor.fetch.cut_lines import joined
from monitor.fetch.exports.descriptions import Description, answer_of
from monitor.fetch.exports.records import ExportedEvent
from monitor.fetch.files.events import STREAM_NODE
from monitor.fetch.instance_types import lookup
from monitor.fetch.job_answer import job_of
from monitor.fetch.metrics.hosts import without_metrics
from monitor.fetch.source import Found, JobQuery
from monitor.model import ApiBill, Gap, Job, JobSummary, LogPage, Node, Price, RawMetrics

#: Under this name an archive notes which objects a job was read from.
MARK = "exported"
_PAGE_CHARS = 1 << 20
_PAGE_LINES = 10_000
UNDESCRIBED = Gap(
    "job",
    "Exported logs say nothing of the job itself, and no description of it was kept: its time is that from the first line to "
    "the last, which is less than what was billed; status, reasons, queue, spot, inputs and tags are not known, and instances "
    "only as far as the log names them.",
    "Keep what DescribeTrainingJob or Search answers, and name the folder with --descriptions.",
)


class ExportedJob:
    """The PageSource of one job. ``read`` gives its events and, when it has ended, ``gaps`` what could not be read of them."""

    gives: Literal["pages"] = "pages"
    clients = lines = None

    def __init__(
        self,
        name: str,
        read: Callable[[], Iterator[ExportedEvent]],
        mark: str,
        described: Description | Job | None = None,
    ) -> None:
        """``mark`` is a digest of all that the job is read from; ``described`` is a Job where the archive itself knows it."""
        self._name, self._read, self._mark = name, read, mark
        self._described = described
        self.gaps: list[Gap] = []
        self._sorted: InOrder | None = None

    @property
    def is_described(self) -> bool:
        return self._described is not None

    @property
    def events_read(self) -> int:
        return self._events().count

    def close(self) -> None:
        """Lets go of what was sorted."""
        if self._sorted is not None:
            self._sorted.close()

    def as_of(self, now: datetime) -> datetime:
        """The moment of which the logs and the description are: of a job that ran when it was described the later of both."""
        job = self.job()
        if job.ended is not None or not job.is_running:
            return now
        told = self._described.as_of if isinstance(self._described, Description) else None
        ends = [end for end in (told, _moment(self._events().last_ms)) if end is not None]
        return min(now, max(ends)) if ends else now

    def beginnings(self) -> dict[str, str]:
        return {MARK: self._mark}

    def goes_on(self, known: Mapping[str, str]) -> bool:
        """Whether a log of this name was read from exports, too: all lines of one name are one job, unless somebody says."""
        return MARK in known

    def jobs(self, query: JobQuery) -> tuple[JobSummary, ...]:
        """The one job there is, whatever the query."""
        return (JobSummary(self._name, status="", created=None),)

    def find(self, query: JobQuery) -> Found:
        return Found(self.jobs(query))

    def with_instances(self, summaries: Sequence[JobSummary]) -> tuple[JobSummary, ...]:
        return tuple(summaries)

    def job(self, name: str = "") -> Job:
        """As it is described, else what the streams tell. ``name`` is not used."""
        if isinstance(self._described, Job):
            return self._described
        if self._described is not None:
            return job_of(answer_of(self._described.answer), self._name)
        events = self._events()
        numbers = sorted(
            {int(node[1].removeprefix("algo-")) for node in map(STREAM_NODE.search, events.streams) if node}
        )
        nodes = tuple(Node(f"algo-{number}") for number in numbers)
        started, ended = _moment(events.first_ms), _moment(events.last_ms)
        return Job(self._name, source="logs", started=started, ended=ended, nodes=nodes)

    def logs(self, job: Job) -> _Lines:
        return _Lines(self._events(), (*self.gaps, *(() if self.is_described else (UNDESCRIBED,))))

    def metrics(self, job: Job, now: datetime) -> RawMetrics:
        return without_metrics("Exported logs contain no host metrics.")

    def profiled(self, job: Job) -> None:
        return None

    def endpoint(self) -> None:
        return None

    def instance_type(self, name: str) -> Node | None:
        return lookup(name)

    def price(self, instance_type: str, job: Job) -> Price | Gap | None:
        return None

    def bill(self) -> ApiBill:
        return ApiBill()

    def _events(self) -> InOrder:
        if self._sorted is None:
            self._sorted = InOrder(self._read())
        return self._sorted


class _Lines:
    """The LogReader of sorted events, which are read once."""

    numbering: Mapping[str, int | None] = {}
    progress = None

    def __init__(self, events: InOrder, gaps: tuple[Gap, ...]) -> None:
        self.gaps = gaps
        self._events: InOrder | None = events

    def newest(self) -> Iterator[LogPage]:
        yield from ()

    def read(self) -> Iterator[LogPage]:
        events, self._events = self._events, None
        if events is not None:
            yield from joined(_pages(events))


def _pages(events: InOrder) -> Iterator[LogPage]:
    stream, first, size = "", 1, 0
    lines: list[str] = []
    times: list[int | None] = []
    for event in events:
        if lines and (event.stream != stream or size >= _PAGE_CHARS or len(lines) >= _PAGE_LINES):
            yield _page(stream, first, lines, times)
            first = first + len(lines) if event.stream == stream else 1
            lines, times, size = [], [], 0
        stream = event.stream
        parts = event.message.split("\n")
        lines += parts
        times += [event.time_ms if event.time_ms >= 0 else None] * len(parts)
        size += len(event.message)
    if lines:
        yield _page(stream, first, lines, times)


def _page(stream: str, first: int, lines: Sequence[str], times: Sequence[int | None]) -> LogPage:
    node = STREAM_NODE.search(stream)
    return LogPage.of(stream, node[1] if node else "algo-1", first, lines, tuple(times))


def _moment(time_ms: int | None) -> datetime | None:
    return None if time_ms is None else datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=time_ms)


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
