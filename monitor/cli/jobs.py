"""``jobs``: the training jobs of the account, newest first, with the verdict of the last review; those of an archive ranked."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from io import StringIO
from typing import Any

from rich.table import Table
from rich.text import Text

from monitor.archive.cache import Cache
from monitor.archive.cache import KeptVerdict as Kept
from monitor.archive.document import jobs_document
from monitor.cli import job_lists, jobs_across
from monitor.cli.job_lists import (
    SHORTEST_S,
    Listed,
    check_watch,
    instances,
    kept_of,
    muted_names,
    ran,
    verdict_document,
    verdict_text,
    watch,
)
from monitor.cli.options import (
    account_source,
    add_account_options,
    add_accounts_options,
    add_archive_option,
    add_cache_option,
    add_command,
    add_query_options,
    chosen_cache,
    is_many,
    query_of,
    refuse_one_account,
)
from monitor.cli.output import Column, Paper, add_output_options, as_json, deliver, paper_for, progress, table
from monitor.diagnose.headline import status_word
from monitor.model import JobSummary
from monitor.review.archived import Source
from monitor.settings import read
from monitor.words import count, instant

_VERDICT = Column("VERDICT", goes=1, wraps=True, below=True)
_COLUMNS = (
    Column("JOB"),
    Column("STATUS"),
    _VERDICT,
    Column("RAN", goes=2, right=True),
    Column("INSTANCES", goes=3),
    Column("CREATED", goes=4),
)

_Verdicts = Mapping[str, Kept | None]


@dataclass(frozen=True, slots=True)
class _Listing:
    """The list as of one moment."""

    jobs: tuple[JobSummary, ...]
    verdicts: _Verdicts
    at: datetime
    muted: frozenset[str] = frozenset()
    """Names of jobs whose verdict is of a finding that this user muted."""


def add_to(commands: Any) -> None:
    """Adds the command's grammar."""
    command = add_command(
        commands,
        "jobs",
        "list training jobs, newest first",
        "Lists training jobs, newest first, each with the verdict of its last review. The list itself reviews "
        "nothing and makes no extra calls: a job has a verdict once the dashboard or report has reviewed it. Jobs "
        "of an archive are ranked by what could be saved on them.",
        (
            "jobs",
            "jobs --status running --watch",
            "jobs --name-contains llama --since 7d --limit 50",
            "jobs --archive ~/trainwatch-archive --format csv --output jobs.csv",
            "jobs --all-accounts --status running --watch",
            "jobs --account research --region eu-west-1 --since 7d",
        ),
    )
    add_query_options(command, 20)
    command.add_argument("--watch", action="store_true", help="list again and again until Ctrl-C")
    command.add_argument(
        "--interval",
        default="30s",
        metavar="30s",
        help=f"time between lists with --watch (default 30s, at least {SHORTEST_S:.0f}s)",
    )
    add_archive_option(command, "rank the jobs of this archive by what could be saved on them")
    add_cache_option(command, "do not use the local cache, and so show no verdicts")
    add_account_options(command)
    add_accounts_options(command)
    add_output_options(command, ("text", "json", "csv"))
    command.set_defaults(run=run)


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
        return jobs_across.run(arguments)
    source, cache = account_source(arguments), chosen_cache(arguments, read())
    if arguments.watch:
        return watch(arguments, lambda: listed(_look(arguments, source, cache)))
    with progress(arguments, "listing jobs"):
        found = _look(arguments, source, cache)
    if arguments.format == "json":
        deliver(arguments, as_json(_document(found)))
    elif arguments.format == "csv":
        deliver(arguments, _csv(found))
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
        lambda width: _table(found, width) if found.jobs else nothing,
    )


def _look(arguments: argparse.Namespace, source: Source, cache: Cache | None) -> _Listing:
    """The list and, without another call, what is kept of each job's last review."""
    now = datetime.now(UTC)
    query = query_of(arguments, now)
    jobs = source.with_instances(source.jobs(query))
    endpoint = source.endpoint()
    verdicts = {job.name: kept_of(cache, endpoint, job) for job in jobs}
    return _Listing(jobs, verdicts, now, muted_names(verdicts.items()))


def _document(found: _Listing) -> dict[str, Any]:
    document = jobs_document(found.jobs)
    for row in document["jobs"]:
        row |= verdict_document(found.verdicts[row["name"]])
    return document


def _csv(found: _Listing) -> str:
    out = StringIO()
    rows = _document(found)["jobs"]
    names = ["name", "status", "instance_type", "instance_count", "created", "ended", "verdict", "level", "reviewed_at"]
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _text(arguments: argparse.Namespace, found: _Listing) -> Paper:
    paper = paper_for(arguments)
    if not found.jobs:
        paper.print("No training job matches.")
        return paper
    paper.print(_table(found, paper.width), crop=False)
    if not arguments.no_cache and not any(found.verdicts.values()):
        paper.print("No verdicts yet: report JOB reviews one job, the dashboard reviews the newest.", style="dim")
    return paper


def _table(found: _Listing, width: int) -> Table:
    shown = [column for column in _COLUMNS if column is not _VERDICT or any(found.verdicts.values())]
    rows = []
    for job in found.jobs:
        cells = {
            "JOB": Text(job.name),
            "STATUS": Text(status_word(job.status)),
            "VERDICT": verdict_text(job, found.verdicts[job.name], found.at, job.name in found.muted),
            "RAN": Text(ran(job, found.at)),
            "INSTANCES": Text(instances(job)),
            "CREATED": Text(instant(job.created)),
        }
        rows.append([cells[column.title] for column in shown])
    return table(shown, rows, width)
