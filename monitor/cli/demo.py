"""``demo``: the dashboard on an embedded account with sample jobs; no credentials, no network."""

from __future__ import annotations

import argparse
from typing import Any


def add_to(commands: Any) -> None:
    """Adds the command's grammar."""
    command = commands.add_parser("demo", help="the dashboard on sample jobs, without an account", description=__doc__)
    command.add_argument("--port", type=int, default=8501, help="port on 127.0.0.1 (default 8501)")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Runs the demo until it is stopped."""
    from monitor.demo.serve import run as serve_demo

    return serve_demo(arguments.port)
