"""What ``--help`` says of a command: what it does, its options, and calls to copy."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Sequence
from typing import Any

from monitor.installed import PROGRAM

_INDENT = "  "


class _Formatter(argparse.HelpFormatter):
    """Wraps paragraphs; indented lines are calls to copy and stay as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        parts = []
        for paragraph in text.split("\n"):
            is_call = paragraph.startswith(_INDENT)
            parts.append(f"{indent}{paragraph}" if is_call else textwrap.fill(paragraph, width, initial_indent=indent))
        return "\n".join(parts)


def add_command(
    commands: Any, name: str, short: str, what: str, examples: Sequence[str], usage: str | None = None
) -> argparse.ArgumentParser:
    """A command's parser; ``short`` is its line in the list of commands, ``what`` opens its own help."""
    calls = "\n".join(f"{_INDENT}{PROGRAM} {example}" for example in examples)
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=short,
        description=what,
        epilog=f"examples:\n{calls}",
        usage=usage and f"{PROGRAM} {usage}",
        formatter_class=_Formatter,
    )
    return parser


def formatter() -> type[argparse.HelpFormatter]:
    """For the help of the program itself."""
    return _Formatter
