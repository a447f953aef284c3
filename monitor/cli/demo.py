"""``demo``: the dashboard on an embedded account with sample jobs; no credentials, no network."""

from __future__ import annotations

import argparse
from typing import Any

from monitor.cli.dashboard import add_address_options, visitors
from monitor.cli.options import add_command


def add_to(commands: Any) -> None:
    """Adds the command's grammar."""
    command = add_command(
        commands,
        "demo",
        "the dashboard on sample jobs, without an account",
        "Serves the dashboard on an embedded account with sample jobs; no credentials, no network.",
        ("demo", "demo --port 8600"),
    )
    add_address_options(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Runs the demo until it is stopped."""
    from monitor.demo.serve import run as serve_demo

    return serve_demo(arguments.port, host=arguments.host, visitors=visitors(arguments))
