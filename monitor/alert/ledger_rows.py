"""What is a sound row of the ledger? Disks, hands and other programs leave rows that are none: told apart here, and why.

A row that nobody can rely on must not stop the others, be sent for ever, or be lost without a word.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from monitor.alert.message import message_from

#: Table -> its columns and what they hold; one with "?" may be null.
COLUMNS: Mapping[str, Mapping[str, str]] = {
    "looks": {"job": "text", "rule": "text", "first": "instant"},
    "marks": {"name": "text", "at": "instant"},
    "alerts": {
        "job": "text", "rule": "text", "key": "text", "number": "count", "since": "instant?", "fired": "instant?",
        "opened": "instant", "absent": "instant?", "closed": "instant?", "cleared": "instant?", "about": "subject",
    },
    "deliveries": {
        "id": "text", "sink": "sink", "message": "message", "created": "instant", "tries": "count",
        "next_try": "instant", "sent": "instant?", "trouble": "text", "refused": "instant?",
    },
}  # fmt: skip
#: What is there once.
KEYS: Mapping[str, tuple[str, ...]] = {
    "looks": ("job", "rule"),
    "marks": ("name",),
    "alerts": ("job", "rule", "key", "number"),
    "deliveries": ("id", "sink"),
}
_SINK = re.compile(r"(?P<shown>.+) [0-9a-f]{16}", re.DOTALL)
# Within the years that a date can have.
_LATEST_S = 250e9
_SUBJECT: Mapping[str, tuple[type, ...]] = {
    "node": (str,), "finding": (str,), "value": (int, float), "limit": (int, float), "unit": (str,),
}  # fmt: skip


def trouble_of(table: str, row: Mapping[str, Any]) -> str:
    """What is wrong with a row, as "its message is cut off"; "" where it is sound."""
    for name, kind in COLUMNS[table].items():
        if wrong := _wrong(kind, row[name]):
            return f"its {name} {wrong}"
    if table == "deliveries" and message_from(json.loads(row["message"])).id != row["id"]:
        return "its message is another one than its id says"
    return ""


def shown(sink: str) -> str:
    """The sink as people know it, of its name in the ledger."""
    match = _SINK.fullmatch(sink)
    return match["shown"] if match else sink


def dumped(values: Sequence[Any]) -> str:
    """A row's values in plain ASCII, so that they can be kept whatever they are."""
    return ", ".join(ascii(value) for value in values)


def _wrong(kind: str, value: Any) -> str:
    if value is None:
        return "" if kind.endswith("?") else "is missing"
    if kind.startswith("instant"):
        is_number = isinstance(value, int | float) and math.isfinite(value) and abs(value) <= _LATEST_S
        return "" if is_number else "is no time"
    if kind == "count":
        return "" if isinstance(value, int) and value >= 0 else "is no count"
    if not isinstance(value, str):
        return "is no text"
    # Bytes that are no UTF-8 were read as surrogates.
    if not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
        return "is no UTF-8 text"
    if kind == "sink":
        return "" if _SINK.fullmatch(value) else "names no sink"
    if kind in {"message", "subject"}:
        return _wrong_json(kind, value)
    return ""


def _wrong_json(kind: str, text: str) -> str:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return "is cut off or changed"
    if not isinstance(data, dict):
        return "is no object"
    if kind == "message":
        try:
            message_from(data)
        except ValueError as error:
            return str(error)
        return ""
    odd = [name for name, kinds in _SUBJECT.items() if not isinstance(data.get(name), (*kinds, type(None)))]
    odd += sorted(set(data) - set(_SUBJECT))
    return f"has an odd {odd[0]}" if odd else ""
