"""``jobs``: the training jobs of one account or of many, newest first, with the verdict of the last review; those of an archive
ranked. What could not be read is named."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from rich.table import Table
from rich.text import Text

from monitor.archive.cache import Cache, CachedVerdict
from monitor.archive.document import jobs_document
from monitor.cli import job_lists
from monitor.cli.job_lists import (
    Listed,
    cached_verdict,
    check_watch,
    job_table,
    verdict_document,
    watch,
)
from monitor.cli.options import (
    EXIT_SOME_MISSING,
    account_source,
    chosen_cache,
    is_many,
    missing_documents,
    pairs_of,
    query_of,
    refuse_one_account,
    report_missing,
    sweep_of,
)
from monitor.cli.output import Paper, as_json, csv_text, deliver, paper_for, progress
from monitor.fetch.source import JobQuery
from monitor.model import JobSummary
from monitor.review.across import Across, LocatedJob
from monitor.review.archived import Source
from monitor.settings import read
from monitor.words import count

# Of a CSV, in the order of its columns; a pair that could not be read is a row without a job.
_CSV_OF_ALL = (
    *("account", "region", "name", "status", "instance_type", "instance_count", "created", "ended"),
    *("verdict", "level", "reviewed_at", "team", "project", "not_read"),
)


def run_across(arguments: argparse.Namespace) -> int:
    """Prints the list, once or again and again; the exit code says whether something is missing in it."""
    settings = read()
    pairs, cache = pairs_of(arguments, settings), chosen_cache(arguments, settings)
    sweep = sweep_of(arguments)

    def look(say: Callable[[str], None] = lambda text: None) -> _Across:
        now = datetime.now(UTC)
        query = query_of(arguments, now)
        found = sweep.list_jobs(pairs, query, now, say)
        rows = found.rows[: query.limit]
        endpoints = {where: sweep.endpoint(where) for where in {row.where for row in rows}}
        return _Across(found, rows, [cached_verdict(cache, endpoints[row.where], row.job) for row in rows], query)

    if arguments.watch:
        return watch(arguments, lambda: _listed(look()))
    with progress(arguments, "listing jobs") as say:
        seen = look(say)
    if arguments.format == "json":
        deliver(arguments, as_json(seen.document()))
    elif arguments.format == "csv":
        deliver(arguments, _csv(seen))
    else:
        deliver(arguments, _text_of_all(arguments, seen))
    report_missing(seen.found.missing, len(pairs))
    return EXIT_SOME_MISSING if seen.found.missing else 0


@dataclass(frozen=True, slots=True)
class _Across:
    """The list of all accounts as of one moment."""

    found: Across
    rows: Sequence[LocatedJob]
    """As many as are shown."""
    verdicts: Sequence[CachedVerdict | None]
    query: JobQuery

    @property
    def more(self) -> bool:
        """Whether further jobs match, beyond those that --limit lets pass."""
        return bool(self.found.more) or len(self.found.rows) > self.query.limit

    @property
    def what(self) -> str:
        return f"{count(len(self.rows), 'job')} in {_where(self.found)}"

    def document(self) -> dict[str, Any]:
        jobs, missing = _documents(self.rows, self.verdicts), missing_documents(self.found.missing)
        return {"schema": 1, "jobs": jobs, "not_read": missing, "more": self.more}


def _listed(seen: _Across) -> Listed:
    """The list in the forms in which it is repeated."""

    def drawn(width: int) -> Table | Text:
        return _table(seen, width) if seen.rows else Text("No training job matches.")

    troubles = tuple(f"{one.where}: {one.error}" for one in seen.found.missing)
    return Listed(seen.found.at, seen.what, seen.document(), drawn, troubles)


def _documents(rows: Sequence[LocatedJob], verdicts: Sequence[CachedVerdict | None]) -> list[dict[str, Any]]:
    told = jobs_document(tuple(row.job for row in rows))["jobs"]
    return [
        {"account": row.where.account.name, "region": row.where.region}
        | document
        | verdict_document(kept)
        | {key: row.job.tag(key) or row.where.account.tag(key) for key in ("team", "project")}
        for row, document, kept in zip(rows, told, verdicts, strict=True)
    ]


def _csv(seen: _Across) -> str:
    missing = [
        {"account": one["account"], "region": one["region"], "not_read": one["why"]}
        for one in missing_documents(seen.found.missing)
    ]
    return csv_text(_CSV_OF_ALL, [*_documents(seen.rows, seen.verdicts), *missing])


def _text_of_all(arguments: argparse.Namespace, seen: _Across) -> Paper:
    paper = paper_for(arguments)
    if not seen.rows:
        paper.print(f"No training job matches in {_where(seen.found)}.")
        return paper
    paper.print(_table(seen, paper.width), crop=False)
    paper.print(f"\n{seen.what}.")
    if seen.more:
        paper.print("There are further ones: --limit shows more.", style="dim")
    return paper


def _table(seen: _Across, width: int) -> Table:
    jobs, where = [row.job for row in seen.rows], [row.where for row in seen.rows]
    return job_table(jobs, seen.verdicts, seen.found.at, width, where)


def _where(found: Across) -> str:
    """``3 of 4 accounts and regions``."""
    whole = len(found.asked)
    of = f"{found.answered} of {whole}" if found.missing else f"{whole}"
    return f"{of} accounts and regions" if whole != 1 else str(found.asked[0])


_CSV = ("name", "status", "instance_type", "instance_count", "created", "ended", "verdict", "level", "reviewed_at")


@dataclass(frozen=True, slots=True)
class _Listing:
    """The list as of one moment."""

    jobs: tuple[JobSummary, ...]
    verdicts: Sequence[CachedVerdict | None]
    at: datetime


def run(arguments: argparse.Namespace) -> int:
    """Prints the list, once or again and again."""
    now = datetime.now(UTC)
    query = query_of(arguments, now)
    if arguments.watch:
        check_watch(arguments)
    if arguments.archive is not None:
        refuse_one_account(arguments, "--archive")
        return job_lists.run(arguments, query)
    if is_many(arguments):
        return run_across(arguments)
    source, cache = account_source(arguments), chosen_cache(arguments, read())
    if arguments.watch:
        return watch(arguments, lambda: listed(_refreshed(arguments, source, cache)))
    with progress(arguments, "listing jobs"):
        found = _refreshed(arguments, source, cache)
    if arguments.format == "json":
        deliver(arguments, as_json(_document(found)))
    elif arguments.format == "csv":
        deliver(arguments, csv_text(_CSV, _document(found)["jobs"]))
    else:
        deliver(arguments, _text(arguments, found))
    return 0


def listed(found: _Listing) -> Listed:
    """The list in the forms in which it is repeated."""
    nothing = Text("No training job matches.")
    return Listed(
        found.at,
        count(len(found.jobs), "job"),
        _document(found),
        lambda width: job_table(found.jobs, found.verdicts, found.at, width) if found.jobs else nothing,
    )


def _refreshed(arguments: argparse.Namespace, source: Source, cache: Cache | None) -> _Listing:
    """The list and, without another call, what is kept of each job's last review."""
    now = datetime.now(UTC)
    query = query_of(arguments, now)
    jobs = source.with_instances(source.jobs(query))
    endpoint = source.endpoint()
    return _Listing(jobs, [cached_verdict(cache, endpoint, job) for job in jobs], now)


def _document(found: _Listing) -> dict[str, Any]:
    document = jobs_document(found.jobs)
    for row, kept in zip(document["jobs"], found.verdicts, strict=True):
        row |= verdict_document(kept)
    return document


def _text(arguments: argparse.Namespace, found: _Listing) -> Paper:
    paper = paper_for(arguments)
    if not found.jobs:
        paper.print("No training job matches.")
        return paper
    paper.print(job_table(found.jobs, found.verdicts, found.at, paper.width), crop=False)
    if not arguments.no_cache and not any(found.verdicts):
        paper.print("No verdicts yet: report JOB reviews one job, the dashboard reviews the newest.", style="dim")
    return paper
