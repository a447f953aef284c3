"""One job of exported logs as a source: its lines are those of its objects, what it was is what a kept description tells.

CloudWatch promises no order within an object, two exports may overlap, and a subscription delivers at least once. So the
events of a job are sorted by stream and time, each kept once; beyond so many bytes in runs on disk, which are merged: a job
of any size takes the memory of one run.

The logs themselves tell neither status nor bill, neither instances nor reasons. A description is JSON that somebody kept: an
answer of DescribeTrainingJob, of Search, or the events of EventBridge, one a file, in a list, or one a line.
"""

from __future__ import annotations

import heapq
import json
import marshal
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain, pairwise
from operator import itemgetter
from typing import IO, Any, Literal

from monitor.fetch.cut_lines import joined
from monitor.fetch.exports.records import ExportedEvent
from monitor.fetch.files.events import STREAM_NODE
from monitor.fetch.instance_types import lookup
from monitor.fetch.jobs import job_of
from monitor.fetch.metrics.hosts import without_metrics
from monitor.fetch.source import JobQuery, JobQueryResult
from monitor.model import BEGINNING, ApiBill, Gap, Job, JobSummary, LogPage, Node, Price, RawMetrics

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

    def find(self, query: JobQuery) -> JobQueryResult:
        return JobQueryResult(self.jobs(query))

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
        self._take(held)
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

    def _take(self, run: list[ExportedEvent]) -> None:
        self.count += len(run)
        self.streams.update(event.stream for event in run)
        times = [event.time_ms for event in run if event.time_ms >= 0]
        if times:
            self.first_ms = min(times) if self.first_ms is None else min(self.first_ms, min(times))
            self.last_ms = max(times) if self.last_ms is None else max(self.last_ms, max(times))

    def _spill(self, run: list[ExportedEvent]) -> None:
        run.sort(key=_KEY)
        self._take(run)
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


# Of EventBridge, with what DescribeTrainingJob would answer under "detail".
_STATE_CHANGE = "SageMaker Training Job State Change"
_TIMES = frozenset(
    {"CreationTime", "TrainingStartTime", "TrainingEndTime", "LastModifiedTime", "StartTime", "EndTime", "Timestamp"}
)
# Unix seconds beyond this are milliseconds: the year 5138.
_SECONDS = 100_000_000_000


@dataclass(frozen=True, slots=True)
class Description:
    """What one answer says of one job, as it was then."""

    name: str
    answer: Mapping[str, Any]
    """JSON's own types, as it was kept."""
    tags: Mapping[str, str] | None
    """None where it does not tell."""

    @property
    def arn(self) -> str:
        return str(self.answer.get("TrainingJobArn") or "")

    @property
    def created(self) -> datetime | None:
        return moment(self.answer.get("CreationTime"))

    @property
    def as_of(self) -> datetime | None:
        """When the job last changed, as the answer tells."""
        ends = (moment(self.answer.get(name)) for name in ("LastModifiedTime", "TrainingEndTime", "CreationTime"))
        return max((end for end in ends if end is not None), default=None)


def descriptions(data: bytes) -> tuple[Description, ...]:
    """All that a file holds; ValueError where it is no JSON at all."""
    return tuple(found for value in _values(data.decode("utf-8-sig", "replace")) for found in _in(value))


def newest(found: Iterable[Description]) -> dict[str, tuple[Description, ...]]:
    """By the job's name: of each job (an account, a region, a creation time) the last that was said."""
    last: dict[tuple[str, str, datetime | None], Description] = {}
    for each in found:
        key = each.name, each.arn, each.created
        if key not in last or (each.as_of or BEGINNING) >= (last[key].as_of or BEGINNING):
            last[key] = each
    by_name: dict[str, tuple[Description, ...]] = {}
    for (name, _, _), each in last.items():
        by_name[name] = (*by_name.get(name, ()), each)
    return by_name


def answer_of(description: Mapping[str, Any]) -> dict[str, Any]:
    """As boto3 would give it: times are aware."""
    return {name: _timed(name, value) for name, value in description.items()}


def moment(value: Any) -> datetime | None:
    """A time as JSON has it: ISO 8601, or Unix seconds or milliseconds. None where it is none."""
    try:
        if isinstance(value, str):
            at = datetime.fromisoformat(value)
            return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000 if value > _SECONDS else value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def _timed(name: str, value: Any) -> Any:
    if name in _TIMES and not isinstance(value, (dict, list)):
        return moment(value)
    if isinstance(value, dict):
        return {inner: _timed(inner, item) for inner, item in value.items()}
    if isinstance(value, list):
        return [_timed("", item) for item in value]
    return value


def _values(text: str) -> Iterator[Any]:
    try:
        yield json.loads(text)
        return
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except ValueError:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) < 2:
            raise
    for line in lines:
        yield json.loads(line)


def _in(value: Any) -> Iterator[Description]:
    if isinstance(value, list):
        for item in value:
            yield from _in(item)
        return
    if not isinstance(value, dict):
        return
    if isinstance(value.get("Results"), list):
        yield from _in(value["Results"])
    elif isinstance(value.get("TrainingJob"), dict):
        yield from _in(value["TrainingJob"])
    elif value.get("detail-type") == _STATE_CHANGE and isinstance(value.get("detail"), dict):
        yield from _in(value["detail"])
    elif isinstance(value.get("TrainingJobName"), str) and value["TrainingJobName"]:
        yield Description(value["TrainingJobName"], value, _tags(value.get("Tags")))


def _tags(told: Any) -> dict[str, str] | None:
    if isinstance(told, dict):
        return {str(name): str(text) for name, text in told.items()}
    if isinstance(told, list) and all(isinstance(tag, dict) for tag in told):
        return {str(tag.get("Key", "")): str(tag.get("Value", "")) for tag in told}
    return None
