"""``mcp``: the tools for coding agents, on standard input and output or over HTTP on this machine."""

from __future__ import annotations

import argparse
import sys

from monitor.choices import HERE
from monitor.cli.grammar.keeping import MOST_USD
from monitor.cli.options import account_source, checked_limit, chosen_cache
from monitor.errors import BadCall, CannotDo
from monitor.serve import check, is_this_machine_alone
from monitor.settings import read


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
    from monitor.agents.account_session import AccountSession

    most_usd = checked_limit(arguments)
    settings = read()
    desk = AccountSession(
        lambda: account_source(arguments),
        settings,
        chosen_cache(arguments, settings),
        arguments.files,
        arguments.region,
        arguments.profile,
        MOST_USD if most_usd is None else most_usd,
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
