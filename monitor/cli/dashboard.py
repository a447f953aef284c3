"""``dashboard``: the browser dashboard on the configured AWS account, or on an archive."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from monitor.cli.help import add_command
from monitor.cli.sources import (
    account_source,
    add_account_options,
    add_archive_option,
    add_cache_option,
    archive_source,
)
from monitor.serve.child import HERE
from monitor.serve.until_stopped import check, serve, stop_signals
from monitor.settings import ARCHIVE_SHOWN, CACHE_OFF


def add_address_options(command: argparse.ArgumentParser) -> None:
    """Where a dashboard is served."""
    command.add_argument("--port", type=int, default=8501, help="port (default 8501)")
    command.add_argument(
        "--host",
        default=HERE,
        metavar="ADDRESS",
        help=f"address to listen on (default {HERE}, this machine only; 0.0.0.0 lets others in: there is no sign-in)",
    )


def add_to(commands: Any) -> None:
    """Adds the command's grammar."""
    command = add_command(
        commands,
        "dashboard",
        "the browser dashboard on the AWS account",
        "Serves the browser dashboard on the configured AWS account, or on an archive, until Ctrl-C.",
        ("dashboard", "dashboard --profile training --region eu-west-1", "dashboard --archive ~/trainwatch-archive"),
    )
    add_address_options(command)
    add_archive_option(command, "show the jobs of this archive instead of the account's; needs no AWS")
    add_cache_option(command)
    add_account_options(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Runs the dashboard until it is stopped."""
    environment = dict(os.environ)
    # What is missing (a region, a profile, the archive) is said here, not in the browser.
    if arguments.archive is not None:
        root = archive_source(arguments.archive, arguments).label
        environment[ARCHIVE_SHOWN] = root if "://" in root else str(Path(root).expanduser().absolute())
    else:
        account_source(arguments)
        environment.pop(ARCHIVE_SHOWN, None)
    if arguments.region:
        environment["AWS_REGION"] = environment["AWS_DEFAULT_REGION"] = arguments.region
    if arguments.profile:
        environment["AWS_PROFILE"] = arguments.profile
    if arguments.no_cache:
        environment[CACHE_OFF] = "1"
    check(arguments.port, host=arguments.host)
    with stop_signals() as stopped:
        announce = "Trainwatch: {}  (Ctrl-C stops it)".format
        serve(arguments.port, environment, stopped, announce, host=arguments.host)
    return 0
