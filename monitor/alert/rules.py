"""The rules that a user gave: of a TOML file, on the command line, and the saved thresholds shared with the dashboard."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn, cast

from monitor.alert.conditions import AlertRule, name_of, parse, senseless
from monitor.alert.locks import change, read_text
from monitor.alert.sinks.names import sink_of
from monitor.choices import SEVERITIES, RuleSeverity
from monitor.errors import BadCall
from monitor.settings import config_file, text_of, toml, user_folder

_KEYS = ("name", "when", "severity", "notify")
_LONGEST_NAME = 100
_EXAMPLE = 'Write [[rule]], and below it name = "idle" and when = "gpu_utilization < 40 for 10m".'
HEADER = re.compile(r"^[ \t]*\[\[[ \t]*rule[ \t]*\]\][ \t]*(?:#.*)?$", re.MULTILINE)


def read_rules(path: Path) -> tuple[AlertRule, ...]:
    """The rules of a file, at least one."""
    try:
        text = text_of(path)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise BadCall(f"The rules file {path} cannot be read: {why}.", "Check the path behind --rules.") from None
    rules = rules_in(text, str(path))
    if not rules:
        raise BadCall(f"{path} contains no rules.", _EXAMPLE)
    return rules


def rules_in(text: str, where: str, strict: bool = True) -> tuple[AlertRule, ...]:
    """The rules of a text; ``where`` is what errors call it. Without ``strict`` a condition that can never or always hold is
    kept, with its doubt."""
    try:
        data = toml(text)
    except ValueError as error:
        place = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)", str(error))
        line = f", line {place[1] or text.count(chr(10)) + 1}" if place else ""
        said = str(error)[: place.start()] if place else str(error)
        raise BadCall(
            f"{where}{line} is not valid TOML: {said}.", "Put strings in quotes and lists in [brackets]."
        ) from None
    for key in data:
        if key != "rule":
            near = " The nearest is [[rule]]." if get_close_matches(key.lower(), ["rule"], 1, 0.6) else ""
            _wrong(text, where, None, key, f"it stands outside of a rule, where nothing can.{near} {_EXAMPLE}")
    tables = data.get("rule", [])
    if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
        _wrong(text, where, None, "rule", f"rules are a list of tables. {_EXAMPLE}")
    rules: list[AlertRule] = []
    for number, table in enumerate(tables):
        rules.append(_rule(table, text, where, number, {rule.name for rule in rules}, strict))
    return tuple(rules)


def as_toml(rules: Iterable[AlertRule]) -> str:
    return "\n".join(_block(rule) for rule in rules)


def _block(rule: AlertRule) -> str:
    lines = ["[[rule]]", f"name = {_quoted(rule.name)}", f"when = {_quoted(rule.text)}"]
    if rule.severity != "warning":
        lines.append(f"severity = {_quoted(rule.severity)}")
    if rule.notify:
        lines.append(f"notify = [{', '.join(map(_quoted, rule.notify))}]")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    # What JSON escapes TOML reads the same way; names and expressions hold only printable signs.
    return json.dumps(text, ensure_ascii=False)


def check_name(name: str) -> str:
    """What is wrong with a rule's name; empty where nothing is."""
    if not name.strip() or name != name.strip():
        return "a name is a string without spaces around it"
    if len(name) > _LONGEST_NAME or not name.isprintable():
        return f"a name has at most {_LONGEST_NAME} printable characters"
    return ""


def _rule(table: Mapping[str, Any], text: str, where: str, place: int, taken: set[str], strict: bool) -> AlertRule:
    def wrong(key: str, sentence: str) -> NoReturn:
        _wrong(text, where, place, key, sentence)

    for key in table:
        if key not in _KEYS:
            near = get_close_matches(key, _KEYS, 1, 0.6)
            wrong(
                key,
                f"there is no such key{f'; the nearest is {near[0]}' if near else ''}. Keys are {', '.join(_KEYS)}.",
            )
    for key in ("name", "when"):
        if key not in table:
            wrong(key, f"it is missing in this rule. {_EXAMPLE}")
        if not isinstance(table[key], str):
            wrong(key, "it must be a string in quotes.")
    name, when = cast("str", table["name"]), cast("str", table["when"])
    if trouble := check_name(name):
        wrong("name", f"{trouble}.")
    if name in taken:
        wrong("name", f'another rule is already called "{name}". Give each rule its own name.')
    severity = table.get("severity", "warning")
    if severity not in SEVERITIES:
        wrong("severity", f"write {' or '.join(json.dumps(known) for known in SEVERITIES)}.")
    notify = table.get("notify", [])
    if not isinstance(notify, list) or not all(isinstance(sink, str) for sink in notify):
        wrong("notify", 'it must be a list of sinks, such as ["stdout"].')
    try:
        for sink in notify:
            sink_of(sink)
    except BadCall as error:
        wrong("notify", str(error))
    try:
        condition = parse(when, strict)
    except BadCall as error:
        wrong("when", str(error))
    return AlertRule(
        name,
        condition,
        when.strip(),
        cast("RuleSeverity", severity),
        tuple(notify),
        "" if strict else senseless(condition),
    )


def _wrong(text: str, where: str, rule: int | None, key: str, sentence: str) -> NoReturn:
    raise BadCall(f"{where}, line {_line(text, rule, key)}, {key}: {sentence}")


def _line(text: str, rule: int | None, key: str) -> int:
    """The line of a key, or of the head of its rule where it is missing."""
    heads = [match.start() for match in HEADER.finditer(text)]
    start = heads[rule] if rule is not None and rule < len(heads) else 0
    end = heads[rule + 1] if rule is not None and rule + 1 < len(heads) else len(text)
    name = re.escape(key)
    found = re.compile(rf"^[ \t]*(?:\[+[ \t]*)?[\"']?{name}[\"']?[ \t]*[=\].]", re.MULTILINE).search(text, start, end)
    return text.count("\n", 0, found.start() if found else start) + 1


WHAT = "The saved thresholds"


def saved_file(environ: Mapping[str, str] | None = None) -> Path:
    """Where the saved thresholds are."""
    return config_file(environ).with_name("thresholds.toml")


def saved(path: Path | None = None) -> tuple[AlertRule, ...]:
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
) -> AlertRule:
    """Saves a threshold. BadCall where it cannot be read, where it can never or always hold (with ``strict``), or where
    another one has the name; the same again is fine."""
    if trouble := check_name(name):
        raise BadCall(f"This cannot be a threshold's name: {trouble}.")
    for sink in notify:
        sink_of(sink)
    path = path or saved_file()
    when = parse(expression, strict)
    rule = AlertRule(name, when, expression.strip(), severity, notify, senseless(when))

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


def remove(name: str, path: Path | None = None) -> AlertRule:
    """Removes a threshold and gives it back. BadCall names those that there are where there is none of that name."""
    path = path or saved_file()
    gone: list[AlertRule] = []

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


def rules_of(expressions: Sequence[str], taken: Iterable[str] = ()) -> tuple[AlertRule, ...]:
    """A rule for each expression; names that are taken get a number behind them. BadCall for what cannot be read."""
    names, out = set(taken), []
    for text in expressions:
        when = parse(text)
        name = free_name(name_of(when), names)
        names.add(name)
        out.append(AlertRule(name, when, text.strip()))
    return tuple(out)


def free_name(name: str, taken: Iterable[str]) -> str:
    """The name, or the first of name-2, name-3, … that is free."""
    taken, number = set(taken), 1
    while (name if number == 1 else f"{name}-{number}") in taken:
        number += 1
    return name if number == 1 else f"{name}-{number}"
