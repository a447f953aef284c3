"""What do an export task, a subscription and a keeper of descriptions leave in S3 of an account? Here in a folder.

Names and contents as AWS documents them: ``TASK/STREAM/000000.gz`` with a time before each message; records of CloudWatch Logs,
gzip each, behind one another in objects by the hour, delivered at least once; what Search answers.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.account.plan import Account
from benchmarks.account.streams import GROUP, Stream, streams_of
from benchmarks.account.training_jobs import describe_training_job
from benchmarks.account.world import World

Event = tuple[int, str]
TASK = "0d3f7c1e-5f3b-4d8e-9f0a-2b6c1a7e4d90"


def export(
    account: Account, folder: Path, task: str = TASK, since_ms: int = 0, until_ms: int = 1 << 62, lines: int = 20_000
) -> int:
    """An export of a stretch of time, ``lines`` events an object; how many objects that are."""
    (folder / "aws-logs-write-test").parent.mkdir(parents=True, exist_ok=True)
    (folder / "aws-logs-write-test").write_text("Permission Check Successful", encoding="utf-8")
    made = 0
    for stream in streams_of(account):
        events = [event for event in _events(stream) if since_ms <= event[0] < until_ms]
        place = folder / task / stream.name.replace("/", "-")
        for number, first in enumerate(range(0, len(events), lines)):
            place.mkdir(parents=True, exist_ok=True)
            text = "".join(f"{_stamp(at)} {message}\n" for at, message in events[first : first + lines])
            (place / f"{number:06d}.gz").write_bytes(gzip.compress(text.encode(), 1, mtime=0))
            made += 1
    return made


def subscribe(account: Account, folder: Path, events: int = 50_000, again: float = 0.0, packed: bool = False) -> int:
    """What Firehose delivers of all streams together, ``events`` an object; records come again with a chance of ``again``.
    ``packed``: compressed by Firehose, too."""
    chance = random.Random(1)
    told = sorted(
        (at, stream.name, f"{at:013d}{place:043d}", message)
        for stream in streams_of(account)
        for place, (at, message) in enumerate(_events(stream))
    )
    made = 0
    for first in range(0, len(told), events):
        part = told[first : first + events]
        records = [_record(account, *each) for each in _by_stream(part)]
        records += [record for record in records if chance.random() < again]
        # Workers deliver in turn, not in time.
        chance.shuffle(records)
        data = b"".join(gzip.compress(json.dumps(record).encode(), 1, mtime=0) for record in records)
        hour = datetime.fromtimestamp(part[0][0] / 1000, UTC)
        place = folder / f"{hour:%Y/%m/%d/%H}"
        place.mkdir(parents=True, exist_ok=True)
        name = f"training-logs-1-{hour:%Y-%m-%d-%H-%M-%S}-{first:012d}"
        (place / name).write_bytes(gzip.compress(data, 1, mtime=0) if packed else data)
        made += 1
    return made


def describe(account: Account, folder: Path) -> None:
    """Each job as DescribeTrainingJob answers, a file each, with times as the command line tool of AWS writes them."""
    world = World(account)
    folder.mkdir(parents=True, exist_ok=True)
    for name in world.jobs:
        answer = _dated(describe_training_job(world, {"TrainingJobName": name}))
        (folder / f"{name}.json").write_text(json.dumps(answer), encoding="utf-8")


def _events(stream: Stream) -> Iterator[Event]:
    return zip(stream.times.tolist(), stream.texts(), strict=True)


def _stamp(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%dT%H:%M:%S}.{at_ms % 1000:03d}Z"


def _by_stream(part: Sequence[tuple[int, str, str, str]]) -> Iterator[tuple[str, list[tuple[int, str, str]]]]:
    mine: dict[str, list[tuple[int, str, str]]] = {}
    for at, stream, id, message in part:
        events = mine.setdefault(stream, [])
        events.append((at, id, message))
        if len(events) >= 1000:
            yield stream, mine.pop(stream)
    yield from mine.items()


def _record(account: Account, stream: str, events: list[tuple[int, str, str]]) -> dict[str, Any]:
    return {
        "messageType": "DATA_MESSAGE",
        "owner": account.number,
        "logGroup": GROUP,
        "logStream": stream,
        "subscriptionFilters": ["training"],
        "logEvents": [{"id": id, "timestamp": at, "message": message} for at, id, message in events],
    }


def _dated(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _dated(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [_dated(item) for item in value]
    return datetime.fromtimestamp(value, UTC).isoformat() if name.endswith("Time") and value else value
