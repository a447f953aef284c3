"""How is a family's line said to an engine that knows no Python? Patterns without Python's own syntax, for RE2 and its like.

Possessive quantifiers and atomic groups keep Python from backtracking, which such an engine does not do; they go. Look-around
goes too: what it kept out must be named in ``Said.never``.
"""

from __future__ import annotations

import re
from typing import NamedTuple

#: Named groups that a pattern may have. time: seconds (or what ``unit`` says); pace: steps a second; rate: the throughput.
ROLES = ("step", "total", "time", "unit", "pace", "clock", "rate", "loss")

_LONG = 20
_REPEAT = re.compile(r"\{(\d+)(?:(,)(\d*))?\}")
_LOOK_AROUND = ("(?=", "(?!", "(?<=", "(?<!")


class Said(NamedTuple):
    """One form of a family's line. A family's ``INSIGHTS`` holds one for each."""

    format: str
    """What the ``format`` column says of it."""
    patterns: tuple[re.Pattern[str], ...]
    """The first is in every report, the others may be."""
    names: tuple[tuple[str, str], ...] = ()
    """Groups that are called otherwise than their role."""
    rates: tuple[tuple[str, re.Pattern[str]], ...] = ()
    """Throughputs by their unit; the one that the job prints is asked for."""
    factor: float = 1.0
    """Seconds of one printed time, where no ``unit`` stands beside it."""
    never: str = ""
    """A text that looks alike and is no report, as a pattern."""
    one_total: bool = False
    """Lines of the same form with another total are other work: bars."""


def portable(pattern: re.Pattern[str], names: tuple[tuple[str, str], ...] = ()) -> str:
    """The pattern as RE2 and Logs Insights take it; groups that have no role no longer capture."""
    roles = {role: role for role in ROLES} | dict(names)
    text, out, at = pattern.pattern, [], 0
    if pattern.flags & re.IGNORECASE:
        out.append("(?i)")
    if pattern.flags & re.DOTALL:
        out.append("(?s)")
    quantified = False
    while at < len(text):
        here = text[at]
        was_quantified, quantified = quantified, False
        if here == "\\":
            out.append(text[at : at + 2])
            at += 2
        elif here == "[":
            end = _class_end(text, at)
            out.append(text[at:end])
            at = end
        elif text.startswith(_LOOK_AROUND, at):
            at = _group_end(text, at)
        elif text.startswith("(?P<", at):
            end = text.index(">", at)
            role = roles.get(text[at + 4 : end])
            out.append(f"(?<{role}>" if role else "(?:")
            at = end + 1
        elif text.startswith("(?>", at):
            out.append("(?:")
            at += 3
        elif here == "(" and not text.startswith("(?", at):
            out.append("(?:")
            at += 1
        elif here == "{" and (repeat := _REPEAT.match(text, at)):
            out.append(_repeated(repeat))
            at, quantified = repeat.end(), True
        elif here == "+" and was_quantified:
            at += 1
        else:
            out.append(here)
            quantified = here in "*+" or (here == "?" and not was_quantified and text[at - 1 : at] != "(")
            at += 1
    return "".join(out)


def _repeated(repeat: re.Match[str]) -> str:
    least, most = int(repeat[1]), int(repeat[3] or 0)
    if repeat[2] and most >= _LONG and least <= 1:
        return "+" if least else "*"
    return repeat[0]


def _class_end(text: str, at: int) -> int:
    end = at + 1
    if text[end] == "^":
        end += 1
    end += 1  # a bracket that comes first is one of the characters
    if text[end - 1] == "\\":
        end += 1
    while text[end] != "]":
        end += 2 if text[end] == "\\" else 1
    return end + 1


def _group_end(text: str, at: int) -> int:
    depth = 0
    while True:
        if text[at] == "\\":
            at += 1
        elif text[at] == "[":
            at = _class_end(text, at) - 1
        elif text[at] == "(":
            depth += 1
        elif text[at] == ")":
            depth -= 1
            if not depth:
                return at + 1
        at += 1
