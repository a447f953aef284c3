"""Where exported logs lie, a folder or below a prefix of a bucket, and what their objects hold: those of a subscription, and
those of CreateExportTask.

Firehose puts records of CloudWatch Logs behind one another: each is ``{"messageType", "owner", "logGroup", "logStream",
"logEvents": [{"id", "timestamp", "message"}]}``, gzip by itself, and all of them once more where Firehose compresses; nothing
stands between two. It delivers at least once: what came twice has the same id.

CreateExportTask writes ``PREFIX/TASK/STREAM/000000.gz``, where a slash in a stream's name is a hyphen: gzip,
``2026-11-24T10:00:00.123Z message`` a line; a message of several lines goes on in lines without a time.
"""

from __future__ import annotations

import codecs
import gzip
import io
import json
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from monitor.errors import CannotDo, NoData
from monitor.fetch.files.renderings import BrokenTextError, chunks, text_kind
from monitor.fetch.logs.events import GROUP
from monitor.settings import expanded

if TYPE_CHECKING:
    from monitor.aws.bucket import BucketStore

_S3 = "s3://"
_BUFFER_BYTES = 1 << 16


class StoredObject(NamedTuple):
    """One object."""

    size: int
    """Bytes, as it is stored."""
    stamp: str
    """Another one if it was written anew."""


class Objects(Protocol):
    """Objects by their paths below a root."""

    @property
    def label(self) -> str:
        """The root as the user names it."""
        ...

    def listed(self) -> Mapping[str, StoredObject]:
        """All of them, by their paths in order. NoData where there is no such place."""
        ...

    def opened(self, path: str) -> AbstractContextManager[io.BufferedReader]:
        """One to be read. NoData where it is gone, CannotDo where it cannot be read."""
        ...


def objects_at(address: str, region: str | None = None, profile: str | None = None) -> Objects:
    """A folder, or ``s3://bucket/prefix``."""
    if address.startswith(_S3):
        # Imported late: a folder needs no AWS.
        from monitor.aws.bucket import BucketStore
        from monitor.aws.clients import Clients

        return BucketObjects(BucketStore(address, Clients(region, profile)))
    return FolderObjects(address)


class FolderObjects:
    """Those of a folder of this machine, at any depth; names that begin with a dot are passed over."""

    def __init__(self, folder: str) -> None:
        self.label = folder
        self._root = expanded(folder)

    def listed(self) -> dict[str, StoredObject]:
        if not self._root.is_dir():
            what = "is a file" if self._root.exists() else "is not there"
            raise NoData(f"The folder {self.label} {what}.", "Name the folder that holds the exported logs.")
        found = {}
        for where, folders, names in os.walk(self._root):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                if not name.startswith("."):
                    path = Path(where, name)
                    seen = path.stat()
                    found[path.relative_to(self._root).as_posix()] = StoredObject(
                        seen.st_size, f"{seen.st_mtime_ns} {seen.st_size}"
                    )
        return found

    def opened(self, path: str) -> AbstractContextManager[io.BufferedReader]:
        try:
            return io.BufferedReader(io.FileIO(self._root / path), _BUFFER_BYTES)
        except FileNotFoundError:
            raise NoData(f"{self.label}/{path} is gone.", "Start again.") from None
        except OSError as error:
            raise CannotDo(f"{self.label}/{path} cannot be read: {error.strerror}.", "Check its rights.") from error


class BucketObjects:
    """Those of a bucket. One is in memory at a time, as it is stored."""

    def __init__(self, bucket: BucketStore) -> None:
        self.label = bucket.label
        self._bucket = bucket

    def listed(self) -> dict[str, StoredObject]:
        return {path: StoredObject(size, stamp) for path, (size, stamp) in sorted(self._bucket.objects("").items())}

    def opened(self, path: str) -> AbstractContextManager[io.BufferedReader]:
        data = self._bucket.read(path)
        if data is None:
            raise NoData(f"{self.label}/{path} is gone.", "Start again.")
        return io.BufferedReader(io.BytesIO(data), _BUFFER_BYTES)


SOURCE = "subscription"
_GZIP = b"\x1f\x8b"
_PIECE_BYTES = 4 << 20
# One record: CloudWatch sends at most a MiB, compressed.
_MOST_CHARS = 256 << 20
_HEAD = re.compile(rb'\s*\{\s*"(?:messageType|owner|logGroup|logStream|subscriptionFilters|logEvents)"\s*:')


@dataclass(frozen=True, slots=True)
class ExportRecord:
    """Events of one stream of a training job."""

    owner: str
    """The number of its account."""
    job: str
    events: tuple[ExportedEvent, ...]


def is_subscription(file: io.BufferedReader) -> bool:
    """Whether the object begins as one; nothing is taken from it."""
    head = file.peek(1 << 16)
    for _ in range(2):
        if head.startswith(_GZIP):
            try:
                head = zlib.decompressobj(wbits=31).decompress(head, 1 << 16)
            except zlib.error:
                return False
    return _HEAD.match(head) is not None


def records(file: io.BufferedReader) -> Iterator[ExportRecord]:
    """Those of training jobs. BrokenTextError, behind all that can be read, where the object is damaged or cut off."""
    for found in _values(file):
        told = _record(found)
        if told is not None:
            yield told


def _record(value: Any) -> ExportRecord | None:
    if not isinstance(value, dict) or value.get("messageType") != "DATA_MESSAGE" or value.get("logGroup") != GROUP:
        return None
    stream, events = value.get("logStream"), value.get("logEvents")
    job = job_of_stream(stream) if isinstance(stream, str) else None
    if job is None or not isinstance(stream, str) or not isinstance(events, list):
        return None
    told = (each for each in events if isinstance(each, dict) and isinstance(each.get("message"), str))
    return ExportRecord(
        str(value.get("owner") or ""),
        job,
        tuple(
            ExportedEvent(
                stream,
                _ms(each.get("timestamp")),
                SOURCE,
                str(each.get("id") or ""),
                text_of(each["message"].split("\n")),
            )
            for each in told
        ),
    )


def _ms(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else -1


def _values(file: io.BufferedReader) -> Iterator[Any]:
    decoder, text = json.JSONDecoder(), ""
    for piece in _text(file):
        found, text = _whole(decoder, text + piece)
        yield from found
        if len(text) > _MOST_CHARS:
            break
    if text:
        raise BrokenTextError("it ends within a record")


def _text(file: io.BufferedReader) -> Iterator[str]:
    source: Any = file
    # The one that Firehose made, and those of the single records.
    for _ in range(2):
        if source.peek(2)[:2] == _GZIP:
            source = gzip.GzipFile(fileobj=source, mode="rb")
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    try:
        # read1 gives what a damaged object still holds before it fails.
        while piece := source.read1(_PIECE_BYTES):
            yield decoder.decode(piece)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BrokenTextError(str(error)) from error
    yield decoder.decode(b"", final=True)


def _whole(decoder: json.JSONDecoder, text: str) -> tuple[list[Any], str]:
    """The records that end in a text, and what is left of it."""
    found: list[Any] = []
    place = _behind_blanks(text, 0)
    while place < len(text):
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            break
        found.append(value)
        place = _behind_blanks(text, place)
    return found, text[place:]


def _behind_blanks(text: str, place: int) -> int:
    while text[place : place + 1].isspace():
        place += 1
    return place


class ExportedEvent(NamedTuple):
    """Sorted by ``stream`` and ``time_ms``, it is in the order of the log."""

    stream: str
    time_ms: int
    """-1 where the object has none."""
    source: str
    """Where it was read from; within one source no event is told twice, but for those of one ``id``."""
    id: str
    """The service's own; empty where the object has none."""
    message: str


# A job's name: 1 to 63 letters, digits and hyphens.
_JOB = r"[A-Za-z0-9][A-Za-z0-9-]{0,62}"
_FOLDER = re.compile(rf"(?P<job>{_JOB})-(?P<host>algo-[1-9]\d*)-(?P<epoch>\d{{10,13}})")
_STREAM = re.compile(rf"(?P<job>{_JOB})/(?P<host>algo-[1-9]\d*)(?:-(?P<epoch>\d{{10,13}}))?")
_PART = re.compile(r"\d{6}(?:\.gz)?")


class Exported(NamedTuple):
    job: str
    stream: str
    """As CloudWatch calls it: ``JOB/algo-1-1700000000``."""
    task: str
    """The folder of its export: within one, no event comes twice."""


def exported(path: str) -> Exported | None:
    """What an object's path says; None where it is none of an export of training jobs."""
    *folders, file = path.split("/")
    match = _FOLDER.fullmatch(folders[-1]) if folders and _PART.fullmatch(file) else None
    if match is None:
        return None
    return Exported(match["job"], f"{match['job']}/{match['host']}-{match['epoch']}", "/".join(folders[:-1]))


def job_of_stream(stream: str) -> str | None:
    """The job that writes a stream of that name; None where it is no training job's."""
    match = _STREAM.fullmatch(stream)
    return match["job"] if match else None


def begun_s(stream: str) -> int | None:
    """When the stream was made, in Unix seconds, as its name tells."""
    match = _STREAM.fullmatch(stream)
    epoch = match["epoch"] if match else None
    return int(epoch[:10]) if epoch else None


_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z(?: |$)")
_STAMP_CHARS = len("2026-11-24T10:00:00.123Z ")
_SECOND_CHARS = len("2026-11-24T10:00:00")


def task_events(file: io.BufferedReader, stream: str, source: str) -> Iterator[ExportedEvent]:
    """The events, in the order in which they stand there. BrokenTextError, behind all that can be read, where the object is
    damaged or cut off."""
    seen = text_kind(file)
    if seen.is_empty or not seen.is_text:
        return
    second, second_ms = "", 0
    time_ms, message = -1, list[str]()
    for chunk in chunks(file, seen):
        for line in chunk.data.decode("utf-8", "replace").split("\n"):
            if _STAMP.match(line) is None:
                message.append(line)
                continue
            if message:
                yield ExportedEvent(stream, time_ms, source, "", text_of(message))
            if line[:_SECOND_CHARS] != second:
                second = line[:_SECOND_CHARS]
                second_ms = _ms_of_second(second)
            time_ms = second_ms + int(line[_SECOND_CHARS + 1 : _SECOND_CHARS + 4])
            message = [line[_STAMP_CHARS:]]
    if message:
        yield ExportedEvent(stream, time_ms, source, "", text_of(message))


def text_of(lines: list[str]) -> str:
    """A message as it is read: a line feed at its end begins no line."""
    return "\n".join(lines[:-1] if len(lines) > 1 and not lines[-1] else lines)


def _ms_of_second(second: str) -> int:
    try:
        return int(datetime.fromisoformat(f"{second}+00:00").timestamp()) * 1000
    except ValueError:  # 99 o'clock
        return -1
