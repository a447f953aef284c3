"""Where results go, and how a terminal is told from a pipe."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import StringIO
from pathlib import Path

from rich.console import Console

from monitor.archive.document import as_json as as_json
from monitor.archive.document import without_trailing_spaces
from monitor.cli import result_file
from monitor.errors import BadCall
from monitor.review import Progress
from monitor.review.named import LOGS

# Wide enough for a table of nodes where nobody says how wide the paper is.
PIPE_WIDTH = 110


def add_output_options(command: argparse.ArgumentParser, formats: tuple[str, ...]) -> None:
    """--format, --output and --quiet."""
    output = command.add_argument_group("output")
    output.add_argument("--format", choices=formats, default="text", help="default text, for people")
    output.add_argument("--output", metavar="FILE", help="write the result to FILE instead of standard output")
    output.add_argument("--quiet", action="store_true", help="no progress on standard error")


def check_output(arguments: argparse.Namespace) -> None:
    """CannotDo where the file that --output names could not take a result: told before any work is done."""
    if getattr(arguments, "output", None) is None:
        return
    result_file.check(arguments.output)
    for path in _read(arguments):
        with suppress(OSError, ValueError):
            if Path(path).expanduser().samefile(arguments.output):
                raise BadCall(
                    f"--output {arguments.output} is a file that the command reads.", "Name another file with --output."
                )


def _read(arguments: argparse.Namespace) -> Iterator[str]:
    """The files that a call names to be read: a result must not take their place."""
    jobs = [getattr(arguments, "job", None), *getattr(arguments, "more", ()), *getattr(arguments, "jobs", ())]
    yield from (job.removeprefix(LOGS) for job in jobs if job and job.startswith(LOGS))
    yield from getattr(arguments, "logs", None) or ()
    yield from filter(None, (getattr(arguments, name, None) for name in ("rules", "ledger")))


def deliver(arguments: argparse.Namespace, text: str) -> None:
    """Writes a finished result to the file that --output names, else to standard output."""
    text = without_trailing_spaces(text)
    if arguments.output is None:
        sys.stdout.write(text)
        return
    result_file.put(arguments.output, text)


def console(arguments: argparse.Namespace, into: StringIO) -> Console:
    """A console that writes ``into``: colours only where the result goes to a terminal that wants them."""
    to_terminal = arguments.output is None and sys.stdout.isatty()
    width = Console().width if to_terminal else PIPE_WIDTH
    return Console(
        file=into, force_terminal=to_terminal or None, width=max(60, width), highlight=False, soft_wrap=False
    )


@contextmanager
def progress(arguments: argparse.Namespace, first: str = "reading the job") -> Iterator[Progress]:
    """A line on standard error that says what is under way; silent with --quiet and where nobody watches."""
    if arguments.quiet or not sys.stderr.isatty():
        yield lambda text: None
        return
    with Console(stderr=True).status(first, spinner="line") as status:
        yield status.update
