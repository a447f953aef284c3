"""``demo``: the dashboard on an embedded account with sample jobs; no credentials, no network. It waits to be stopped."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

from monitor.choices import HERE
from monitor.cli.dashboard import visitors
from monitor.installed import APP
from monitor.serve import check, serve, stop_signals


def run(arguments: argparse.Namespace) -> int:
    """Runs the demo until it is stopped."""
    return serve_demo(arguments.port, host=arguments.host, visitors=visitors(arguments))


def serve_demo(
    port: int, script: Path = APP, host: str = HERE, visitors: Mapping[str, str] = MappingProxyType({})
) -> int:
    """Serves the dashboard on the embedded account until Ctrl-C, SIGTERM or SIGHUP, then ends both; returns 0.

    ``visitors``: what the dashboard's environment says of who may change something.

    Runs in the main thread. BadCall for an impossible port or host; CannotDo if the port is taken or the dashboard ends by
    itself.
    """
    check(port, script, host)
    with stop_signals() as stopped:
        print("Trainwatch demo: filling a simulated AWS account with sample jobs...", file=sys.stderr, flush=True)
        # moto takes a moment to import, and only the demo needs it.
        from monitor.demo.account import start

        with start(datetime.now(UTC)) as account:
            if not stopped.is_set():
                account.feeder.start()
                serve(port, {**account.environment, **visitors}, stopped, _announcement, script, host)
    return 0


def _announcement(url: str) -> str:
    return f"Trainwatch demo: {url}  (sample jobs on a simulated account; Ctrl-C stops it)"
