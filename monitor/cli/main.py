"""Which command was typed, and what becomes of its errors: one sentence on standard error and an exit code."""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from monitor.cli.grammar import parser
from monitor.cli.result_file import check_output
from monitor.errors import CannotDo, TrainwatchError
from monitor.installed import incomplete
from monitor.terminal import lost_output, outlets, to_stderr

EXIT_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and gives its exit code: that of what it found out, else 3 where its output was lost."""
    # Arrow's own pool keeps what was given back to it; where somebody chose one, that is it.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    with outlets():
        arguments = argparse.Namespace(lost="", command="line")
        code = _ended(argv, arguments)
        sys.stdout.flush()
        lost = arguments.lost or _lost_output()
        if lost:
            to_stderr(lost)
        return code or (CannotDo.exit_code if lost else 0)


def _ended(argv: Sequence[str] | None, arguments: argparse.Namespace) -> int:
    """Runs it; whatever comes of that is an exit code, with a sentence where it is not done."""
    try:
        grammar = parser()
        _, more = grammar.parse_known_args(argv, arguments)
        if more:
            grammar.error(_too_many(arguments, more))
        run = _run_of(arguments.command)
        check_output(arguments)
        return run(arguments)
    except SystemExit as asked:  # by --help, or for a call that cannot be parsed
        return asked.code if isinstance(asked.code, int) else CannotDo.exit_code
    except TrainwatchError as error:
        to_stderr(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BaseException as error:  # parts that are written in Rust panic with one that is no Exception
        # Imported late: what it needs is large, and hardly ever needed.
        from monitor.faults import fault

        told = fault(error, f"The command {arguments.command}")
        to_stderr(str(told))
        return told.exit_code


def _run_of(command: str) -> Callable[[argparse.Namespace], int]:
    """What carries the command out. CannotDo where a part of this program is missing."""
    try:
        # Imported late: what the other commands need is large, and help needs none of it.
        run: Callable[[argparse.Namespace], int] = import_module(f"monitor.cli.{command}").run
    except Exception as error:
        raise CannotDo(incomplete(error)) from error
    return run


def _too_many(arguments: argparse.Namespace, more: Sequence[str]) -> str:
    """What is said of arguments that no option takes; they may be the rest of a name with blanks."""
    said = f"unrecognized arguments: {' '.join(more)}"
    job = getattr(arguments, "job", None)
    if not isinstance(job, str) or any(each.startswith("-") for each in more):
        return said
    return f"{said}\nA name or path with blanks is written in quotation marks: {' '.join((job, *more))!r}"


def _lost_output() -> str:
    """What is said of standard output that could not be written; a reader that has had enough (head, less) knows."""
    lost = lost_output()
    if lost is None or isinstance(lost, BrokenPipeError):
        return ""
    why = getattr(lost, "strerror", None) or str(lost)
    closed = getattr(lost, "errno", None) == errno.EBADF
    return (
        f"Standard output {'is closed' if closed else f'cannot be written ({why})'}, and the result is not all there. Send it "
        "elsewhere, such as to a file with --output."
    )
