"""``completion``: what a shell needs to complete this program's commands, options and files."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import shtab

from monitor.cli.grammar import parser
from monitor.installed import COMMAND

# What an option calls a value that is a file or a folder.
_FILES = ("FILE", "PATH", "DIR")


def run(arguments: argparse.Namespace) -> int:
    """Prints the script."""
    grammar = parser()
    for each in _all(grammar):
        each.prog = each.prog.replace(grammar.prog, COMMAND, 1)
        for action in each._actions:  # noqa: SLF001 - argparse tells its grammar nowhere else
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
