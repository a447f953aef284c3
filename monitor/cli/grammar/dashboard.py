"""What ``dashboard`` takes."""

from __future__ import annotations

import argparse
from typing import Any

from monitor.choices import HERE
from monitor.cli.grammar.options import add_account_options, add_archive_option, add_cache_option, add_command


def add_to(commands: Any) -> None:
    command = add_command(
        commands,
        "dashboard",
        "the browser dashboard on the AWS account",
        "Serves the browser dashboard on the configured AWS account, or on an archive, until Ctrl-C.",
        (
            "dashboard",
            "dashboard --profile training --region eu-west-1",
            "dashboard --all-accounts --host 0.0.0.0",
            "dashboard --archive ~/trainwatch-archive",
        ),
    )
    add_address_options(command)
    add_archive_option(command, "show the jobs of this archive instead of the account's; needs no AWS")
    add_cache_option(command)
    add_account_options(command)
    command.add_argument(
        "--all-accounts",
        action="store_true",
        help="everyone who opens the dashboard sees the accounts of the settings file (without it, whoever runs it alone)",
    )


def add_address_options(command: argparse.ArgumentParser) -> None:
    """Where a dashboard is served."""
    command.add_argument("--port", type=int, default=8501, help="port (default 8501)")
    command.add_argument(
        "--host",
        default=HERE,
        metavar="ADDRESS",
        help=f"address to listen on (default {HERE}, this machine only; 0.0.0.0 lets others in: there is no sign-in)",
    )
    command.add_argument(
        "--read-only",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="whether nobody can change thresholds and mutes, nor choose another profile (default: only where --host lets "
        "others in)",
    )
