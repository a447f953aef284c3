"""The thresholds that a user saved: one rules file, shared by command line and dashboard.

``$XDG_CONFIG_HOME/trainwatch/thresholds.toml`` (``~/.config`` otherwise). It may be edited by hand: what is added or
removed here leaves the rest of the text, comments too, as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from monitor.alert.conditions import Rule, RuleSeverity
from monitor.alert.grammar import parse
from monitor.alert.rules_file import HEADER, as_toml, check_name, rules_in
from monitor.alert.sense import senseless
from monitor.alert.shared_file import change, read_text
from monitor.alert.sink_names import sink_of
from monitor.errors import BadCall
from monitor.settings import config_file, user_folder

WHAT = "The saved thresholds"


def saved_file(environ: Mapping[str, str] | None = None) -> Path:
    """Where the saved thresholds are."""
    return config_file(environ).with_name("thresholds.toml")


def saved(path: Path | None = None) -> tuple[Rule, ...]:
    """The saved thresholds, in the order of saving; BadCall for a file that cannot be used. Those that can never or always
    hold are among them, with their doubt: they were saved before such were refused."""
    if path is None and user_folder("CONFIG") is None:
        return ()
    path = path or saved_file()
    return rules_in(read_text(path, WHAT), str(path), strict=False)


def add(
    name: str,
    expression: str,
    severity: RuleSeverity = "warning",
    notify: tuple[str, ...] = (),
    path: Path | None = None,
    strict: bool = True,
) -> Rule:
    """Saves a threshold. BadCall where it cannot be read, where it can never or always hold (with ``strict``), or where
    another one has the name; the same again is fine."""
    if trouble := check_name(name):
        raise BadCall(f"This cannot be a threshold's name: {trouble}.")
    for sink in notify:
        sink_of(sink)
    path = path or saved_file()
    when = parse(expression, strict)
    rule = Rule(name, when, expression.strip(), severity, notify, senseless(when))

    def added(text: str) -> str:
        rules = rules_in(text, str(path), strict=False)
        same = next((each for each in rules if each.name == name), None)
        if same == rule:
            return text
        if same is not None:
            raise BadCall(
                f'A threshold "{name}" is already saved: {same.text}.',
                f'Remove it first with thresholds remove "{name}".',
            )
        return f"{text.rstrip()}\n\n{as_toml([rule])}".lstrip("\n")

    change(path, WHAT, added)
    return rule


def remove(name: str, path: Path | None = None) -> Rule:
    """Removes a threshold and gives it back. BadCall names those that there are where there is none of that name."""
    path = path or saved_file()
    gone: list[Rule] = []

    def removed(text: str) -> str:
        rules = rules_in(text, str(path), strict=False)
        found = [place for place, rule in enumerate(rules) if rule.name == name]
        if not found:
            known = f"There are {', '.join(rule.name for rule in rules)}." if rules else "None is saved."
            raise BadCall(f'No threshold "{name}" is saved.', known)
        place = found[0]
        gone.append(rules[place])
        rest = (*rules[:place], *rules[place + 1 :])
        shorter = _without(text, place)
        try:
            kept = rules_in(shorter, "", strict=False) == rest
        except BadCall:
            kept = False
        return shorter if kept else as_toml(rest)

    change(path, WHAT, removed)
    return gone[0]


def _without(text: str, place: int) -> str:
    """The text without its rule of that place; comments before the next rule are the next one's."""
    heads = [match.start() for match in HEADER.finditer(text)]
    if place >= len(heads):
        return ""
    end = heads[place + 1] if place + 1 < len(heads) else len(text)
    if end < len(text):
        lines = text[:end].splitlines(keepends=True)
        while lines and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
            end -= len(lines.pop())
    return f"{text[: heads[place]].rstrip()}\n\n{text[end:].lstrip()}".lstrip("\n")
