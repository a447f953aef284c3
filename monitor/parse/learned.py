"""A line that no reader knows, but that comes again and again with a counter that climbs, is a step report: it is learned.

Which shape of line that is shows when all lines are there. Its counter never falls but to begin again, and grows by the same
amount nearly always; beside it stands a number that is named as what training watches, and that moves, or the words say
training; and nothing says other work. Where several shapes are such reports the one with the most different counts is the
training's; others that tell of the same counts add what they say. In doubt nothing is learned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.parse import stranger_words as w
from monitor.parse.columns import Floats
from monitor.parse.keys import Key
from monitor.parse.numbers import MOST_DIGITS, process_number
from monitor.parse.records import Entry, Form, form, reading
from monitor.parse.rows import Reading
from monitor.parse.stranger_lines import Shape
from monitor.parse.stranger_plan import Counter, Plan, plan_of
from monitor.parse.strangers import Found, Strangers, Writer
from monitor.parse.table import NOBODY, At, Place, Rows

FORMAT = "learned"

# So many different counts one writer must have reported: of a named counter beside a loss, of a number without a name, of a
# counter where the words alone say training.
_FEWEST = 5
_FEWEST_UNNAMED = 8
_FEWEST_UNWATCHED = 20
# The share of the usual growth among all, and of the three most usual ones.
_MOSTLY = 0.6
_NEARLY_ALWAYS = 0.9
# A counter begins again once an epoch, of which a few reports are printed at least.
_FALLS = 0.34
# Beyond it a number without a name is a time or an identity.
_LARGEST_UNNAMED = 1e8
_MOST_GROWTH_UNNAMED = 10_000
_MOST_VARIANTS = 16
# So far apart two lines may tell of one step.
_LONGEST_SHOWN = 160


@dataclass(frozen=True, slots=True)
class Learned:
    """What was learned of a log."""

    rows: Rows
    shapes: tuple[str, ...]
    """The lines that are read as reports, with what was taken in angle brackets: ``upd <step> of N | nll <loss>``."""


class _Course(NamedTuple):
    """How a counter runs in the lines of one writer."""

    distinct: int
    """Different counts, those of each start for themselves."""
    falls: int
    mostly: float
    """The share of the most usual growth."""
    nearly: float
    """That of the three most usual ones."""
    growth: float
    """The most usual growth."""


class _Candidate(NamedTuple):
    """A shape that is a report of training by itself."""

    found: Found
    plan: Plan
    counter: Counter
    tier: int
    """How sure that is: 0 the surest; epochs alone come last."""
    distinct: int


def learn(strangers: Strangers) -> Learned | None:
    """What the lines teach; None where nothing in them is a report of training for sure."""
    if strangers.closed:
        return None
    writers = strangers.writers()
    all_found = strangers.found(1)
    candidates = [
        one for found in all_found if len(found.line) >= _FEWEST and (one := _judged(found, writers)) is not None
    ]
    if not candidates:
        return None
    of_steps = [one for one in candidates if one.counter.order != w.EPOCH] or candidates
    most = max(one.distinct for one in of_steps)
    # Of shapes with as many counts, within a tenth, the surest.
    chosen = min(
        (one for one in of_steps if one.distinct >= 0.9 * most),
        key=lambda one: (one.tier, not one.plan.losses, -one.distinct, one.found.shape),
    )
    parts = [(chosen.found, chosen.plan, chosen.counter)]
    parts += _variants(chosen, all_found, writers)
    rows = Rows()
    for found, plan, counter in parts:
        _report(rows, found, plan, counter, writers)
    return Learned(rows, tuple(dict.fromkeys(shown(*part) for part in parts[:3]))) if len(rows) else None


def _judged(found: Found, writers: Sequence[Writer]) -> _Candidate | None:
    plan = plan_of(found.shape)
    if plan is None:
        return None
    who = _who(found, plan)
    at = _most(who)
    for counter in plan.counters:
        if (judged := _tier(found, plan, counter, at)) is None:
            continue
        tier, course = judged
        others = [course_of(found, counter, plan, own) for own in _each(who) if len(own) >= _FEWEST]
        if all(other is not None and _is_regular(other, counter, plan) for other in others):
            return _Candidate(found, plan, counter, tier, course.distinct)
    return None


def _tier(found: Found, plan: Plan, counter: Counter, at: At) -> tuple[int, _Course] | None:
    course = course_of(found, counter, plan, at)
    if course is None or course.distinct < _FEWEST or not _is_regular(course, counter, plan):
        return None
    numbers = found.numbers[at]
    losses = any(_moves(numbers[:, place]) for place in plan.losses)
    learning = any(_moves(numbers[:, place]) and _is_rate(numbers[:, place]) for place in plan.learning)
    quality = any(_moves(numbers[:, place]) for place in plan.quality)
    if plan.other_work and not losses:
        return None
    if counter.order == w.UNNAMED:
        good = (losses or learning) and course.distinct >= _FEWEST_UNNAMED and course.mostly >= _NEARLY_ALWAYS
        small = course.growth <= _MOST_GROWTH_UNNAMED and numbers[:, counter.place].max() < _LARGEST_UNNAMED
        return (1, course) if good and small and not _is_clock(found, counter.place, at, course) else None
    if losses or learning or (quality and _is_of_training(counter, plan)):
        return 0, course
    if counter.order <= w.BATCH and plan.trains and course.distinct >= _FEWEST_UNWATCHED:
        return (2, course) if course.mostly >= _NEARLY_ALWAYS and course.growth <= _MOST_GROWTH_UNNAMED else None
    return None


def _is_of_training(counter: Counter, plan: Plan) -> bool:
    """An evaluation tells accuracies of batches, too."""
    return plan.trains or counter.order == w.EPOCH or not w.OF_TRAINING.isdisjoint(counter.name.split())


def course_of(found: Found, counter: Counter, plan: Plan, at: At) -> _Course | None:
    """The course of a counter in these lines; None where it is no count at all."""
    values = found.numbers[at, counter.place]
    known = ~np.isnan(values)
    if known.mean() < _NEARLY_ALWAYS:
        return None
    values = values[known]
    if (values < 0).any() or (values != np.floor(values)).any() or values.max() >= 10**MOST_DIGITS:
        return None
    rises = np.diff(values)
    falls = rises < 0
    if plan.epoch >= 0 and plan.epoch != counter.place:
        epochs = found.numbers[at, plan.epoch][known]
        falls = falls & ~(np.diff(epochs) > 0)
    grown = rises[rises > 0]
    if not len(grown):
        return None
    _, counts = np.unique(grown, return_counts=True)
    usual = np.sort(counts)[::-1]
    growth = float(_usual(grown))
    segment = np.cumsum(np.append(0, rises < 0))
    distinct = len(np.unique(np.stack([segment, values]), axis=1).T)
    return _Course(distinct, int(falls.sum()), usual[0] / len(grown), float(usual[:3].sum() / len(grown)), growth)


def _usual(grown: Floats) -> float:
    values, counts = np.unique(grown, return_counts=True)
    return float(values[counts.argmax()])


def _is_regular(course: _Course, counter: Counter, plan: Plan) -> bool:
    moves = course.distinct
    if course.falls > (_FALLS if counter.order != w.UNNAMED else 0.1) * moves:
        return False
    return course.mostly >= _MOSTLY and course.nearly >= _NEARLY_ALWAYS


def _moves(values: Floats) -> bool:
    """Whether it is a figure that changes, and no second counter."""
    values = values[np.isfinite(values)]
    if len(values) < 3:
        return False
    different = len(np.unique(values))
    if different < max(3, 0.1 * len(values)):
        return False
    rises = np.diff(values)
    return not ((values == np.floor(values)).all() and ((rises >= 0).all() or (rises <= 0).all()))


def _is_rate(values: Floats) -> bool:
    values = values[np.isfinite(values)]
    return bool(((values >= 0) & (values < 1e6)).all())


def _is_clock(found: Found, place: int, at: At, course: _Course) -> bool:
    """Whether a number without a name grows as the time of its lines does, several at a time: then it is one."""
    time_ms, values = found.time_ms[at], found.numbers[at, place]
    if np.isnan(time_ms).any() or course.growth < 2:
        return False
    passed_s, grown = np.diff(time_ms) / 1e3, np.diff(values)
    return bool((np.abs(passed_s - grown) <= 1.0).mean() > _NEARLY_ALWAYS)


def _who(found: Found, plan: Plan) -> NDArray[np.int64]:
    """A number for each writer: as the wrapping tells, and the rank that the line names."""
    who = found.writer.astype(np.int64)
    if plan.rank >= 0:
        ranks = np.nan_to_num(found.numbers[:, plan.rank], nan=-1.0)
        who = who * (1 << 20) + np.unique(ranks, return_inverse=True)[1]
    return who


def _each(who: NDArray[np.int64]) -> Iterator[At]:
    order = np.argsort(who, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(who[order])) + 1)


def _most(who: NDArray[np.int64]) -> At:
    """The lines of the writer with the most; of several the first to write."""
    return max(_each(who), key=lambda at: (len(at), -int(at[0])))


def _variants(
    chosen: _Candidate, all_found: Sequence[Found], writers: Sequence[Writer]
) -> list[tuple[Found, Plan, Counter]]:
    """Other shapes of the same report, with a word more or less: they have the counts between those of the chosen one."""
    taken = _counts(chosen.found, chosen.counter, writers)
    found_ones: list[tuple[Found, Plan, Counter]] = []
    for found in all_found:
        if found is chosen.found or (plan := plan_of(found.shape)) is None or len(found_ones) >= _MOST_VARIANTS:
            continue
        counter = next((one for one in plan.counters if _is_same(one, found, chosen)), None)
        if counter is None or not (plan.losses or plan.learning or plan.quality or chosen.tier == 2):
            continue
        own = _counts(found, counter, writers)
        if _fits(taken, own, chosen):
            for name, lines in own.items():
                taken.setdefault(name, {}).update(lines)
            found_ones.append((found, plan, counter))
    return found_ones


def _is_same(one: Counter, found: Found, chosen: _Candidate) -> bool:
    """The same name in the same words before it."""
    before = chosen.found.shape[: chosen.counter.place + 1]
    return (
        one.order == chosen.counter.order and one.name == chosen.counter.name and found.shape[: one.place + 1] == before
    )


_Counts = dict[tuple[str, int], dict[tuple[int, int], float]]
"""For each writer the count by the place of its line."""


def _counts(found: Found, counter: Counter, writers: Sequence[Writer]) -> _Counts:
    out: _Counts = {}
    columns = (found.writer, found.line, found.part, found.numbers[:, counter.place])
    for who, line, part, count in zip(*(column.tolist() for column in columns), strict=True):
        if count == count:
            out.setdefault((writers[who].stream, who), {})[line, part] = count
    return out


def _fits(taken: _Counts, own: _Counts, chosen: _Candidate) -> bool:
    """Whether with these counts between the others the counter still climbs, and no count comes twice."""
    good = bad = 0
    for name, lines in own.items():
        if name not in taken:
            continue
        together = sorted({**taken[name], **lines}.items())
        for at, (place, count) in enumerate(together):
            if place not in lines:
                continue
            before = together[at - 1][1] if at else -np.inf
            after = together[at + 1][1] if at + 1 < len(together) else np.inf
            fits = before < count < after or (before < count and after < before) or (count < after and before > after)
            good, bad = good + fits, bad + (not fits)
    return good > 0 and bad <= 0.1 * good


def _report(rows: Rows, found: Found, plan: Plan, counter: Counter, writers: Sequence[Writer]) -> None:
    known = _form(plan, counter)
    by_stream: dict[tuple[str, str], tuple[list[Place], list[Reading]]] = {}
    columns = (found.writer, found.line, found.part, found.time_ms)
    whole = (found.numbers == np.floor(found.numbers)).all(axis=0)
    for who, line, part, time_ms, numbers in zip(
        *(column.tolist() for column in columns), found.numbers.tolist(), strict=True
    ):
        if (report := _reading(known, plan, counter, numbers, whole)) is None:
            continue
        writer = writers[who]
        rank = writer.rank if writer.rank != NOBODY or report.rank is None else report.rank
        rate = next((numbers[place] for place in plan.learning if _is_learning_rate(found.shape, place)), None)
        places, readings = by_stream.setdefault((writer.stream, writer.node), ([], []))
        at = None if time_ms != time_ms else int(time_ms)
        places.append((line, part, at, rank, writer.host, False, writer.local_rank, writer.task, rate))
        readings.append(report)
    for (stream, node), (places, readings) in by_stream.items():
        rows.add(stream, node, places, readings)


def _is_learning_rate(shape: Shape, place: int) -> bool:
    return not {"lr", "rate", "lrate", "lernrate"}.isdisjoint(w.words(shape[place])[-1:])


def _form(plan: Plan, counter: Counter) -> Form | None:
    """How the numbers make a report, with the counter as its step; None where nothing but the step is told."""
    step = Entry(counter.place, Key("step"), counter.name, counter.total)
    entries = [entry for entry in plan.entries if entry.place != counter.place]
    if plan.epoch not in {-1, counter.place}:
        entries.append(Entry(plan.epoch, Key("epoch")))
    return form([step, *entries], "")


def _reading(
    known: Form | None, plan: Plan, counter: Counter, numbers: Sequence[float], whole: Sequence[np.bool_]
) -> Reading | None:
    count = numbers[counter.place]
    if count != count or count < 0 or not count.is_integer():
        return None
    # A time that is printed in whole seconds is told as such.
    values = [
        int(number) if each and number == number and abs(number) < 1e15 else number
        for number, each in zip(numbers, whole, strict=True)
    ]
    values[counter.place] = int(count)
    rank = process_number(numbers[plan.rank]) if plan.rank >= 0 else None
    report = reading(known, values, FORMAT) if known is not None else None
    if report is None:
        total = numbers[counter.total] if counter.total >= 0 else np.nan
        epoch = numbers[plan.epoch] if plan.epoch not in {-1, counter.place} else np.nan
        report = Reading(
            FORMAT,
            int(count),
            int(total) if total == total and count <= total < 10**MOST_DIGITS else None,
            epoch=int(epoch) if epoch == epoch and 0 <= epoch < 10**MOST_DIGITS else None,
        )
    return report._replace(rank=rank)


def shown(found: Found, plan: Plan, counter: Counter) -> str:
    """The shape as people read it."""
    known = _form(plan, counter)
    names: Mapping[int, str] = {counter.place: "step"}
    if known is not None:
        told = [("loss", known.loss), ("time", known.times[0].place if known.times else -1)]
        told += [("throughput", known.throughputs[0].place if known.throughputs else -1)]
        names = {place: name for name, place in told if place >= 0} | dict(names)
    text = found.shape[0]
    for place, behind in enumerate(found.shape[1:]):
        text += (f"<{names[place]}>" if place in names else "N") + behind
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"
