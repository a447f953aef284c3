"""``jobs``: the training jobs of the account, newest first, or those of an archive by what could be saved on them."""

from __future__ import annotations

import argparse
import csv
import re
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

from rich.table import Table

from monitor.archive.document import jobs_document
from monitor.cli import fleet
from monitor.cli.output import add_output_options, as_json, console, deliver, progress
from monitor.cli.sources import account_source, add_account_options, add_archive_option
from monitor.errors import BadCall
from monitor.fetch.source import JobQuery
from monitor.model import JobSummary
from monitor.words import DASH, duration, instant

_UNITS = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_STATUSES = ("InProgress", "Completed", "Failed", "Stopping", "Stopped")


def add_to(commands: Any) -> None:
    """Adds the command's grammar."""
    command = commands.add_parser("jobs", help="list training jobs, newest first", description=__doc__)
    command.add_argument("--status", metavar="S", help=f"only jobs in this status: {', '.join(_STATUSES)}")
    command.add_argument("--name-contains", metavar="T", help="only jobs whose name contains T")
    command.add_argument("--since", metavar="7d", help="only jobs created within this time: 90m, 12h, 7d, 4w")
    command.add_argument("--limit", type=int, default=20, metavar="N", help="at most N jobs (default 20)")
    add_archive_option(command, "rank the jobs of this archive by what could be saved on them")
    add_account_options(command)
    add_output_options(command, ("text", "json", "csv"))
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints the list."""
    now = datetime.now(UTC)
    if arguments.limit < 1:
        raise BadCall(f"--limit {arguments.limit} lists nothing.", "Give a number from 1.")
    query = job_query(arguments.status, arguments.name_contains, arguments.since, now, arguments.limit)
    if arguments.archive is not None:
        return fleet.run(arguments, query)
    source = account_source(arguments)
    with progress(arguments):
        found = source.with_instances(source.jobs(query))
    if arguments.format == "json":
        deliver(arguments, as_json(jobs_document(found)))
    elif arguments.format == "csv":
        deliver(arguments, _csv(found))
    else:
        deliver(arguments, _text(arguments, found, now))
    return 0


def job_query(status: str | None, name_contains: str | None, since: str | None, now: datetime, limit: int) -> JobQuery:
    """The query of --status, --name-contains and --since. BadCall where one of them is wrong."""
    return JobQuery(_status(status), name_contains, _since(since, now), limit)


def _status(text: str | None) -> str | None:
    if text is None:
        return None
    known = {status.lower(): status for status in (*_STATUSES, "Deleting")}
    if text.lower() == "running":
        return "InProgress"
    if text.lower() not in known:
        raise BadCall(f"No job has the status {text}.", f"Statuses are {', '.join(_STATUSES)}.")
    return known[text.lower()]


def _since(text: str | None, now: datetime) -> datetime | None:
    if text is None:
        return None
    match = re.fullmatch(r"(\d{1,6})([mhdw])", text.strip())
    if match is None:
        raise BadCall(f"--since {text} is no duration.", "Write a number and a unit: 90m, 12h, 7d or 4w.")
    return now - timedelta(seconds=int(match[1]) * _UNITS[match[2]])


def _csv(jobs: tuple[JobSummary, ...]) -> str:
    out = StringIO()
    rows = jobs_document(jobs)["jobs"]
    writer = csv.DictWriter(
        out, ["name", "status", "instance_type", "instance_count", "created", "ended"], lineterminator="\n"
    )
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _text(arguments: argparse.Namespace, jobs: tuple[JobSummary, ...], now: datetime) -> str:
    out = StringIO()
    paper = console(arguments, out)
    if not jobs:
        paper.print("No training job matches.")
        return out.getvalue()
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("JOB", overflow="fold")
    for title in ("STATUS", "INSTANCES", "CREATED", "RAN"):
        table.add_column(title, no_wrap=True)
    for job in jobs:
        instances = f"{job.instance_count} x {job.instance_type}" if job.instance_type else DASH
        ran = (job.ended or now) - job.created if job.created else None
        table.add_row(
            job.name, job.status, instances, instant(job.created), duration(ran.total_seconds() if ran else None)
        )
    paper.print(table)
    return out.getvalue()
