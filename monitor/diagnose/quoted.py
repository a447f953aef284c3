"""How is a line of a log quoted? Without the secrets that it may contain, and no longer than a person would read."""

from __future__ import annotations

from monitor.masking import without_secrets

LONGEST = 500


def quoted(line: str) -> str:
    """The line as it may be shown."""
    out = " ".join(without_secrets(line).split())
    return out if len(out) <= LONGEST else out[: LONGEST - 1] + "…"
