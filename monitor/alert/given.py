"""Which rules were given on the command line: each ``--when`` with a name of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from monitor.alert.conditions import Rule, name_of
from monitor.alert.grammar import parse


def rules_of(expressions: Sequence[str], taken: Iterable[str] = ()) -> tuple[Rule, ...]:
    """A rule for each expression; names that are taken get a number behind them. BadCall for what cannot be read."""
    names, out = set(taken), []
    for text in expressions:
        when = parse(text)
        name = free_name(name_of(when), names)
        names.add(name)
        out.append(Rule(name, when, text.strip()))
    return tuple(out)


def free_name(name: str, taken: Iterable[str]) -> str:
    """The name, or the first of name-2, name-3, … that is free."""
    taken, number = set(taken), 1
    while (name if number == 1 else f"{name}-{number}") in taken:
        number += 1
    return name if number == 1 else f"{name}-{number}"
