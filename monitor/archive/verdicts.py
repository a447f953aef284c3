"""The last verdict on each reviewed job, kept in the user's cache folder so that a list can show it without a call.

One small file a job, written beside its place and moved there. Like the cache of runs it is a convenience: what cannot be
read or written is as if it were not there, and what another version of the rules said does not count.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from monitor.archive.reader_version import reader_version, rules_version
from monitor.diagnose.verdict import judge
from monitor.model import Report

_SUFFIX = ".json"
#: Of so many jobs, those that were reviewed last.
MOST = 2000


@dataclass(frozen=True, slots=True)
class Kept:
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
            self._write(self._path(endpoint, job.name, job.created), json.dumps(said, ensure_ascii=False))
            self._make_room()

    def of(self, endpoint: str | None, name: str, created: datetime | None) -> Kept | None:
        """What was said of a job; None where that is not known."""
        if endpoint is None or created is None:
            return None
        with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            said = json.loads(self._path(endpoint, name, created).read_bytes())
            if said["version"] == self._version:
                at = datetime.fromisoformat(said["reviewed_at"])
                return Kept(str(said["level"]), str(said["headline"]), said["finding"], said["status"], at)
        return None

    def _path(self, endpoint: str, name: str, created: datetime) -> Path:
        parts = json.dumps([endpoint, name, created.astimezone(UTC).isoformat()])
        return self._folder / f"{hashlib.sha256(parts.encode()).hexdigest()[:32]}{_SUFFIX}"

    def _write(self, path: Path, text: str) -> None:
        handle, beside = tempfile.mkstemp(".part", dir=self._folder)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(beside, path)  # noqa: PTH105 - the same as Path.replace, and what it is called
        finally:
            with suppress(FileNotFoundError):
                Path(beside).unlink()

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
