"""Exported logs into an archive: which jobs the objects hold, and what became of each.

Jobs are partitions. An object of an export is of one job by its name; the records of a subscription are sorted by job first.
Each job that changed is reviewed once, by whichever worker takes it; a record in the archive notes what it was read from, so a
review that was interrupted goes on where it was, and a second one reads nothing but what is new.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath

from monitor.archive.layout import RUNS, job_in
from monitor.archive.reading import fields_of, valued
from monitor.archive.store import Store
from monitor.aws.calls import side_by_side
from monitor.errors import BadCall, CannotDo, TrainwatchError
from monitor.fetch.exports.job import Description, descriptions, newest
from monitor.fetch.exports.records import Objects, StoredObject, begun_s, exported, objects_at
from monitor.fetch.files.source import WRITE_TEST
from monitor.model import BEGINNING
from monitor.model.job import account_of
from monitor.review.exported_tasks import (
    LOST,
    Answers,
    Engine,
    ExportObject,
    JobAnswer,
    JobChunk,
    JobTask,
    Reach,
    ReviewTask,
    Sorted,
    SortTask,
    index_of,
    review_jobs,
    sort_batch,
    to_text,
)
from monitor.settings import Settings

#: Of the objects of a subscription that are sorted by one task, as they are stored.
BATCH_BYTES = 64 << 20
# Jobs of one task: enough to be worth a worker's start, few enough that all have some.
_BUNDLE_BYTES, _BUNDLE_JOBS, _BUNDLES_A_WORKER = 64 << 20, 64, 8
_JSON = (".json", ".jsonl")
_MOST_JSON_BYTES = 64 << 20
_AT_ONCE = 16

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ReviewRequest:
    """What is to be reviewed, and where it goes."""

    roots: tuple[str, ...]
    reach: Reach
    settings: Settings
    now: datetime
    descriptions: str | None = None
    """Where they are kept; None: beside the logs."""
    work_is_shared: bool = True
    """Whether workers elsewhere see the folder in which a subscription is sorted."""


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What became of it."""

    jobs: tuple[JobAnswer, ...]
    objects: int
    """That hold log events."""
    size: int
    """Their bytes, as they are stored."""
    others: tuple[str, ...]
    """Objects that are neither logs nor descriptions."""
    troubles: tuple[str, ...]
    """What could not be read, in words."""

    @property
    def states(self) -> Counter[str]:
        return Counter(job.state for job in self.jobs)

    @property
    def undescribed(self) -> int:
        return sum(not job.described for job in self.jobs)

    @property
    def events(self) -> int:
        return sum(job.events for job in self.jobs)


@dataclass(frozen=True, slots=True)
class _Inventory:
    """What lies below the roots."""

    parts: Mapping[str, Sequence[tuple[ExportObject, StoredObject]]]
    """By job, of exports."""
    others: Mapping[str, Sequence[tuple[str, StoredObject]]]
    """By root, what may be a subscription's."""
    described: Mapping[str, Sequence[Description]]
    troubles: tuple[str, ...]


def reviewed(
    ask: ReviewRequest, store: Store, work: Store, engine: Engine, say: Progress = lambda text: None
) -> Reviewed:
    """Reviews all that is new. Errors of ``monitor.errors`` where a root, the archive or the work folder cannot be used."""
    say("listing the objects")
    found = _inventory(ask)
    batches = [batch for root, held in found.others.items() for batch in _batches(ask.reach, root, held)]
    if batches and not (engine.is_here or ask.work_is_shared):
        raise BadCall(
            "These logs are of a subscription, which is sorted by job first, and the workers are on other machines.",
            "Name a folder or s3:// address that they all see with --work.",
        )
    sorted_ = _sorted(batches, work, engine, say) if batches else []
    store.make_ready()
    tasks = _jobs(ask, found, sorted_, store)
    twins = {name for name, number in Counter(task.name for task, _ in tasks).items() if number > 1}
    alike = [task for task, _ in tasks if task.name in twins and task.described is None]
    answers = _answers(ask, [each for each in tasks if each[0] not in alike], engine, say)
    answers += [JobAnswer(task.name, "failed", error=_ALIKE) for task in alike]
    strange = [f"{batch.root}/{path}" for batch in sorted_ for path in batch.others]
    held = [each for parts in found.parts.values() for _, each in parts]
    held += [each for objects in found.others.values() for _, each in objects]
    return Reviewed(
        tuple(answers),
        len(held) - len(strange),
        sum(each.size for each in held),
        tuple(strange),
        (*found.troubles, *(trouble for batch in sorted_ for trouble in batch.damaged)),
    )


def _inventory(ask: ReviewRequest) -> _Inventory:
    parts: dict[str, list[tuple[ExportObject, StoredObject]]] = defaultdict(list)
    others: dict[str, list[tuple[str, StoredObject]]] = {}
    described: list[Description] = []
    troubles: list[str] = []
    for root in ask.roots:
        objects = objects_at(root, ask.reach.region, ask.reach.profile)
        rest: list[tuple[str, StoredObject]] = []
        for path, held in objects.listed().items():
            of = exported(path)
            if of is not None:
                parts[of.job].append((ExportObject(root, path), held))
            elif PurePosixPath(path).name != WRITE_TEST and held.size:
                rest.append((path, held))
        if ask.descriptions is None:
            beside = [each for each in rest if each[0].endswith(_JSON) and each[1].size <= _MOST_JSON_BYTES]
            told = dict(_described(objects, [path for path, _ in beside]))
            described += [each for mine in told.values() if not isinstance(mine, str) for each in mine]
            # What says nothing of a job may still be a subscription's.
            rest = [each for each in rest if isinstance(told.get(each[0], ""), str)]
        others[root] = rest
    if ask.descriptions is not None:
        objects = objects_at(ask.descriptions, ask.reach.region, ask.reach.profile)
        for path, mine in _described(objects, list(objects.listed())):
            if isinstance(mine, str):
                troubles.append(f"{objects.label}/{path} describes no job: {mine}")
            else:
                described += mine
    return _Inventory(parts, {root: held for root, held in others.items() if held}, newest(described), tuple(troubles))


def _described(objects: Objects, paths: Sequence[str]) -> Iterator[tuple[str, tuple[Description, ...] | str]]:
    """(path, the descriptions in it or why there are none)."""

    def read(path: str) -> tuple[Description, ...] | str:
        try:
            with objects.opened(path) as file:
                data = file.read(_MOST_JSON_BYTES + 1)
            data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
            return descriptions(data) or "it holds nothing that DescribeTrainingJob or Search answers"
        except (ValueError, OSError, EOFError) as error:
            return f"it cannot be read ({error})"
        except TrainwatchError as error:
            return str(error)

    yield from zip(paths, side_by_side(read, paths, _AT_ONCE), strict=True)


def _batches(reach: Reach, root: str, held: Sequence[tuple[str, StoredObject]]) -> Iterator[SortTask]:
    """In the order of their names, which are times: what is delivered later changes the last one alone."""
    paths: list[str] = []
    digest, size = hashlib.sha256(root.encode("utf-8", "surrogatepass")), 0
    for path, each in held:
        paths.append(path)
        digest.update(f"\0{path}\0{each.stamp}".encode("utf-8", "surrogatepass"))
        size += each.size
        if size >= BATCH_BYTES:
            yield SortTask(reach, root, digest.hexdigest()[:32], tuple(paths))
            paths, size = [], 0
            digest = hashlib.sha256(root.encode("utf-8", "surrogatepass"))
    if paths:
        yield SortTask(reach, root, digest.hexdigest()[:32], tuple(paths))


def _sorted(batches: Sequence[SortTask], work: Store, engine: Engine, say: Progress) -> list[Sorted]:
    work.make_ready()
    found: list[Sorted] = []
    todo: list[SortTask] = []
    for batch in batches:
        data = work.read(index_of(batch.batch))
        known = None if data is None else _index(data)
        if known is None or known.damaged:
            todo.append(batch)
        else:
            found.append(known)
    texts = [to_text(batch) for batch in todo]
    for _, answer in engine.answers(sort_batch, texts):
        told: Sorted | None = None if answer == LOST else valued(Sorted, json.loads(answer))
        if told is None or told.error:
            raise CannotDo(
                f"The subscription cannot be sorted by job: {told.error if told else 'a worker ended, out of memory?'}",
                "Start again: what was sorted is kept.",
            )
        found.append(told)
        say(f"{len(found):,} of {len(batches):,} batches sorted by job")
    _sweep(work, {batch.batch for batch in batches}, {batch.root for batch in batches})
    return found


def _index(data: bytes) -> Sorted | None:
    try:
        found: Sorted = valued(Sorted, json.loads(data))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return found


def _sweep(work: Store, current: set[str], roots: set[str]) -> None:
    """Takes away what was sorted of these roots and has been sorted anew."""
    for path in work.listed("index/"):
        batch = PurePosixPath(path).stem
        data = None if batch in current else work.read(path)
        known = None if data is None else _index(data)
        if known is not None and known.root in roots:
            work.remove(path)
            for chunk in known.chunks:
                work.remove(chunk.path)


def _jobs(ask: ReviewRequest, found: _Inventory, sorted_: Sequence[Sorted], store: Store) -> list[tuple[JobTask, int]]:
    """Each job with the bytes that are read for it."""
    chunks: dict[tuple[str, str], list[JobChunk]] = defaultdict(list)
    for batch in sorted_:
        for chunk in batch.chunks:
            chunks[chunk.job, chunk.owner].append(chunk)
    owners: dict[str, list[str]] = defaultdict(list)
    for job, owner in chunks:
        owners[job].append(owner)
    known: dict[str, list[str]] = defaultdict(list)
    for path in store.listed(RUNS):
        known[job_in(path)].append(path)
    # Exports do not name an account: they are of the one whose subscription has a job of that name, if there is just one.
    keys = {*chunks, *((job, owners[job][0] if len(owners[job]) == 1 else "") for job in found.parts)}
    tasks = []
    for job, owner in sorted(keys):
        mine = chunks.get((job, owner), [])
        parts = found.parts.get(job, ()) if len(owners[job]) <= 1 or not owner else ()
        streams = [chunk.first_stream for chunk in mine] + [
            of.stream for part, _ in parts if (of := exported(part.path)) is not None
        ]
        described = _best(found.described.get(job, ()), owner, streams)
        task = JobTask(
            job,
            _mark(job, parts, mine, described, ask.settings),
            owner or None,
            tuple(part for part, _ in parts),
            tuple(sorted(chunk.path for chunk in mine)),
            described,
            tuple(known.get(job, ())),
        )
        tasks.append((task, sum(held.size for _, held in parts) + sum(chunk.size for chunk in mine)))
    return tasks


def _best(known: Sequence[Description], owner: str, streams: Iterable[str]) -> Description | None:
    """The description of the job that wrote these streams: names repeat from account to account, and after a deletion."""
    mine = [each for each in known if not owner or account_of(each.arn) in {None, owner}]
    if len(mine) < 2:
        return mine[0] if mine else None
    begun = min((at for at in map(begun_s, streams) if at is not None), default=None)
    at = datetime.now(UTC) if begun is None else datetime.fromtimestamp(begun, UTC)
    before = [each for each in mine if each.created is not None and each.created <= at]
    return max(before or mine, key=lambda each: each.created or BEGINNING)


def _mark(
    job: str,
    parts: Sequence[tuple[ExportObject, StoredObject]],
    chunks: Sequence[JobChunk],
    described: Description | None,
    settings: Settings,
) -> str:
    """A digest of all that a review of the job follows from, but for the program and the prices."""
    said = [
        sorted(f"{part.path}\0{held.stamp}" for part, held in parts),
        sorted(chunk.digest for chunk in chunks),
        None if described is None else fields_of(described),
        [*settings.patterns_of(job), settings.learn_formats],
    ]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def _answers(
    ask: ReviewRequest, tasks: Sequence[tuple[JobTask, int]], engine: Engine, say: Progress
) -> list[JobAnswer]:
    bundles = _bundles(tasks, engine.workers)
    texts = [to_text(ReviewTask(ask.reach, ask.settings, ask.now, bundle)) for bundle in bundles]
    found: list[JobAnswer] = []
    say(f"reviewing {len(tasks):,} jobs with {engine.name}, {engine.workers} at a time")
    for place, answer in engine.answers(review_jobs, texts):
        told = _LOST_ANSWERS if answer == LOST else valued(Answers, json.loads(answer))
        found += told.jobs or [JobAnswer(job.name, "failed", error=told.error) for job in bundles[place]]
        say(f"{len(found):,} of {len(tasks):,} jobs reviewed")
    return sorted(found, key=lambda each: each.name)


_ALIKE = (
    "Several accounts have a job of this name in these logs, and no description tells which is which. Keep what "
    "DescribeTrainingJob answers of each, and name the folder with --descriptions."
)
_LOST_ANSWERS = Answers(error="The process that reviewed it ended: it may need more memory than there is.")


def _bundles(tasks: Sequence[tuple[JobTask, int]], workers: int) -> list[tuple[JobTask, ...]]:
    """The largest first, so that none is still at work when all others are done."""
    whole = sum(size for _, size in tasks)
    most = min(_BUNDLE_BYTES, whole // (workers * _BUNDLES_A_WORKER) + 1)
    bundles: list[tuple[JobTask, ...]] = []
    bundle: list[JobTask] = []
    held = 0
    for task, size in sorted(tasks, key=lambda each: -each[1]):
        bundle.append(task)
        held += size
        if held >= most or len(bundle) >= _BUNDLE_JOBS:
            bundles.append(tuple(bundle))
            bundle, held = [], 0
    return [*bundles, *([tuple(bundle)] if bundle else [])]
