"""Is a text of an answer text? JSON can escape halves of characters, which no file, no table and no terminal takes."""

from __future__ import annotations

import re
from typing import Any

# Each escape of a body in turn: both halves of a character, one alone, or any other.
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
_REPLACED = rb"\ufffd"


def listen(events: Any) -> None:
    """Registers with a client's event system; before whatever reads answers."""
    events.register_first("before-parse", _make_whole)


def _make_whole(response_dict: dict[str, Any], **_: Any) -> None:
    body = response_dict.get("body")
    if isinstance(body, bytes) and (b"\\ud" in body or b"\\uD" in body):
        response_dict["body"] = _ESCAPE.sub(lambda found: _REPLACED if found[1] else found[0], body)
