"""``--notify`` and ``--ledger``: who is told, and where it is recorded what was."""

from __future__ import annotations

import argparse

_KINDS = "sns:ARN, slack:env:NAME, webhook:file:PATH, exec:PROGRAM"


def add_sink_options(command: argparse._ActionsContainer, does: str, what: str, *, stdout: bool = False) -> None:
    """Both options: ``does`` is what --notify is for, ``what`` is recorded; ``stdout`` is a sink, too, where nothing is
    printed anyway."""
    kinds = f"stdout, {_KINDS}" if stdout else _KINDS
    command.add_argument("--notify", action="append", default=[], metavar="SINK", help=f"{does}: {kinds}; repeatable")
    command.add_argument(
        "--ledger", metavar="FILE", help=f"where sent {what} are recorded (default: the user's state folder)"
    )
