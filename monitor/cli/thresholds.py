"""``thresholds``: the saved thresholds. ``alert`` judges them where no others are given, and the dashboard draws them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from rich.text import Text

from monitor.alert.conditions import AlertRule
from monitor.alert.delivery import check
from monitor.alert.rules import add, remove, saved, saved_file
from monitor.alert.sinks.names import sink_of
from monitor.cli.output import Column, Paper, as_json, deliver, paper_for, table
from monitor.errors import BadCall
from monitor.terminal import to_stderr

_ACTIONS = ("list", "add", "remove")
_COLUMNS = (
    Column("NAME"),
    Column("WHEN", wraps=True),
    Column("SEVERITY", goes=1),
    Column("NOTIFY", goes=2, wraps=True, below=True),
)
_EXAMPLE = 'For example: thresholds add idle "gpu_utilization < 40% for 10 min".'


def run(arguments: argparse.Namespace) -> int:
    """Does what was asked, and prints what is saved then."""
    action, words = arguments.action, arguments.words
    if action not in _ACTIONS:
        raise BadCall(f'thresholds cannot "{action}".', f"Write one of {', '.join(_ACTIONS)}. {_EXAMPLE}")
    if action == "add":
        if len(words) < 2:
            raise BadCall("thresholds add needs a name and an expression.", _EXAMPLE)
        for text in arguments.notify:
            _check_sink(text)
        rule = add(words[0], " ".join(words[1:]), arguments.severity, tuple(arguments.notify))
        if any(sink_of(sink).is_bare for sink in rule.notify) and not arguments.quiet:
            print(
                f"trainwatch: the address is stored as typed in {saved_file()}; slack:env:NAME or webhook:file:PATH keeps it out "
                "of there.",
                file=sys.stderr,
            )
    elif action == "remove":
        if len(words) != 1:
            raise BadCall("thresholds remove needs one name.", "For example: thresholds remove idle.")
        remove(words[0])
    elif words:
        raise BadCall("thresholds list takes no further arguments.", _EXAMPLE)
    rules = saved()
    report_doubts(rules)
    if arguments.format == "json":
        deliver(arguments, as_json({"schema": 1, "thresholds": [_document(rule) for rule in rules]}))
    else:
        deliver(arguments, _text(arguments, rules))
    return 0


def _check_sink(text: str) -> None:
    """BadCall for a sink that cannot be told. An address that is kept elsewhere may be there only where alert runs."""
    sink = sink_of(text)
    try:
        check(sink)
    except BadCall as error:
        if not sink.held_in:
            raise
        to_stderr(f"{error} It is saved all the same; alert asks for it.")


def report_doubts(rules: Sequence[AlertRule]) -> None:
    """Says on standard error which saved thresholds tell nothing."""
    for rule in rules:
        if rule.doubt:
            print(
                f"trainwatch: the saved threshold {rule.name} ({rule.text}) is meaningless. {rule.doubt}",
                file=sys.stderr,
            )


def _document(rule: AlertRule) -> dict[str, Any]:
    return {"name": rule.name, "when": rule.text, "severity": rule.severity, "notify": _shown(rule)}


def _shown(rule: AlertRule) -> list[str]:
    """The sinks without what may be secret in them."""
    return [sink_of(sink).shown for sink in rule.notify]


def _text(arguments: argparse.Namespace, rules: tuple[AlertRule, ...]) -> Paper:
    paper = paper_for(arguments)
    if not rules:
        paper.print(Text(f"No threshold is saved in {saved_file()}. {_EXAMPLE}"))
        return paper
    rows = [(rule.name, rule.text, rule.severity, " ".join(_shown(rule))) for rule in rules]
    paper.print(table(_COLUMNS, rows, paper.width), crop=False)
    return paper
