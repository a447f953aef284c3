"""What must not be shown? Secrets, recognized by their names, by their format, and by being a value that the job
itself stores under a secret name. One list of names serves settings, command lines, JSON, headers and addresses
alike.

The patterns are this project's own. Of the available detectors, detect-secrets comes closest; it finds which lines of a
source file deserve a look, where this room takes a secret out of a line and leaves the rest. Measured on older tables of
``tests/attack``: all its plugins find 104 of 126 shapes, and flag 50 of 52 harmless lines and most lines of real logs
(hashes, digests, job names); those that know a form alone flag no harmless line, and find 11 (none for Hugging Face, Google
or fine-grained GitHub tokens). It takes 70 to 280 microseconds a line, this room some 10. Its last release is of May 2024.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from monitor.masking.forms import MASK, KeyLines, hides, masked, replaced, without_secrets
from monitor.masking.names import is_secret

__all__ = ["MASK", "KeyLines", "is_secret", "masked", "secrets_of", "without_secrets"]


_SHORTEST = 6
_LINE = 16
# A word, a number or a path may stand anywhere, and is no secret there: only under its name it is one.
_PLAIN = re.compile(
    r"[A-Za-z]{1,9}|[A-Z]?[a-z]{1,15}|[-+\d.,:eE]{1,9}|(?:\.{0,2}|~)(?:/[\w.@-]{1,40}){2,}/?|s3://.*|arn:.*|https?://[^@?]*"
)


def secrets_of(*settings: Mapping[str, Any]) -> tuple[str, ...]:
    """The secret values in settings (hyperparameters, an environment; as texts or decoded), each once, the longest first.

    Of six characters at least, and no plain words, numbers or paths: those would be found where they mean nothing.
    """
    out: set[str] = set()

    def kept(secret: str) -> str:
        out.update(_parts(secret))
        return MASK

    for setting in settings:
        for name, text in _texts(setting, ""):
            if hides(name, text):
                kept(text)
            else:
                replaced(text, kept)
    return tuple(sorted(out, key=lambda value: (-len(value), value)))


def _texts(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Each text of a setting with its name; texts that are JSON are looked into."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _texts(inner, str(key))
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _texts(inner, name)
    elif isinstance(value, str):
        inner = _decoded(value)
        if inner is not None:
            yield from _texts(inner, name)
        else:
            yield name, value
    elif isinstance(value, int) and not isinstance(value, bool):
        yield name, str(value)


def _decoded(text: str) -> Any:
    """What a text is in JSON where that is more than a number; else None."""
    if text[:1] not in {'"', "{", "["}:
        return None
    try:
        value = json.loads(text)
        if "\\ud" in text.lower():
            json.dumps(value, ensure_ascii=False).encode()  # raises for half a character, which is no text
        return value
    except (ValueError, RecursionError):
        return None


def _parts(secret: str) -> Iterator[str]:
    """The value and, of one of several lines, each line."""
    if len(secret) >= _SHORTEST and not _PLAIN.fullmatch(secret):
        yield secret
    lines = secret.replace("\\n", "\n").split("\n")
    if len(lines) > 1:
        yield from (line for line in lines if len(line) >= _LINE and not line.startswith("-----"))
