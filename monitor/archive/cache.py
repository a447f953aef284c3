"""What is kept in the user's cache folder: what was read of jobs that are over, so that each is read from AWS once, and the
last verdict on each reviewed job, so that a list can show it without a call.

One small file a job, written beside its place and moved there. Like the cache of runs it is a convenience: what cannot be
read or written is as if it were not there, and what another version of the rules said does not count.

Kept is what was read; findings, figures and prices are worked out anew. A run holds as long as the job is described the same
and the reader's sources are the same (``reader_version``), and only one is kept that another look would find again.

One file a job, written beside its place and moved there, so that any number of processes may share the folder. A cache
is a convenience: what cannot be read or written is as if it were not there. The file is a zip of ``run.json`` (job, gaps,
coverage) and a Parquet file for each frame, which can be read without this program; it holds a checksum of each part, so one
that was cut or damaged is told from a whole one.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import IO, Any, TypeVar

import pandas as pd

from monitor.archive.layout import to_frame
from monitor.archive.reading import fields_of, valued
from monitor.atomic_file import UNFINISHED, replacing
from monitor.diagnose.verdict import judge
from monitor.errors import NoData
from monitor.model import (
    RUN_FRAMES,
    Gap,
    Job,
    LogCoverage,
    ProfilerCoverage,
    Report,
    Run,
)
from monitor.settings import cache_folder

_PACKAGE = Path(__file__).parents[1]
# All that decides what a Run holds; rules, figures and prices are worked out anew from it.
_PARTS = (
    "parse",
    "fetch",
    "model",
    "masking",
    "archive",
    "analyze/utilization.py",
    "review/reviewer.py",
)
# What is said of a Run.
_RULES = ("analyze", "diagnose", "predict", "choices.py", "words.py")
_KINDS = {".py", ".csv"}


@cache
def reader_version(package: Path = _PACKAGE) -> str:
    """Sixteen hexadecimal digits, the same for the same sources; "" where the sources are not there to be read."""
    return _version(package, _PARTS)


@cache
def rules_version(package: Path = _PACKAGE) -> str:
    """The same of the rules, and of the words in which they speak."""
    return _version(package, _RULES)


def _version(package: Path, parts: Sequence[str]) -> str:
    digest = hashlib.sha256()
    found = [path for part in parts for path in _files(package / part)]
    try:
        for path in found:
            digest.update(f"{path.relative_to(package).as_posix()}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    except OSError:
        return ""
    return digest.hexdigest()[:16] if found else ""


def _files(part: Path) -> list[Path]:
    if part.is_file():
        return [part]
    return sorted(path for path in part.rglob("*") if path.suffix in _KINDS)


_VERDICT_SUFFIX = ".json"
#: Of so many jobs, those that were reviewed last.
MOST = 2000


@dataclass(frozen=True, slots=True)
class CachedVerdict:
    """The verdict of one review."""

    level: str
    headline: str
    finding: str | None
    """The id of the finding that the headline is of."""
    status: str | None
    reviewed_at: datetime


class Verdicts:
    """The verdicts in one folder."""

    def __init__(self, folder: Path, version: str | None = None) -> None:
        self._folder = folder
        self._version = f"{reader_version()} {rules_version()}" if version is None else version

    def keep(self, endpoint: str | None, report: Report) -> None:
        """Keeps what is said of a job of an account, if all of its logs that could be read were read."""
        job = report.job
        if endpoint is None or job.created is None or not report.run.logs.complete:
            return
        verdict = judge(report)
        said = {
            "version": self._version,
            "level": verdict.level,
            "headline": verdict.headline,
            "finding": None if verdict.finding is None else verdict.finding.id,
            "status": job.status,
            "reviewed_at": report.reviewed_at.astimezone(UTC).isoformat(),
        }
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with replacing(self._path(endpoint, job.name, job.created)) as file:
                file.write(json.dumps(said, ensure_ascii=False).encode())
            self._make_room()

    def of(self, endpoint: str | None, name: str, created: datetime | None) -> CachedVerdict | None:
        """What was said of a job; None where that is not known."""
        if endpoint is None or created is None:
            return None
        with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            said = json.loads(self._path(endpoint, name, created).read_bytes())
            if said["version"] == self._version:
                at = datetime.fromisoformat(said["reviewed_at"])
                return CachedVerdict(str(said["level"]), str(said["headline"]), said["finding"], said["status"], at)
        return None

    def _path(self, endpoint: str, name: str, created: datetime) -> Path:
        parts = json.dumps([endpoint, name, created.astimezone(UTC).isoformat()])
        return self._folder / f"{hashlib.sha256(parts.encode()).hexdigest()[:32]}{_VERDICT_SUFFIX}"

    def _make_room(self) -> None:
        paths = list(self._folder.iterdir())
        if len(paths) <= MOST:
            return
        found = []
        for path in paths:
            with suppress(FileNotFoundError):
                found.append((path.stat().st_mtime, path))
        for _, path in sorted(found)[: len(found) - MOST]:
            path.unlink(missing_ok=True)


#: Late lines and metrics are written for some minutes after a job's end.
SETTLED_AFTER = timedelta(minutes=15)
_OVER = frozenset({"Completed", "Failed", "Stopped"})
_SUFFIX = ".run"
_ABANDONED_S = 3600.0


@dataclass(frozen=True, slots=True)
class RunKey:
    """Which run is meant."""

    name: str
    """Of its file: by endpoint, ARN (account, region, name) and creation time."""
    state: str
    """A digest of all else that the run follows from: DescribeTrainingJob's answer, and the user's patterns."""


@dataclass(frozen=True, slots=True)
class CachedRun:
    """A run from the cache."""

    run: Run
    at: datetime
    """When it was read from AWS."""


def key_of(job: Job, endpoint: str | None, patterns: Sequence[str] = ()) -> RunKey | None:
    """The key of a job as it was described; None where it is not over, or not told from others for certain."""
    if not endpoint or not job.arn or job.created is None or job.ended is None or job.status not in _OVER:
        return None
    # The bill of a warm pool grows after the job's end; nothing that is read of the job follows from it.
    settled = replace(job, warm_pool_billable_seconds=None)
    return RunKey(_digest(endpoint, job.arn, job.created.isoformat()), _digest(fields_of(settled), list(patterns)))


def is_final(run: Run, now: datetime) -> bool:
    """Whether another look would find the same: the job ended a while ago, and nothing was refused for the moment.

    The profiler's output is asked for again by itself where it could not be read.
    """
    return is_settled(run.job, now) and not any(gap.transient and gap.what != "profiler" for gap in run.gaps)


def is_settled(job: Job, now: datetime) -> bool:
    """Whether the job ended so long ago that no line of it is still to come."""
    return job.ended is not None and now - job.ended >= SETTLED_AFTER


class Cache:
    """Runs in a folder of at most ``max_bytes``; those that were not asked for the longest go first."""

    def __init__(self, folder: Path, max_bytes: int, version: str | None = None) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._version = reader_version() if version is None else version
        #: What was said last of each job, finished or not.
        self.verdicts = Verdicts(folder.with_name("verdicts"))

    def load(self, key: RunKey) -> CachedRun | None:
        """The run, or None. A file that is damaged, of another version or of another state of the job is removed."""
        path = self._path(key)
        try:
            with path.open("rb") as file:
                note = read_note(file)
                if note != {**note, **self._note(key)}:
                    raise NoData("It was made from something else.")
                kept = CachedRun(read_run(file), datetime.fromisoformat(note["read_at"]))
        except OSError:
            return None
        except (NoData, KeyError, ValueError):
            with suppress(OSError):
                path.unlink()
            return None
        with suppress(OSError):
            # Time of last use; access times are not kept everywhere.
            os.utime(path)
        return kept

    def store(self, key: RunKey, run: Run, now: datetime) -> None:
        """Keeps a run if it is final as of ``now``, when it was read."""
        if not self._version or not is_final(run, now):
            return
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Logs may hold what is nobody else's business.
            self._folder.chmod(0o700)
            with replacing(self._path(key), most_bytes=self._max_bytes) as file:
                write_run(run, file, {**self._note(key), "read_at": now.astimezone(UTC).isoformat()})
            self._make_room()

    def _make_room(self) -> None:
        found = []
        for path in self._folder.iterdir():
            with suppress(FileNotFoundError):
                seen = path.stat()
                if path.suffix == _SUFFIX:
                    found.append((seen.st_mtime, seen.st_size, path))
                elif path.suffix == UNFINISHED and time.time() - seen.st_mtime > _ABANDONED_S:
                    path.unlink()
        over = sum(size for _, size, _ in found) - self._max_bytes
        for _, size, path in sorted(found):
            if over <= 0:
                return
            path.unlink(missing_ok=True)
            over -= size

    def _path(self, key: RunKey) -> Path:
        return self._folder / f"{key.name}{_SUFFIX}"

    def _note(self, key: RunKey) -> dict[str, str]:
        return {"reader": self._version, "state": key.state}


def user_cache(max_bytes: int, environ: Mapping[str, str] | None = None) -> Cache | None:
    """The cache in ``$XDG_CACHE_HOME`` (``~/.cache`` otherwise); None where it is turned off or there is no such place."""
    folder = cache_folder(environ)
    if folder is None or not max_bytes or not reader_version():
        return None
    return Cache(folder / "jobs", max_bytes)


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


FORMAT = 1
_Read = TypeVar("_Read")
_HEAD = "run.json"


def write_run(run: Run, into: IO[bytes], note: Mapping[str, str] | None = None) -> None:
    """Writes the file; ``note`` is kept beside the run. OSError where the disk refuses."""
    head = {
        "format": FORMAT,
        "note": dict(note or {}),
        "job": fields_of(run.job),
        "gaps": fields_of(run.gaps),
        "metrics_period_s": run.metrics_period_s,
        "logs": fields_of(run.logs),
        "profiler": fields_of(run.profiler),
    }
    # Parquet is packed already.
    with zipfile.ZipFile(into, "w", zipfile.ZIP_STORED) as parts:
        parts.writestr(_HEAD, json.dumps(head), zipfile.ZIP_DEFLATED)
        for name in RUN_FRAMES:
            parts.writestr(f"{name}.parquet", _parquet(getattr(run, name)))


def read_note(source: IO[bytes]) -> dict[str, str]:
    """The note alone, without the frames. NoData where this is no such file, or one of another format."""
    return _understood(lambda: dict(_head(zipfile.ZipFile(source))["note"]))


def read_run(source: IO[bytes]) -> Run:
    """The run, equal to the one that was written. NoData where this is no such file, or it is damaged."""
    return _understood(lambda: _run(zipfile.ZipFile(source)))


def _run(parts: zipfile.ZipFile) -> Run:
    head = _head(parts)
    return Run(
        job=valued(Job, head["job"]),
        gaps=valued(tuple[Gap, ...], head["gaps"]),
        metrics_period_s=head["metrics_period_s"],
        logs=valued(LogCoverage, head["logs"]),
        profiler=valued(ProfilerCoverage, head.get("profiler")),
        **{name: made(to_frame(parts.read(f"{name}.parquet"))) for name, made in RUN_FRAMES.items()},
    )


def _head(parts: zipfile.ZipFile) -> dict[str, Any]:
    head: dict[str, Any] = json.loads(parts.read(_HEAD))
    if head["format"] != FORMAT:
        raise ValueError(f"format {head['format']}")
    return head


def _parquet(frame: pd.DataFrame) -> bytes:
    # Imported late: a twentieth of a second that most calls do not need.
    import pyarrow as pa
    from pyarrow import parquet

    into = BytesIO()
    parquet.write_table(pa.Table.from_pandas(frame, preserve_index=False), into, compression="zstd")
    return into.getvalue()


def _understood(read: Callable[[], _Read]) -> _Read:
    """Zip, JSON, Arrow and the frames' constructors each have errors of their own for a file that is no run."""
    try:
        return read()
    except OSError:
        raise
    except Exception as error:
        raise NoData(f"This is not a readable run: {type(error).__name__}: {error}.") from error
