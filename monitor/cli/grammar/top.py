"""What ``top`` takes."""

from __future__ import annotations

from typing import Any

from monitor.cli.grammar.options import (
    add_account_options,
    add_archive_option,
    add_cache_option,
    add_command,
    add_query_options,
)


def add_to(commands: Any) -> None:
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
    add_query_options(command, 50)
    add_archive_option(command, "show the jobs of this archive instead of the account's")
    add_cache_option(command)
    add_account_options(command)
