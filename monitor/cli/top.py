"""``top``: the jobs of the account in the terminal, live; Enter opens one."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from typing import Any

from monitor.cli.options import add_command
from monitor.cli.sources import (
    account_source,
    add_account_options,
    add_archive_option,
    add_cache_option,
    archive_source,
    chosen_cache,
    source_of,
)
from monitor.cli.top_board import Board
from monitor.errors import BadCall, CannotDo
from monitor.faults import fault
from monitor.fetch.source import JobQuery
from monitor.review import Watch
from monitor.review.archived import Source
from monitor.review.job_query import STATUSES, job_query
from monitor.review.log_watch import LogWatch
from monitor.settings import read


def add_to(commands: Any) -> None:
    """Adds the command's grammar."""
    command = add_command(
        commands,
        "top",
        "the jobs in this terminal, live",
        "Shows the newest jobs in this terminal, worst first, each with its verdict and its GPU over time. Enter opens one: "
        "its report, and its log, which follows. Keys: arrows or j and k, Enter, Escape, l for a larger log, Tab, s to sort "
        "again, q to quit.",
        ("top", "top my-training-job", "top --status running --name-contains llama"),
    )
    command.add_argument("job", nargs="?", metavar="JOB", help="open this job: a name, logs:PATH, or archive:PATH")
    command.add_argument("--status", metavar="S", help=f"only jobs with this status: {', '.join(STATUSES)}, or running")
    command.add_argument("--name-contains", metavar="T", help="only jobs whose name contains T")
    command.add_argument("--since", metavar="7d", help="only jobs created within this time: 90m, 12h, 7d, 4w")
    command.add_argument("--limit", type=int, default=50, metavar="N", help="at most N jobs (default 50)")
    add_archive_option(command, "show the jobs of this archive instead of the account's")
    add_cache_option(command)
    add_account_options(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Takes the terminal until it is given back."""
    if arguments.limit < 1:
        raise BadCall(f"--limit {arguments.limit} lists nothing.", "Give a number of at least 1.")
    query(arguments)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise CannotDo("top needs a terminal to draw on.", "Use report JOB, or jobs --watch.")
    if arguments.archive is not None:
        source: Source = archive_source(arguments.archive, arguments)
        job: str | None = arguments.job
    elif arguments.job is not None:
        source, job = source_of(arguments.job, arguments, lambda: account_source(arguments))
    else:
        source, job = account_source(arguments), None
    settings = read()
    watch = Watch(source, settings=settings, cache=chosen_cache(arguments, settings))
    board = Board(source, watch, lambda: query(arguments)) if job is None else None
    # Imported late: what draws a whole screen is large.
    from monitor.cli.top_screens import Top

    top = Top(watch, LogWatch(source, settings=settings), board, job)
    top.run(mouse=False)
    if top.failure is not None:
        raise fault(top.failure, "The screen")
    if top.interrupted:
        raise KeyboardInterrupt
    return 0


def query(arguments: argparse.Namespace) -> JobQuery:
    """What the options ask for as of now. BadCall where one of them is wrong."""
    return job_query(arguments.status, arguments.name_contains, arguments.since, datetime.now(UTC), arguments.limit)
