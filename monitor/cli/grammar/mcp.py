"""What ``mcp`` takes."""

from __future__ import annotations

from typing import Any

from monitor.choices import HERE
from monitor.cli.grammar.options import add_account_options, add_cache_option, add_command

_PORT = 8765
# So much is hours of watching the largest jobs, and an agent in a loop costs no more.
MOST_USD = 1.0


def add_to(commands: Any) -> None:
    command = add_command(
        commands,
        "mcp",
        "tools for coding agents (Model Context Protocol)",
        "Serves six tools to a coding agent: jobs, review, evidence, compare, plan and watch. They only read. The agent "
        "starts this command and talks to it over standard input and output; --http serves it to programs of this machine "
        "instead, until Ctrl-C. It needs the extra mcp: pip install 'trainwatch[mcp]'.",
        (
            "mcp",
            "mcp --profile training --region eu-west-1",
            "mcp --files ./trainwatch-archive",
            "mcp --http --port 8765 --max-usd 0.50",
        ),
    )
    command.add_argument(
        "--files",
        action="append",
        default=[],
        metavar="PATH",
        help="a folder whose logs and archives may be read, too (logs:PATH, archive:PATH); repeatable; none without it",
    )
    command.add_argument(
        "--max-usd",
        metavar="X",
        help=f"what the metrics that the reviews read may cost in all, until it ends (default {MOST_USD:g}; logs are free)",
    )
    command.add_argument("--http", action="store_true", help=f"serve streamable HTTP on {HERE} instead")
    command.add_argument("--port", type=int, default=_PORT, help=f"port of --http (default {_PORT})")
    command.add_argument(
        "--host", default=HERE, metavar="ADDRESS", help=f"a loopback address for --http (default {HERE})"
    )
    add_cache_option(command)
    add_account_options(command)
