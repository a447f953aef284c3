"""Which configuration values must not be shown? Those whose name, or whose own form, says that they are secret."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from monitor.diagnose.quoted import without_secrets
from monitor.model import Parameter

MASK = "***"

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SECRET = re.compile("secrets?|passwords?|passwd|pwd|passphrase|credentials?|apikey|accesskey|secretkey")
# "key" and "token" are also words of data and of text models: at the end of a name they are secret behind these words,
_KEYS = re.compile("api|access|secret|private|ssh|encryption|signing|license|auth|account|service|wandb|hf")
# or, behind any other, where the value looks like a credential;
_CREDENTIAL = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[A-Za-z0-9+=_-]{16,}")
# and not secret behind these.
_TEXT_TOKENS = re.compile(
    "pad|eos|bos|unk|mask|sep|cls|image|audio|video|special|additional|start|end|begin|stop|decoder|first|last|prompt|"
    "per|new|empty|max|min|num"
)


def is_secret(name: str) -> bool:
    """Whether a parameter of this name holds a secret: "hf_token", "WANDB_API_KEY", but not "pad_token"."""
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words:
        return False
    before, last = words[-2] if len(words) > 1 else "", words[-1]
    if last in {"key", "keys"}:
        return _KEYS.fullmatch(before) is not None
    if last == "token":
        return _TEXT_TOKENS.fullmatch(before) is None
    return any(_SECRET.fullmatch(word) for word in words)


def masked(name: str, value: Any) -> Any:
    """``value``, or "***" where ``name`` is a secret's; looks into dicts and lists. Yes, no and none are no secrets."""
    if isinstance(value, dict):
        return {key: masked(str(key), inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [masked(name, inner) for inner in value]
    if value is None or isinstance(value, bool) or value == "":
        return value
    if is_secret(name) or (name.lower().endswith("key") and _CREDENTIAL.fullmatch(str(value))):
        return MASK
    # A credential in an address, an option in a command line.
    return without_secrets(value) if isinstance(value, str) else value


def masked_configuration(configuration: Mapping[str, Parameter]) -> dict[str, Parameter]:
    """A configuration as it may be shown, wherever it was read."""
    return {name: replace(known, value=masked(name, known.value)) for name, known in configuration.items()}
