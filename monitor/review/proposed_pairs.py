"""Which jobs of an account are worth comparing? Judged by their names alone."""

from __future__ import annotations

import re
from collections.abc import Sequence

from monitor.review.previous_run import previous
from monitor.review.run_names import base_and_stamp, base_of

_NUMBER = re.compile(r"\d+$")


def proposed(names: Sequence[str], most: int) -> list[tuple[str, str]]:
    """Pairs of (earlier, later) worth comparing, the newest first: a run and the one before it; then runs whose bases
    differ in a number alone, as those of a series or of a sweep do. ``names`` are the newest first."""
    found: list[tuple[str, str]] = []
    seen: set[str] = set()
    for name in names:
        base = base_and_stamp(name)
        if base is None or base[0] in seen:
            continue
        seen.add(base[0])
        if (earlier := previous(name, names)) is not None:
            found.append((earlier, name))
    newest: dict[str, list[str]] = {}
    for name in names:
        own = base_of(name)
        of_series = newest.setdefault(_NUMBER.sub("#", own), [])
        if all(base_of(other) != own for other in of_series):
            of_series.append(name)
    found += [(several[1], several[0]) for several in newest.values() if len(several) > 1]
    return list(dict.fromkeys(found))[:most]
