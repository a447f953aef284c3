"""``jobs --watch``: a list again and again, in place on a terminal, else one block (or one line of JSON) after the other."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from monitor.cli.options import seconds_of
from monitor.cli.output import as_line, deliver, paper_for
from monitor.cli.paper import Paper, on_screen
from monitor.errors import BadCall, TrainwatchError
from monitor.terminal import lost_output
from monitor.words import clock, duration

#: Between two looks at the least: each is a call or two, and one more for each new job.
SHORTEST_S = 5.0


@dataclass(frozen=True, slots=True)
class Listed:
    """A list as of one moment, in the forms in which it is repeated."""

    at: datetime
    what: str
    """``12 jobs``"""
    document: Mapping[str, Any]
    table: Callable[[int], Table | Text]
    """By the width there is; a sentence where no job matches."""
    troubles: tuple[str, ...] = ()
    """What of it could not be read."""


def watch(
    arguments: argparse.Namespace, look: Callable[[], Listed], sleep: Callable[[float], None] = time.sleep
) -> int:
    """Lists until Ctrl-C."""
    interval_s = max(SHORTEST_S, seconds_of("--interval", arguments.interval))
    in_place = arguments.format == "text" and sys.stdout.isatty()
    paper = Paper.on(sys.stdout)
    found: Listed | None = None
    said: tuple[str, ...] = ()
    with (
        suppress(KeyboardInterrupt),
        on_screen(Live(console=paper, auto_refresh=False)) if in_place else nullcontext() as live,
    ):
        while True:
            try:
                found = look()
                troubles, is_new = found.troubles, True
            except TrainwatchError as error:
                if found is None or isinstance(error, BadCall):
                    raise
                troubles, is_new = (str(error),), False
            if live is not None:
                live.update(_screen(found, troubles, interval_s, paper.width), refresh=True)
            else:
                for trouble in troubles:
                    # One that goes on is said once.
                    if trouble not in said:
                        print(f"trainwatch: {trouble}", file=sys.stderr)
                if is_new:
                    _print(arguments, found)
            said = troubles
            if lost_output():
                break  # nobody reads it any more
            sleep(interval_s)
    return 0


def check_watch(arguments: argparse.Namespace) -> None:
    """BadCall where something cannot be repeated."""
    seconds_of("--interval", arguments.interval)
    if arguments.archive is not None:
        raise BadCall("--watch lists an account; an archive does not change by itself.", "Leave out --watch.")
    if arguments.format == "csv" or arguments.output is not None:
        raise BadCall(
            "--watch prints to standard output, as text or JSON lines.", "Leave out --output and --format csv."
        )


def _print(arguments: argparse.Namespace, found: Listed) -> None:
    if arguments.format == "json":
        print(as_line({"at": found.at.isoformat(), **found.document}), flush=True)
        return
    print(_heading(found))
    paper = paper_for(arguments)
    paper.print(found.table(paper.width), crop=False)
    deliver(arguments, paper)
    sys.stdout.flush()


def _heading(found: Listed) -> str:
    return f"{found.what} as of {clock(found.at)}"


def _screen(found: Listed, troubles: tuple[str, ...], interval_s: float, width: int) -> Group:
    head = Text(f"{_heading(found)}, every {duration(interval_s)}; Ctrl-C ends it", "dim")
    return Group(head, *(Text(trouble, "yellow") for trouble in troubles), found.table(width))
