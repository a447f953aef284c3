"""Which rules does a rules file hold? TOML in, rules out; what is wrong is named with its line and its key.

[[rule]]
name = "idle GPUs"
when = "gpu_utilization < 40 for 10m"
severity = "critical"                 # optional: warning (the default) or critical
notify = ["slack:env:SLACK_WEBHOOK"]  # optional
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn, cast

from monitor.alert.conditions import SEVERITIES, Rule, RuleSeverity
from monitor.alert.grammar import parse
from monitor.alert.sense import senseless
from monitor.alert.sink_names import sink_of
from monitor.errors import BadCall
from monitor.settings import text_of, toml

_KEYS = ("name", "when", "severity", "notify")
_LONGEST_NAME = 100
_EXAMPLE = 'Write [[rule]], and below it name = "idle" and when = "gpu_utilization < 40 for 10m".'
HEADER = re.compile(r"^[ \t]*\[\[[ \t]*rule[ \t]*\]\][ \t]*(?:#.*)?$", re.MULTILINE)


def read_rules(path: Path) -> tuple[Rule, ...]:
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


def rules_in(text: str, where: str, strict: bool = True) -> tuple[Rule, ...]:
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
    rules: list[Rule] = []
    for number, table in enumerate(tables):
        rules.append(_rule(table, text, where, number, {rule.name for rule in rules}, strict))
    return tuple(rules)


def as_toml(rules: Iterable[Rule]) -> str:
    """The rules as a rules file."""
    return "\n".join(_block(rule) for rule in rules)


def _block(rule: Rule) -> str:
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


def _rule(table: Mapping[str, Any], text: str, where: str, place: int, taken: set[str], strict: bool) -> Rule:
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
    return Rule(
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
