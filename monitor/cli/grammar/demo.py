"""What ``demo`` takes."""

from __future__ import annotations

from typing import Any

from monitor.cli.grammar.dashboard import add_address_options
from monitor.cli.grammar.options import add_command


def add_to(commands: Any) -> None:
    command = add_command(
        commands,
        "demo",
        "the dashboard on sample jobs, without an account",
        "Serves the dashboard on an embedded account with sample jobs; no credentials, no network.",
        ("demo", "demo --port 8600"),
    )
    add_address_options(command)
