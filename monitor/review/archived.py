"""An archive as a source of jobs: whole runs, read without AWS and as of the moment they were archived; and which source has a
job by its name: ``logs:PATH`` and ``archive:PATH`` are places of their own, the rest is AWS's."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Protocol

from monitor.archive import reading as manifests
from monitor.archive.layout import RUNS
from monitor.archive.reading import Archive, Archived, Manifest
from monitor.archive.store import Store, no_archive, opened
from monitor.aws.calls import side_by_side
from monitor.choices import ARCHIVE, LOGS
from monitor.errors import BadCall, NoData
from monitor.fetch.files.source import FilesSource, shown
from monitor.fetch.source import JobQuery, JobQueryResult, JobSource, PageSource
from monitor.model import BEGINNING, ApiBill, Gap, Job, JobSummary, Price
from monitor.settings import archive_root, read

# Manifests of a far archive that are asked for at the same time.
_AT_ONCE = 16

Row = Mapping[str, Any]


class RunSource(JobSource, Protocol):
    """An archive: whole runs, each as of the moment it was archived."""

    gives: Literal["runs"]

    @property
    def label(self) -> str:
        """The archive as the user names it."""
        ...

    def archived(self, name: str) -> Archived:
        """The job with all that was read of it. NoSuchJob, or NoData where the archive is damaged."""
        ...

    def manifest(self, name: str) -> Manifest:
        """The job without its frames; errors as above."""
        ...


Source = PageSource | RunSource


class ArchiveSource:
    """The RunSource of one archive. Safe to share between threads."""

    gives: Literal["runs"] = "runs"
    clients = lines = None

    def __init__(self, store: Store) -> None:
        self._archive = Archive(store)
        self._store = store
        self._lock = threading.Lock()
        self._known: dict[str, tuple[str, Row | NoData]] = {}

    @property
    def label(self) -> str:
        return self._store.label

    def archived(self, name: str) -> Archived:
        return self._archive.load(self.manifest(name))

    def manifest(self, name: str) -> Manifest:
        return self._archive.find(name)

    def only(self) -> str:
        """The name of the one job there is; NoData or BadCall where that is not so."""
        return self._archive.only()

    def rows(self) -> tuple[tuple[Row, ...], tuple[NoData, ...]]:
        """A row of each job as in the table of jobs, newest first, and what could not be read.

        From the manifests alone, which hold it; those that were seen before and are the same are not read again.
        """
        listed = self._store.listed(RUNS)
        with self._lock:
            fresh = {path: stamp for path, stamp in listed.items() if self._known.get(path, ("",))[0] != stamp}
        read = side_by_side(self._row, fresh, _AT_ONCE) if self._store.is_far else map(self._row, fresh)
        found = dict(zip(fresh, read, strict=True))
        with self._lock:
            self._known = {path: self._known[path] for path in listed if path in self._known and path not in fresh} | {
                path: (fresh[path], row) for path, row in found.items() if row is not None
            }
            all_of_it = [row for _, row in self._known.values()]
        rows = [row for row in all_of_it if not isinstance(row, NoData)]
        rows.sort(key=lambda row: str(row.get("created") or ""), reverse=True)
        return tuple(rows), tuple(row for row in all_of_it if isinstance(row, NoData))

    def jobs(self, query: JobQuery) -> tuple[JobSummary, ...]:
        rows, _ = self.rows()
        return tuple(map(summary, matching(rows, query)[: query.limit]))

    def find(self, query: JobQuery) -> JobQueryResult:
        return JobQueryResult(self.jobs(query))

    def with_instances(self, summaries: Sequence[JobSummary]) -> tuple[JobSummary, ...]:
        """The rows as they are: an archive has them whole."""
        return tuple(summaries)

    def job(self, name: str) -> Job:
        return self.manifest(name).job

    def endpoint(self) -> None:
        return None

    def price(self, instance_type: str, job: Job) -> Price | Gap | None:
        return None

    def bill(self) -> ApiBill:
        clients = getattr(self._store, "clients", None)
        return ApiBill() if clients is None else clients.bill()

    def _row(self, path: str) -> Row | NoData | None:
        data = self._store.read(path)
        if data is None:
            return None
        try:
            return manifests.row_of(data, f"{self.label}/{path}")
        except NoData as error:
            return error


def matching(rows: Sequence[Row], query: JobQuery) -> list[Row]:
    """The rows that a query asks for, in their order; all of them, whatever its limit."""
    after, before = query.created_after, query.created_before
    return [
        row
        for row in rows
        if (not query.status or row["status"] == query.status)
        and (query.name_contains or "") in row["job_name"]
        and (after is None or (instant_of(row["created"]) or BEGINNING) >= after)
        and (before is None or (instant_of(row["created"]) or BEGINNING) < before)
        and (query.instance_type or "") in (row["instance_type"] or "")
    ]


def summary(row: Row) -> JobSummary:
    """The row as one of a list of jobs."""
    return JobSummary(
        row["job_name"],
        row["status"] or "",
        instant_of(row["created"]),
        instant_of(row["ended"]),
        row["instance_type"],
        row["instance_count"],
    )


def instant_of(text: str | None) -> datetime | None:
    """A time of a row."""
    return None if text is None else datetime.fromisoformat(text)


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
