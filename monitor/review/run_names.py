"""What the names of runs say. SageMaker's SDK builds one from a base and the time at which the run was created: so the newest
earlier one of the same base came before it, and both are worth comparing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

# What the SDK puts behind a base: to the millisecond or, in its short form, to the minute.
_STAMPED = re.compile(r"(?P<base>.+)-(?P<stamp>\d{4}(?:-\d{2}){5}-\d{3}|\d{6}-\d{4})")
_FORMS = {23: "%Y-%m-%d-%H-%M-%S-%f", 11: "%y%m%d-%H%M"}
#: A short name is no longer, unless it could be taken for another's.
SHORT = 34


def base_and_stamp(name: str) -> tuple[str, str] | None:
    """``("bert", "2026-09-25-12-05-00-123")``; None where a name has no time at its end."""
    found = _STAMPED.fullmatch(name)
    return None if found is None else (found["base"], found["stamp"])


def base_of(name: str) -> str:
    """The name without its time."""
    stamped = base_and_stamp(name)
    return stamped[0] if stamped else name


def short_names(names: Sequence[str]) -> tuple[str, ...]:
    """Names that fit beside a chart and can be told apart: bases alone or, where these are the same, with their times."""
    bases = Counter(base_of(name) for name in dict.fromkeys(names))
    found = [base_of(name) if bases[base_of(name)] == 1 else _with_time(name) for name in names]
    cut = [_cut(each) for each in found]
    for shown in (cut, found):
        if len(set(shown)) == len(set(names)):
            return tuple(shown)
    return tuple(names)


def _with_time(name: str) -> str:
    """``bert 25 Sep 12:05``; the name as it is where its end is no time."""
    stamped = base_and_stamp(name)
    if stamped is None:
        return name
    try:
        at = datetime.strptime(stamped[1], _FORMS[len(stamped[1])]).replace(tzinfo=UTC)
    except ValueError:
        return name
    return f"{_cut(stamped[0], SHORT - 13)} {f'{at:%d %b %H:%M}'.lstrip('0')}"


def _cut(name: str, longest: int = SHORT) -> str:
    """The name without its middle: what tells runs apart stands at the ends."""
    if len(name) <= longest:
        return name
    head = (longest - 1) // 2
    return f"{name[:head]}…{name[-(longest - 1 - head) :]}"


def previous(name: str, names: Iterable[str]) -> str | None:
    """The newest of ``names`` that has the same base as ``name`` and an earlier time; None where there is none."""
    own = base_and_stamp(name)
    if own is None:
        return None
    base, stamp = own
    earlier = [
        (other[1], each)
        for each in names
        if (other := base_and_stamp(each)) is not None
        and other[0] == base
        and len(other[1]) == len(stamp)
        and other[1] < stamp
    ]
    return max(earlier)[1] if earlier else None


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
