"""How does a run differ from the one before it, in one line?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from monitor.diagnose.comparison.differences import Difference
from monitor.words import count

#: So many are named; the rest is counted.
NAMED = 3
_LONGEST = 40


def like_words(name: str, different: Sequence[Difference]) -> str:
    """``Compared with the previous run gpt-60b-run-6: microbatches 8 → 4``; the previous run's value comes first."""
    if not different:
        return f"Same settings as the previous run, {name}"
    named = [f"{each.parameter} {_value(each.values[0])} → {_value(each.values[1])}" for each in different[:NAMED]]
    more = len(different) - len(named)
    rest = f" and {count(more, 'more parameter')}" if more else ""
    return f"Compared with the previous run {name}: {', '.join(named)}{rest}"


def _value(value: Any) -> str:
    text = "not set" if value is None else " ".join(str(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
