"""Which source has the job with that name? ``logs:PATH`` and ``archive:PATH`` are places of their own, the rest is
AWS's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from monitor.archive.store import no_archive, opened
from monitor.errors import BadCall
from monitor.fetch.files.source import FilesSource, shown
from monitor.review.archived import ArchiveSource, Source
from monitor.settings import archive_root, read

LOGS = "logs:"
ARCHIVE = "archive:"


def source_of(
    job: str, account: Callable[[], Source], region: str | None = None, profile: str | None = None
) -> tuple[Source, str]:
    """(source, job name); ``account`` gives the source of the jobs that AWS has."""
    if job.startswith(LOGS):
        return log_files([job.removeprefix(LOGS)])
    if job.startswith(ARCHIVE):
        return archived(job.removeprefix(ARCHIVE), region, profile)
    return account(), job


def log_files(paths: Sequence[str]) -> tuple[Source, str]:
    """Log files or folders, and what their job is called."""
    if not paths or not all(paths):
        raise BadCall("logs: needs a path behind it.", "For example logs:./algo-1.log.")
    return FilesSource(paths), "standard-input" if [*paths] == ["-"] else shown(Path(paths[0]).name or paths[0])


def archived(path: str, region: str | None = None, profile: str | None = None) -> tuple[Source, str]:
    """The archive with that root, or the one that holds a job of that name, and the job that is meant."""
    if not path:
        raise BadCall("archive: needs a path after it.", "For example archive:./archive/my-job.")
    store, job = opened(path, archive_root(read()), region, profile)
    source = ArchiveSource(store)
    return source, job or source.only()


def archive_source(root: str, region: str | None = None, profile: str | None = None) -> ArchiveSource:
    """The archive with that root. NoData where there is none."""
    store, job = opened(root, archive_root(read()), region, profile)
    if job is not None:
        raise no_archive(root)
    return ArchiveSource(store)
