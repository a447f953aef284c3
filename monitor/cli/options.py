"""What the grammars of several commands share: their help, durations (``30s``, ``10 min``, ``1 h``), and the sinks of alerts."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Sequence
from typing import Any

from monitor.alert.conditions import seconds_in
from monitor.errors import BadCall
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


def seconds_of(option: str, text: str) -> float:
    """The seconds of a duration such as 30s, 5m, 2 h. BadCall names the option."""
    match = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?)\s*([a-z]+)", text.strip().lower())
    seconds = seconds_in(match[2]) if match else None
    if match is None or seconds is None or seconds < 1:
        raise BadCall(f"{option} {text} is not a duration.", "Write a number and a unit: 30s, 5m or 2h.")
    return float(match[1]) * seconds


_KINDS = "sns:ARN, slack:env:NAME, webhook:file:PATH, exec:PROGRAM"


def add_sink_options(command: argparse._ActionsContainer, does: str, what: str, *, stdout: bool = False) -> None:
    """Both options: ``does`` is what --notify is for, ``what`` is recorded; ``stdout`` is a sink, too, where nothing is
    printed anyway."""
    kinds = f"stdout, {_KINDS}" if stdout else _KINDS
    command.add_argument("--notify", action="append", default=[], metavar="SINK", help=f"{does}: {kinds}; repeatable")
    command.add_argument(
        "--ledger", metavar="FILE", help=f"where sent {what} are recorded (default: the user's state folder)"
    )
