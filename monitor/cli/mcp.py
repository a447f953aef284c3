"""``mcp``: the tools for coding agents, on standard input and output or over HTTP on this machine."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from monitor.cli.options import (
    account_source,
    add_account_options,
    add_cache_option,
    add_command,
    checked_limit,
    chosen_cache,
)
from monitor.errors import BadCall, CannotDo
from monitor.serve import HERE, check, is_this_machine_alone
from monitor.settings import read

_PORT = 8765
# So much is hours of watching the largest jobs, and an agent in a loop costs no more.
_MOST_USD = 1.0


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
        help=f"what the metrics that the reviews read may cost in all, until it ends (default {_MOST_USD:g}; logs are free)",
    )
    command.add_argument("--http", action="store_true", help=f"serve streamable HTTP on {HERE} instead")
    command.add_argument("--port", type=int, default=_PORT, help=f"port of --http (default {_PORT})")
    command.add_argument(
        "--host", default=HERE, metavar="ADDRESS", help=f"a loopback address for --http (default {HERE})"
    )
    add_cache_option(command)
    add_account_options(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serves until its input ends, or Ctrl-C."""
    if not is_this_machine_alone(arguments.host):
        raise BadCall(
            f"--host {arguments.host} would let others in, and the tools have no sign-in.", f"Leave it out for {HERE}."
        )
    # Imported late: it is an extra, and takes a second.
    try:
        from monitor.agents.server import server
    except ImportError as error:
        raise CannotDo(
            f"The extra mcp is not installed ({error}).", "Install it: pip install 'trainwatch[mcp]', or make .venv."
        ) from None
    from monitor.agents.desk import Desk

    most_usd = checked_limit(arguments)
    settings = read()
    desk = Desk(
        lambda: account_source(arguments),
        settings,
        chosen_cache(arguments, settings),
        arguments.files,
        arguments.region,
        arguments.profile,
        _MOST_USD if most_usd is None else most_usd,
    )
    if not arguments.http:
        if sys.stdin.isatty():
            print("Trainwatch tools: an agent talks to them here, not a person; Ctrl-C ends them.", file=sys.stderr)
        server(desk).run()
        return 0
    check(arguments.port, host=arguments.host)
    print(f"Trainwatch tools: http://{arguments.host}:{arguments.port}/mcp  (Ctrl-C stops it)", file=sys.stderr)
    server(desk).run(transport="streamable-http", host=arguments.host, port=arguments.port)
    return 0
