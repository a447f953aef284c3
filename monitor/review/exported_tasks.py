"""What a worker does of a review of exported logs: it sorts a batch of a subscription's objects by job, or reviews some jobs; and
who runs these tasks: processes of this machine, or Spark (a row a task, a partition a task, one function mapped over them).

Both are functions of a text that give a text (JSON), so that any engine can call them anywhere, and again: what they write has
fixed places and is the same each time.

No log text passes through Spark: a worker reads its objects and writes its jobs itself, so nothing is shuffled, and a task that
Spark runs twice writes the same files twice. ``mapInArrow`` is ``mapInPandas`` without pandas, whose version 3 PySpark 4 does not
fully support.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import multiprocessing
import os
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import msgspec

from monitor.archive.cache import reader_version
from monitor.archive.layout import location_of
from monitor.archive.reading import Archive, Manifest, fields_of, from_bytes, valued
from monitor.archive.store import Store, store_of
from monitor.errors import CannotDo, NoData, TrainwatchError
from monitor.faults import fault
from monitor.fetch.exports import records
from monitor.fetch.exports.job import MARK, Description, ExportedJob
from monitor.fetch.exports.records import ExportedEvent, exported, objects_at
from monitor.fetch.files.renderings import BrokenTextError
from monitor.model import Gap, Job, Price
from monitor.review.archiving import Archiver, ArchiveRequest, ArchivingResult, State
from monitor.review.reports import Pricing
from monitor.settings import Settings

# A chunk is read and written once or twice.
_PACKED = 1


@dataclass(frozen=True, slots=True)
class Reach:
    """How a worker reaches things: addresses, and the credentials' names."""

    archive: str
    work: str
    """Where events of subscriptions are sorted by job."""
    region: str | None = None
    profile: str | None = None

    def store(self, address: str) -> Store:
        return store_of(address, self.region, self.profile)


@dataclass(frozen=True, slots=True)
class SortTask:
    """Some objects of a subscription."""

    reach: Reach
    root: str
    batch: str
    """A digest of them."""
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JobChunk:
    """The events of one job in a batch, in the place where they were put."""

    owner: str
    job: str
    path: str
    size: int
    digest: str
    """Of the events."""
    first_stream: str


@dataclass(frozen=True, slots=True)
class Sorted:
    """What a batch held."""

    root: str
    batch: str
    chunks: tuple[JobChunk, ...] = ()
    others: tuple[str, ...] = ()
    """Objects that are no subscription's."""
    damaged: tuple[str, ...] = ()
    """What could not be read, in words."""
    error: str = ""
    """Why nothing of it is sorted."""


@dataclass(frozen=True, slots=True)
class ExportObject:
    """An object of an export."""

    root: str
    path: str


@dataclass(frozen=True, slots=True)
class JobTask:
    """All that one job is read from."""

    name: str
    mark: str
    """A digest of it."""
    owner: str | None = None
    parts: tuple[ExportObject, ...] = ()
    chunks: tuple[str, ...] = ()
    described: Description | None = None
    known: tuple[str, ...] = ()
    """The records of that name in the archive."""


@dataclass(frozen=True, slots=True)
class ReviewTask:
    """Some jobs."""

    reach: Reach
    settings: Settings
    now: datetime
    jobs: tuple[JobTask, ...]


@dataclass(frozen=True, slots=True)
class JobAnswer:
    """What became of one job."""

    name: str
    state: State
    why: str = ""
    error: str = ""
    described: bool = False
    events: int = 0
    """That were read now."""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Answers:
    """Of the jobs of a task."""

    jobs: tuple[JobAnswer, ...] = ()
    error: str = ""
    """Why none of them was looked at."""


def to_text(value: Any) -> str:
    return json.dumps(fields_of(value))


def sort_batch(text: str) -> str:
    """The objects of a ``SortTask`` sorted by job; the index of the batch, which is written last, is the answer (``Sorted``)."""
    task: SortTask = valued(SortTask, json.loads(text))
    try:
        return _sort(task)
    except Exception as error:  # an engine would tell it in a page of its own
        told = error if isinstance(error, TrainwatchError) else fault(error, "Sorting a subscription")
        return to_text(Sorted(task.root, task.batch, error=str(told)))


def _sort(task: SortTask) -> str:
    objects, work = objects_at(task.root, task.reach.region, task.reach.profile), task.reach.store(task.reach.work)
    chunks: dict[tuple[str, str], _Chunk] = {}
    others: list[str] = []
    damaged: list[str] = []
    for path in task.paths:
        try:
            with objects.opened(path) as file:
                if not records.is_subscription(file):
                    others.append(path)
                    continue
                for record in records.records(file):
                    chunks.setdefault((record.owner, record.job), _Chunk()).add(record.events)
        except BrokenTextError as error:
            damaged.append(f"{objects.label}/{path} is damaged: {error}")
        except TrainwatchError as error:
            damaged.append(str(error))
    told = []
    for number, ((owner, job), chunk) in enumerate(sorted(chunks.items())):
        path, data = f"sorted/{task.batch}/{number:06d}.jsonl.gz", chunk.bytes()
        work.write(path, data)
        told.append(JobChunk(owner, job, path, len(data), chunk.digest, chunk.first_stream))
    answer = to_text(Sorted(task.root, task.batch, tuple(told), tuple(others), tuple(damaged)))
    work.write(index_of(task.batch), answer.encode())
    return answer


def index_of(batch: str) -> str:
    """Where what a batch held is written."""
    return f"index/{batch}.json"


def review_jobs(text: str) -> str:
    """The jobs of a ``ReviewTask`` reviewed and archived; the answer is ``Answers``. Raises nothing for a job that fails."""
    task: ReviewTask = valued(ReviewTask, json.loads(text))
    try:
        store = task.reach.store(task.reach.archive)
    except TrainwatchError as error:
        return to_text(Answers(error=str(error)))
    archiver = Archiver(store, task.settings)
    return to_text(Answers(tuple(_reviewed(job, task, store, archiver) for job in task.jobs)))


def _reviewed(job: JobTask, task: ReviewTask, store: Store, archiver: Archiver) -> JobAnswer:
    begun = time.perf_counter()
    try:
        known = tuple(_known(store, job.known))
        stands = next((each for each in known if _stands(each, job, store)), None)
        described = job.described or _only_described(known)
        if stands is not None:
            price = None if stands.price else _price(stands, task.settings)
            if price is not None:
                archiver.written_again(stands, price)
            return JobAnswer(job.name, "archived" if price else "unchanged", described=described is not None)
        with closing(source_of(job, task.reach, described)) as source:
            tags = None if job.described is None else job.described.tags
            outcome = archiver.archive(
                ArchiveRequest(source, job.name, tags=tags, owner=job.owner), source.as_of(task.now)
            )
            told = _answer(outcome, described is not None, source.events_read)
        if outcome.manifest is not None and outcome.state == "archived":
            _remove_others(store, known, outcome.manifest)
    except TrainwatchError as error:
        told = JobAnswer(job.name, "failed", error=str(error))
    except Exception as error:  # a bug on one job must not cost the others
        told = JobAnswer(job.name, "failed", error=str(fault(error, f"Reviewing {job.name}")))
    return valued(JobAnswer, {**fields_of(told), "seconds": time.perf_counter() - begun})  # type: ignore[no-any-return]


def _answer(outcome: ArchivingResult, described: bool, events: int) -> JobAnswer:
    error = "" if outcome.error is None else str(outcome.error)
    return JobAnswer(outcome.name, outcome.state, outcome.why, error, described, events)


def source_of(job: JobTask, reach: Reach, described: Description | Job | None) -> ExportedJob:
    """The job as a source; its events are read when they are asked for."""
    source = ExportedJob(job.name, lambda: _events(job, reach, source.gaps), job.mark, described)
    return source


def _events(job: JobTask, reach: Reach, gaps: list[Gap]) -> Iterator[ExportedEvent]:
    for part in job.parts:
        found = exported(part.path)
        assert found is not None, "only objects of exports are parts"
        objects = objects_at(part.root, reach.region, reach.profile)
        try:
            with objects.opened(part.path) as file:
                yield from records.task_events(file, found.stream, f"{part.root}/{found.task}")
        except BrokenTextError:
            gaps.append(Gap("logs", f"{objects.label}/{part.path} is damaged or cut off.", "Export it again."))
    work = reach.store(reach.work) if job.chunks else None
    for path in job.chunks:
        data = work.read(path) if work is not None else None
        if data is None:
            raise NoData(f"{reach.work}/{path} is gone.", "Start again: it is sorted anew.")
        with gzip.open(io.BytesIO(data)) as packed:
            for line in packed:
                stream, time_ms, id, message = msgspec.json.decode(line)
                yield ExportedEvent(stream, time_ms, records.SOURCE, id, message)


class _Chunk:
    """The events of one job, as they come."""

    def __init__(self) -> None:
        self._into = io.BytesIO()
        # No time stands in it: the same events are the same bytes.
        self._packed = gzip.GzipFile(fileobj=self._into, mode="wb", compresslevel=_PACKED, mtime=0)
        self._digest = hashlib.sha256()
        self.first_stream = ""

    def add(self, events: tuple[ExportedEvent, ...]) -> None:
        for event in events:
            # Half a character, which JSON may have and UTF-8 may not, becomes "?".
            message = event.message.encode("utf-8", "replace").decode()
            line = msgspec.json.encode([event.stream, event.time_ms, event.id, message]) + b"\n"
            self._packed.write(line)
            self._digest.update(line)
            self.first_stream = min(self.first_stream or event.stream, event.stream)

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()

    def bytes(self) -> bytes:
        self._packed.close()
        return self._into.getvalue()


def _known(store: Store, paths: tuple[str, ...]) -> Iterator[Manifest]:
    for path in paths:
        data = store.read(path)
        try:
            if data is not None:
                yield from_bytes(data, f"{store.label}/{path}")
        except NoData:
            continue  # damaged: it is written again


def _stands(known: Manifest, job: JobTask, store: Store) -> bool:
    """Whether to read the job again would bring what is archived."""
    same = known.beginnings.get(MARK) == job.mark and known.reader == reader_version() != ""
    return same and not Archive(store).broken(known)


def _price(known: Manifest, settings: Settings) -> Price | None:
    return Pricing(ExportedJob(known.job.name, lambda: iter(()), ""), settings).price(known.job)[0]


def _only_described(known: tuple[Manifest, ...]) -> Job | None:
    """The job as the archive has it from AWS, where it has one of that name."""
    found = [manifest.job for manifest in known if manifest.job.arn]
    return found[0] if len(found) == 1 else None


def _remove_others(store: Store, known: tuple[Manifest, ...], kept: Manifest) -> None:
    """What was archived of the same lines in another place: without the description that is there now, or as of less."""
    here = location_of(kept.job).run
    for manifest in known:
        place = location_of(manifest.job)
        if place.run != here and MARK in manifest.beginnings and not manifest.job.arn:
            parts: Mapping[str, Any] = manifest.parts
            for path in (parts["jobs"].path, place.run, *(part.path for part in parts.values())):
                store.remove(path)


Task = Callable[[str], str]
#: Instead of an answer: the process that worked on it ended, as where memory runs out.
LOST = ""


class Engine(Protocol):
    """Calls a function for many texts, and gives the answers as they come, in any order, each with its text's place."""

    @property
    def name(self) -> str: ...

    @property
    def workers(self) -> int:
        """How many tasks are worked on at a time."""
        ...

    @property
    def is_here(self) -> bool:
        """Whether all workers see the folders of this machine."""
        ...

    def answers(self, function: Task, texts: Sequence[str]) -> Iterator[tuple[int, str]]:
        """(place, answer); the answer is ``LOST`` where a worker was lost with it again and again."""
        ...


class Local:
    """Processes of this machine; one is this process itself."""

    name, is_here = "local", True

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or os.cpu_count() or 1

    def answers(self, function: Task, texts: Sequence[str]) -> Iterator[tuple[int, str]]:
        if self.workers == 1:
            for place, text in enumerate(texts):
                yield place, function(text)
            return
        lost: list[int] = []
        yield from self._side_by_side(function, texts, range(len(texts)), self.workers, lost)
        # Which of them it was nobody says: each alone, so that one that ends its process takes no other with it.
        for place in lost:
            again: list[int] = []
            yield from self._side_by_side(function, texts, [place], 1, again)
            yield from ((each, LOST) for each in again)

    def _side_by_side(
        self, function: Task, texts: Sequence[str], places: Sequence[int], workers: int, lost: list[int]
    ) -> Iterator[tuple[int, str]]:
        todo = deque(places)
        while todo:
            # Spawned: a fork would copy locks that a thread holds.
            pool = ProcessPoolExecutor(min(workers, len(todo)), multiprocessing.get_context("spawn"))
            running: dict[Future[str], int] = {}
            try:
                while todo or running:
                    while todo and len(running) < 2 * workers:
                        running[pool.submit(function, texts[todo[0]])] = todo[0]
                        todo.popleft()
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        answer = future.result()
                        yield running.pop(future), answer
            except BrokenProcessPool:
                lost += running.values()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)


_REMEDY = "Install the extra: pip install -r requirements-spark.txt, and Java 17 or newer."
#: An empty partition costs more than a task that waits for its turn.
MOST_PARTITIONS = 10_000
_UNKNOWN = 16
_COLUMNS = "place long, text string"


class Spark:
    """The session that there is, else one as the environment configures it, else one of this machine."""

    name = "spark"

    def __init__(self, workers: int | None = None, session: Any = None) -> None:
        self._session = session or _session(workers)
        try:
            context = self._session.sparkContext
            self.workers, master = int(context.defaultParallelism), str(context.master)
        except Exception:  # a session on a server tells nothing of it
            self.workers, master = workers or _UNKNOWN, ""
        self.is_here = master.startswith("local")

    def answers(self, function: Task, texts: Sequence[str]) -> Iterator[tuple[int, str]]:
        if not texts:
            return
        rows = (
            self._session.createDataFrame(list(enumerate(texts)), _COLUMNS)
            .repartition(min(len(texts), MOST_PARTITIONS))
            .mapInArrow(mapped(function), _COLUMNS)
            .collect()
        )
        yield from ((int(row["place"]), str(row["text"])) for row in rows)


class mapped:  # noqa: N801 - reads as what it makes of a function, and can be sent to a worker
    """A function of a text as Spark calls it: batches of texts in, batches of answers out."""

    def __init__(self, function: Task) -> None:
        self._function = function

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            for row in batch.to_pylist():
                yield pa.RecordBatch.from_pylist([row | {"text": self._function(row["text"])}], batch.schema)


def _session(workers: int | None) -> Any:
    # Of pandas, which is used for nothing here.
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"pyspark\.")
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise CannotDo(f"Spark is not installed ({error}).", _REMEDY) from None
    # The same Python, with this program, where nobody says which.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("trainwatch").config("spark.ui.showConsoleProgress", "false")
    if not os.environ.get("PYSPARK_SUBMIT_ARGS") and not os.environ.get("SPARK_CONF_DIR"):
        builder = builder.config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
        builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
    if workers is not None or not _has_master():
        builder = builder.master(f"local[{workers or '*'}]")
    try:
        return builder.getOrCreate()
    except Exception as error:  # Py4J has errors of its own, and Java what it prints
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise CannotDo(f"Spark does not start: {reason[0]}.", _REMEDY) from error


def _has_master() -> bool:
    given = os.environ.get("PYSPARK_SUBMIT_ARGS", ""), os.environ.get("SPARK_REMOTE", ""), os.environ.get("MASTER", "")
    return any(given) or bool(os.environ.get("SPARK_CONF_DIR"))
