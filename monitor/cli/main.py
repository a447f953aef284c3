"""Which command was typed, and what becomes of its errors: one sentence on standard error and an exit code."""

from __future__ import annotations

import argparse
import errno
import sys
from collections.abc import Sequence

from monitor import __version__
from monitor.cli import (
    alarms,
    alert,
    archive,
    compare,
    completion,
    dashboard,
    demo,
    fleet,
    jobs,
    mcp,
    nightly,
    plan,
    report,
    steps,
    thresholds,
    top,
)
from monitor.cli.options import Formatter
from monitor.cli.output import check_output
from monitor.errors import CannotDo, TrainwatchError
from monitor.installed import COMMAND, PROGRAM
from monitor.terminal import lost_output, outlets

_COMMANDS = (
    jobs,
    top,
    report,
    steps,
    compare,
    alert,
    thresholds,
    alarms,
    plan,
    archive,
    fleet,
    nightly,
    dashboard,
    demo,
    mcp,
)
EXIT_INTERRUPTED = 130


def parser() -> argparse.ArgumentParser:
    """The whole grammar of the command line."""
    top = argparse.ArgumentParser(
        prog=PROGRAM,
        formatter_class=Formatter,
        description="Trainwatch: where the GPU hours of an Amazon SageMaker training job went, and which knob to turn.",
        epilog="A job is a training job's name, logs:PATH for log files, or archive:PATH for an archive. AWS is reached as "
        "by any boto3 program: --profile, --region and the AWS_* environment variables. Exit codes: 0 done, 1 a "
        f"threshold is crossed, 2 wrong usage, 3 it could not be done.\n\nexamples:\n  {PROGRAM} jobs --status "
        f"running\n  {PROGRAM} report my-training-job\n  {PROGRAM} dashboard\n  {PROGRAM} COMMAND --help",
    )
    top.add_argument("--version", action="version", version=f"{COMMAND} {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add_to(commands)
    completion.adder(parser)(commands)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and gives its exit code: that of what it found out, else 3 where its output was lost."""
    with outlets():
        arguments = argparse.Namespace(lost="")
        code = _ended(argv, arguments)
        sys.stdout.flush()
        lost = arguments.lost or _lost_output()
        if lost:
            _say(lost)
        return code or (CannotDo.exit_code if lost else 0)


def _ended(argv: Sequence[str] | None, arguments: argparse.Namespace) -> int:
    """Runs it; whatever comes of that is an exit code, with a sentence where it is not done."""
    try:
        grammar = parser()
        _, more = grammar.parse_known_args(argv, arguments)
        if more:
            grammar.error(_too_many(arguments, more))
        check_output(arguments)
        code: int = arguments.run(arguments)
        return code
    except SystemExit as asked:  # by --help, or for a call that cannot be parsed
        return asked.code if isinstance(asked.code, int) else CannotDo.exit_code
    except TrainwatchError as error:
        _say(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BaseException as error:  # parts that are written in Rust panic with one that is no Exception
        # Imported late: what it needs is large, and hardly ever needed.
        from monitor.faults import fault

        command = arguments.run.__module__.rpartition(".")[2] if "run" in arguments else "line"
        told = fault(error, f"The command {command}")
        _say(str(told))
        return told.exit_code


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


def _say(sentence: str) -> None:
    print(f"trainwatch: {sentence}", file=sys.stderr)
