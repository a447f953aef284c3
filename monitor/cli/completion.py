"""``completion``: what a shell needs to complete this program's commands, options and files."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

from monitor.cli.options import add_command
from monitor.installed import COMMAND

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
