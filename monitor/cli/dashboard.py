"""``dashboard``: the browser dashboard on the configured AWS account."""

from __future__ import annotations

import argparse
import os
from typing import Any

from monitor.cli.sources import account_source, add_account_options, add_cache_option
from monitor.serve.until_stopped import check, serve, stop_signals
from monitor.settings import CACHE_OFF


def add_to(commands: Any) -> None:
    """Adds the command's grammar."""
    command = commands.add_parser("dashboard", help="the browser dashboard on the AWS account", description=__doc__)
    command.add_argument("--port", type=int, default=8501, help="port on 127.0.0.1 (default 8501)")
    add_cache_option(command)
    add_account_options(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Runs the dashboard until it is stopped."""
    check(arguments.port)
    account_source(arguments)  # a missing region or profile is said here, not in the browser
    environment = dict(os.environ)
    if arguments.region:
        environment["AWS_REGION"] = environment["AWS_DEFAULT_REGION"] = arguments.region
    if arguments.profile:
        environment["AWS_PROFILE"] = arguments.profile
    if arguments.no_cache:
        environment[CACHE_OFF] = "1"
    with stop_signals() as stopped:
        serve(arguments.port, environment, stopped, lambda url: f"Trainwatch: {url}  (Ctrl-C stops it)")
    return 0
