"""Did the receivers get what the day's plan says, each thing once? What was lost, said twice, or never so; and memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from statistics import median

from benchmarks.alert_day.conduct import Death, Passed
from benchmarks.alert_day.plan import HOLDS_AFTER, PAGED, Day
from benchmarks.alert_day.receiver import Taken
from benchmarks.alert_day.scene import DAY

# A spell begins with a sample, a minute or a step; while metrics are late, with the first that is there.
_NEAR = 18.0
# The machine's clock may be three minutes ahead, and the step before a silence was a little earlier.
_AHEAD = 4.6
_MIB = 1024**2

Named = tuple[str, str, str, str, str]
"""(receiver, job, rule, node, kind)."""


@dataclass(frozen=True, slots=True)
class Due:
    """A message that must come."""

    start: float
    """The ``since`` that it must tell, about."""
    true_from: float
    """What it says is so from then on."""


@dataclass(frozen=True, slots=True)
class Reckoning:
    """How many of what; lists hold a line each."""

    expected: int
    arrived: int
    """Different messages that were expected, and arrived."""
    lost: tuple[str, ...]
    invented: tuple[str, ...]
    """Nothing of the kind was, or it had been said under another id."""
    early: tuple[str, ...]
    """Said before it was so: an end while the spell lasted."""
    repeats: int
    unexcused: tuple[str, ...]
    """Repeats that no death between sending and recording, and no lost answer, explains."""
    disordered: tuple[str, ...]
    """Ends that arrived before their beginning, or messages without their id as Idempotency-Key."""
    grown_mib: float | None
    """Memory of the watch that lived all day: the last tenth against the second; None where it was not measured."""
    held_mib: float | None


def reckoned(day: Day, passed: Passed) -> Reckoning:
    """Compares what arrived with the plan."""
    due: dict[Named, list[Due]] = defaultdict(list)
    for named, each in _expected(day):
        due[named].append(each)
    count = sum(map(len, due.values()))
    first: dict[tuple[str, str], Taken] = {}
    for taken in passed.taken:
        first.setdefault((taken.path, taken.message["id"]), taken)
    invented, early = [], []
    for taken in first.values():
        left = due[_named(taken)]
        since = _minute(taken.message["since"])
        found = next((each for each in left if since is not None and abs(since - each.start) <= _NEAR), None)
        if found is None:
            invented.append(_words(taken))
            continue
        left.remove(found)
        if taken.at < found.true_from:
            early.append(f"{_words(taken)}, which is true from minute {found.true_from:.0f} on")
    lost = [f"{' '.join(named)} of minute {each.start:.0f}" for named, left in due.items() for each in left]
    repeats, unexcused = _repeats(passed)
    grown, held = _memory(day, passed.memory)
    arrived = count - len(lost)
    disordered = tuple(_disordered(passed.taken))
    lists = (tuple(lost), tuple(invented), tuple(early))
    return Reckoning(count, arrived, *lists, repeats, unexcused, disordered, grown, held)


def _expected(day: Day) -> Iterator[tuple[Named, Due]]:
    for job in day.jobs:
        for spell in job.spells:
            end = "ended" if spell.end >= job.end else "resolved"
            for path in ("/all", "/paged") if spell.rule in PAGED else ("/all",):
                start = spell.start + HOLDS_AFTER.get(spell.rule, 0.0)
                for kind, true_from in (("firing", start - _AHEAD), (end, spell.end)):
                    yield (path, job.name, spell.rule, spell.node, kind), Due(start, true_from)


def _named(taken: Taken) -> Named:
    message = taken.message
    return taken.path, message["job"], message["rule"], message["node"] or "", message["kind"]


def _repeats(passed: Passed) -> tuple[int, tuple[str, ...]]:
    """(how many, those that nothing explains)."""
    receipts: dict[tuple[str, str], list[Taken]] = defaultdict(list)
    for taken in passed.taken:
        receipts[taken.path, taken.message["id"]].append(taken)
    unused, repeats, unexcused = list(passed.deaths), 0, []
    for (_, id), mine in receipts.items():
        for before, again in pairwise(mine):
            repeats += 1
            if not before.is_answered:
                continue
            death = _excuse(id, before.at, again.at, unused)
            if death is None:
                unexcused.append(_words(again))
            else:
                unused.remove(death)
    return repeats, tuple(unexcused)


def _excuse(id: str, before: float, again: float, deaths: Sequence[Death]) -> Death | None:
    own = (death for death in deaths if death.id == id and death.where == "before recording")
    # A kill from without is noted a moment early.
    other = (death for death in deaths if not death.id and before - 2 <= death.at <= again)
    return next(own, None) or next(other, None)


def _disordered(taken: Sequence[Taken]) -> Iterator[str]:
    begun: set[tuple[object, ...]] = set()
    for each in taken:
        if each.key != each.message["id"]:
            yield f"{_words(each)}: its Idempotency-Key is another"
        path, job, rule, node, kind = _named(each)
        what = (path, job, rule, node, each.message["since"])
        if kind == "firing":
            begun.add(what)
        elif what not in begun:
            yield f"{_words(each)}: before its beginning"


def _memory(day: Day, memory: Sequence[tuple[float, float]]) -> tuple[float | None, float | None]:
    """(MiB more in the last tenth of the day than in the second, MiB at last)."""
    early = [held for at, held in memory if 0.1 * day.length <= at < 0.2 * day.length]
    late = [held for at, held in memory if at >= 0.9 * day.length]
    if not early or not late:
        return None, None
    return (median(late) - median(early)) / _MIB, median(late) / _MIB


def _minute(text: str | None) -> float | None:
    return None if text is None else (datetime.fromisoformat(text) - DAY).total_seconds() / 60


def _words(taken: Taken) -> str:
    since = _minute(taken.message["since"])
    of = "" if since is None else f" of minute {since:.0f}"
    return f"{' '.join(_named(taken))}{of}, got in minute {taken.at:.0f}"
