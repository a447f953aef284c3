"""Verdicts for a person at a terminal: a line per rule, the firing ones first, and why what is unknown is unknown."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from monitor.alert.evaluate import Verdict, value_words, when_words
from monitor.alert.message import Message
from monitor.cli.paper import Cell, Column, table
from monitor.words import DASH, clock, instant

#: Of messages, by their kind.
MESSAGE_STYLES = {"firing": "bold red", "resolved": "green", "ended": "yellow"}
STYLES = {"firing": "bold red", "ok": "green", "no data": "yellow"}
_COLUMNS = (
    Column("STATE"),
    Column("RULE", wraps=True),
    Column("NODE", goes=2),
    Column("VALUE"),
    Column("WHEN", goes=1, wraps=True),
)
_ORDER = {"firing": 0, "no data": 1, "ok": 2}


def print_verdicts(job: str, verdicts: Sequence[Verdict], now: datetime, paper: Console) -> None:
    paper.print(Text.assemble((job, "bold"), f" · as of {instant(now)}"))
    paper.print(verdict_table(verdicts, paper.width))
    for came_by in dict.fromkeys(verdict.came_by for verdict in verdicts if verdict.came_by):
        paper.print(Text(f"Step times are {came_by}.", "dim"))
    # A lone reason is the sentence on standard error.
    unknown = [verdict for verdict in verdicts if verdict.why]
    alone = len(unknown) == 1 and not any(verdict.firing for verdict in verdicts)
    for verdict in _in_order(verdicts):
        said = verdict.summary or ("" if alone else verdict.why)
        if said:
            paper.print()
            paper.print(Text(verdict.rule.name, "bold"))
            paper.print(Padding(Text(said), (0, 0, 0, 2), expand=False))


def verdict_table(verdicts: Sequence[Verdict], width: int) -> Table:
    """A line a rule."""
    return table(_COLUMNS, [_row(verdict) for verdict in _in_order(verdicts)], width)


def message_words(message: Message) -> str:
    """What a watch says of one message: when, what, and below it the rest."""
    lines = [f"{clock(datetime.fromisoformat(message.at))}  {message.title}", message.text, message.link]
    return "\n".join([lines[0] or "", *(f"           {line}" for line in lines[1:] if line)])


def _row(verdict: Verdict) -> tuple[Cell, ...]:
    critical = ", critical" if verdict.state == "firing" and verdict.rule.severity == "critical" else ""
    worst = verdict.firing[0] if verdict.firing else None
    return (
        Text(f"{verdict.state}{critical}", STYLES[verdict.state]),
        verdict.rule.text,
        _node(verdict),
        value_words(verdict) or DASH,
        when_words(worst.since, worst.until) if worst else "",
    )


def _node(verdict: Verdict) -> str:
    more = len({one.node for one in verdict.firing}) - 1
    return f"{verdict.node or DASH}{f' and {more} more' if more > 0 else ''}"


def _in_order(verdicts: Sequence[Verdict]) -> list[Verdict]:
    return sorted(verdicts, key=lambda verdict: (_ORDER[verdict.state], verdict.rule.severity != "critical"))
