"""What ``jobs`` takes."""

from __future__ import annotations

from typing import Any

from monitor.cli.grammar.options import (
    add_account_options,
    add_accounts_options,
    add_archive_option,
    add_cache_option,
    add_command,
    add_output_options,
    add_query_options,
)

#: Between two looks at the least: each is a call or two, and one more for each new job.
SHORTEST_S = 5.0


def add_to(commands: Any) -> None:
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
