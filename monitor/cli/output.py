"""Where results go, and how a terminal is told from a pipe."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rich.text import Text

from monitor.archive.document import as_json as as_json
from monitor.archive.document import as_line as as_line
from monitor.archive.document import without_trailing_spaces
from monitor.cli import result_file
from monitor.cli.paper import Paper, on_screen
from monitor.errors import BadCall, CannotDo
from monitor.inert import inert
from monitor.model import Report
from monitor.review import Progress
from monitor.review.named import LOGS
from monitor.terminal import drawn


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


def deliver(arguments: argparse.Namespace, result: str | Paper) -> None:
    """Writes a finished result to the file that --output names, else to standard output.

    Raises nothing where it cannot be written: what a command found out, and whom it still has to tell, does not hang on that.
    ``main`` says what ``arguments.lost`` holds, and sees by itself what standard output has lost.
    """
    text = without_trailing_spaces(result.text if isinstance(result, Paper) else inert(result))
    if arguments.output is None:
        drawn(sys.stdout).write(text)
        return
    try:
        result_file.put(arguments.output, text)
    except CannotDo as error:
        arguments.lost = str(error)


def tell_damage(*reports: Report) -> None:
    """A line on standard error for each archive of which files are damaged that the result does not need; with several
    jobs, it says of which."""
    for report in {id(report): report for report in reports}.values():
        of = f"{report.job.name}: " if len(reports) > 1 else ""
        for gap in report.gaps:
            if gap.what == "archive":
                print(f"trainwatch: {of}{gap.why} {gap.remedy}", file=sys.stderr)


def paper_for(arguments: argparse.Namespace) -> Paper:
    """What a result for people is drawn on: colors only where it goes to a terminal that wants them."""
    return Paper.for_result(arguments.output is None and sys.stdout.isatty())


@contextmanager
def progress(arguments: argparse.Namespace, first: str = "reading the job") -> Iterator[Progress]:
    """A line on standard error that says what is under way; silent with --quiet and where nobody watches."""
    if arguments.quiet or not sys.stderr.isatty():
        yield lambda text: None
        return
    with on_screen(Paper.on(sys.stderr).status(Text(first), spinner="line")) as status:
        yield lambda text: status.update(Text(text))
