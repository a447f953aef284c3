"""The thresholds that a user saved: one rules file, shared by command line and dashboard.

``$XDG_CONFIG_HOME/trainwatch/thresholds.toml`` (``~/.config`` otherwise). It may be edited by hand: what is added or
removed here leaves the rest of the text, comments too, as it is.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from monitor.alert.conditions import Rule, RuleSeverity
from monitor.alert.grammar import parse
from monitor.alert.rules_file import HEADER, as_toml, check_name, rules_in
from monitor.alert.sink_names import sink_of
from monitor.errors import BadCall, CannotDo
from monitor.settings import config_file

try:
    import fcntl
except ImportError:  # no such locks there: two that save in the same instant may lose one
    fcntl = None  # type: ignore[assignment]


def saved_file(environ: Mapping[str, str] | None = None) -> Path:
    """Where the saved thresholds are."""
    return config_file(environ).with_name("thresholds.toml")


def saved(path: Path | None = None) -> tuple[Rule, ...]:
    """The saved thresholds, in the order of saving; BadCall for a file that cannot be used."""
    path = path or saved_file()
    return rules_in(_text(path), str(path))


def add(
    name: str,
    expression: str,
    severity: RuleSeverity = "warning",
    notify: tuple[str, ...] = (),
    path: Path | None = None,
) -> Rule:
    """Saves a threshold. BadCall where it cannot be read, or where another one has the name; the same again is fine."""
    if trouble := check_name(name):
        raise BadCall(f"This cannot be a threshold's name: {trouble}.")
    for sink in notify:
        sink_of(sink)
    rule = Rule(name, parse(expression), expression.strip(), severity, notify)

    def added(text: str, rules: tuple[Rule, ...]) -> str:
        same = next((each for each in rules if each.name == name), None)
        if same == rule:
            return text
        if same is not None:
            raise BadCall(
                f'A threshold "{name}" is saved already: {same.text}.',
                f'Remove it first, with thresholds remove "{name}".',
            )
        return f"{text.rstrip()}\n\n{as_toml([rule])}".lstrip("\n")

    _change(path or saved_file(), added)
    return rule


def remove(name: str, path: Path | None = None) -> Rule:
    """Removes a threshold and gives it back. BadCall names those that there are where there is none of that name."""
    gone: list[Rule] = []

    def removed(text: str, rules: tuple[Rule, ...]) -> str:
        found = [place for place, rule in enumerate(rules) if rule.name == name]
        if not found:
            known = f"There are {', '.join(rule.name for rule in rules)}." if rules else "None is saved."
            raise BadCall(f'No threshold "{name}" is saved.', known)
        place = found[0]
        gone.append(rules[place])
        rest = (*rules[:place], *rules[place + 1 :])
        shorter = _without(text, place)
        try:
            kept = rules_in(shorter, "") == rest
        except BadCall:
            kept = False
        return shorter if kept else as_toml(rest)

    _change(path or saved_file(), removed)
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


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise BadCall(
            f"The saved thresholds in {path} cannot be read: {why}.", "Correct the file, or move it away."
        ) from None


def _change(path: Path, change: Callable[[str, tuple[Rule, ...]], str]) -> None:
    """Reads, changes and replaces the file, while nobody else does; a reader sees the old one or the new one."""
    # A link, as in a folder of dotfiles, stays one.
    path = path.resolve()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(path):
            text = _text(path)
            new = change(text, rules_in(text, str(path)))
            if new != text:
                _replace(path, new)
    except OSError as error:
        raise CannotDo(f"{path} cannot be written: {error.strerror}.", "Check the rights of its folder.") from None


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    with path.with_suffix(".lock").open("a", encoding="utf-8") as lock:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _replace(path: Path, text: str) -> None:
    handle, beside = tempfile.mkstemp(".part", dir=path.parent)
    try:
        # Made for its owner alone: an address in a rule may be a secret.
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(beside).replace(path)
    finally:
        Path(beside).unlink(missing_ok=True)
