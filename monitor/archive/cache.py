"""What was read of jobs that are over, kept in the user's cache folder: each is read from AWS once.

Kept is what was read; findings, figures and prices are worked out anew. A run holds as long as the job is described the same
and the reader's sources are the same (``reader_version``), and only one is kept that another look would find again.

One file a job, written beside its place and moved there, so that any number of processes may share the folder. A cache
is a convenience: what cannot be read or written is as if it were not there.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from monitor.archive.reader_version import reader_version
from monitor.archive.run_files import read_note, read_run, write_run
from monitor.archive.values import plain
from monitor.archive.verdicts import Verdicts
from monitor.errors import NoData
from monitor.model import Job, Run
from monitor.settings import cache_folder

#: Late lines and metrics are written for some minutes after a job's end.
SETTLED_AFTER = timedelta(minutes=15)
_OVER = frozenset({"Completed", "Failed", "Stopped"})
_SUFFIX = ".run"
_UNFINISHED = ".part"
_ABANDONED_S = 3600.0


@dataclass(frozen=True, slots=True)
class Key:
    """Which run is meant."""

    name: str
    """Of its file: by endpoint, ARN (account, region, name) and creation time."""
    state: str
    """A digest of all else that the run follows from: DescribeTrainingJob's answer, and the user's patterns."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A run from the cache."""

    run: Run
    at: datetime
    """When it was read from AWS."""


def key_of(job: Job, endpoint: str | None, patterns: Sequence[str] = ()) -> Key | None:
    """The key of a job as it was described; None where it is not over, or not told from others for certain."""
    if not endpoint or not job.arn or job.created is None or job.ended is None or job.status not in _OVER:
        return None
    # The bill of a warm pool grows after the job's end; nothing that is read of the job follows from it.
    settled = replace(job, warm_pool_billable_seconds=None)
    return Key(_digest(endpoint, job.arn, job.created.isoformat()), _digest(plain(settled), list(patterns)))


def is_final(run: Run, now: datetime) -> bool:
    """Whether another look would find the same: the job ended a while ago, and nothing was refused for the moment.

    The profiler's output is asked for again by itself where it could not be read.
    """
    ended = run.job.ended
    return (
        ended is not None
        and now - ended >= SETTLED_AFTER
        and not any(gap.transient and gap.what != "profiler" for gap in run.gaps)
    )


class Cache:
    """Runs in a folder of at most ``max_bytes``; those that were not asked for the longest go first."""

    def __init__(self, folder: Path, max_bytes: int, version: str | None = None) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._version = reader_version() if version is None else version
        #: What was said last of each job, finished or not.
        self.verdicts = Verdicts(folder.with_name("verdicts"))

    def load(self, key: Key) -> Kept | None:
        """The run, or None. A file that is damaged, of another version or of another state of the job is removed."""
        path = self._path(key)
        try:
            with path.open("rb") as file:
                note = read_note(file)
                if note != {**note, **self._note(key)}:
                    raise NoData("It was made from something else.")
                kept = Kept(read_run(file), datetime.fromisoformat(note["read_at"]))
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

    def store(self, key: Key, run: Run, now: datetime) -> None:
        """Keeps a run if it is final as of ``now``, when it was read."""
        if not self._version or not is_final(run, now):
            return
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Logs may hold what is nobody else's business.
            self._folder.chmod(0o700)
            self._write(self._path(key), run, {**self._note(key), "read_at": now.astimezone(UTC).isoformat()})
            self._make_room()

    def _write(self, path: Path, run: Run, note: Mapping[str, str]) -> None:
        handle, beside = tempfile.mkstemp(_UNFINISHED, dir=self._folder)
        try:
            with os.fdopen(handle, "wb") as file:
                write_run(run, file, note)
            if Path(beside).stat().st_size <= self._max_bytes:
                os.replace(beside, path)  # noqa: PTH105 - the same as Path.replace, and what it is called
        finally:
            with suppress(FileNotFoundError):
                Path(beside).unlink()

    def _make_room(self) -> None:
        found = []
        for path in self._folder.iterdir():
            with suppress(FileNotFoundError):
                seen = path.stat()
                if path.suffix == _SUFFIX:
                    found.append((seen.st_mtime, seen.st_size, path))
                elif path.suffix == _UNFINISHED and time.time() - seen.st_mtime > _ABANDONED_S:
                    path.unlink()
        over = sum(size for _, size, _ in found) - self._max_bytes
        for _, size, path in sorted(found):
            if over <= 0:
                return
            path.unlink(missing_ok=True)
            over -= size

    def _path(self, key: Key) -> Path:
        return self._folder / f"{key.name}{_SUFFIX}"

    def _note(self, key: Key) -> dict[str, str]:
        return {"reader": self._version, "state": key.state}


def user_cache(max_bytes: int, environ: Mapping[str, str] | None = None) -> Cache | None:
    """The cache in ``$XDG_CACHE_HOME`` (``~/.cache`` otherwise); None where it is turned off or there is no such place."""
    folder = cache_folder(environ)
    if folder is None or not max_bytes or not reader_version():
        return None
    return Cache(folder / "jobs", max_bytes)


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]
