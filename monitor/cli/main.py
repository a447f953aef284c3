"""Which command was typed, and what becomes of its errors: one sentence on standard error and an exit code; and what a shell
needs to complete commands, options and files."""

from __future__ import annotations

import argparse
import errno
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from monitor import __version__
from monitor.cli import (
    alarms,
    alert,
    archive,
    compare,
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
from monitor.cli.options import add_command, formatter
from monitor.cli.output import check_output
from monitor.errors import CannotDo, TrainwatchError
from monitor.installed import COMMAND, PROGRAM
from monitor.terminal import lost_output, outlets

_SHELLS = ("bash", "zsh", "fish")
# What an option calls a value that is a file or a folder.
_FILES = ("FILE", "PATH", "DIR")


def adder(grammar: Callable[[], argparse.ArgumentParser]) -> Callable[[Any], None]:
    """Adds the command; ``grammar`` gives the whole one, of which it is a part."""

    def add_to(commands: Any) -> None:
        command = add_command(
            commands,
            "completion",
            "completion of commands and options for bash, zsh or fish",
            f"Prints a script for your shell that completes the commands, options and files of {COMMAND}. The shell "
            "reads it as it starts, from the file below, or each time with a line such as: "
            f'eval "$({COMMAND} completion bash)"',
            (
                "completion bash > ~/.local/share/bash-completion/completions/trainwatch",
                "completion zsh > ~/.zfunc/_trainwatch",
                "completion fish > ~/.config/fish/completions/trainwatch.fish",
            ),
        )
        command.add_argument("shell", choices=_SHELLS, help="the shell")
        command.set_defaults(run=run, grammar=grammar)

    return add_to


def run(arguments: argparse.Namespace) -> int:
    """Prints the script."""
    # Imported late: hardly ever needed.
    import shtab

    grammar = arguments.grammar()
    for parser in _all(grammar):
        parser.prog = parser.prog.replace(grammar.prog, COMMAND, 1)
        for action in parser._actions:  # noqa: SLF001 - argparse tells its grammar nowhere else
            if action.metavar in _FILES:
                action.complete = shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(grammar, arguments.shell))
    return 0


def _all(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    for action in parser._actions:  # noqa: SLF001
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for name in action.choices:
                yield from _all(action.choices[name])
    yield parser


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
        formatter_class=formatter(),
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
    adder(parser)(commands)
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
        parser().parse_args(argv, arguments)
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
