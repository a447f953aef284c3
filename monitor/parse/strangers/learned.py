"""A line that no reader knows, but that comes again and again with a counter that climbs, is a step report: it is learned.

Which shape of line that is shows when all lines are there. Its counter never falls but to begin again, and grows by the same
amount nearly always; beside it stands a number that is named as what training watches, and that moves, or the words say
training; and nothing says other work. Where several shapes are such reports the one with the most different counts is the
training's; others that tell of the same counts add what they say. In doubt nothing is learned.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from monitor.parse.columns import Floats
from monitor.parse.events.epochs import EPOCH_TOLD
from monitor.parse.examples import Where
from monitor.parse.fields.keys import Key
from monitor.parse.fields.languages import EPOCHS
from monitor.parse.fields.records import Entry, Form, form, reading
from monitor.parse.lines.stamps import FIRST_INSTANT_MS
from monitor.parse.numbers import MOST_DIGITS, process_number
from monitor.parse.rows import EventRow, Reading
from monitor.parse.strangers import words as w
from monitor.parse.strangers.collection import Found, Strangers, Writer
from monitor.parse.strangers.courses import (
    FEWEST,
    FEWEST_UNNAMED,
    FEWEST_UNWATCHED,
    NEARLY_ALWAYS,
    Course,
    course_of,
    goes_on,
    is_clock,
    is_regular,
    is_scheduled,
    moves,
)
from monitor.parse.strangers.lines import BEHIND_A_CLOCK, Shape
from monitor.parse.strangers.roles import TOTAL, Counter, Roles, plan_of
from monitor.parse.strangers.uncounted import uncounted
from monitor.parse.table import NOBODY, At, Ints, Place, Rows, by_code

FORMAT = "learned"
#: The counter of these goes by samples: how many make a step is not known.
OF_SAMPLES = "learned-samples"

# What is counted one by one beside a figure, and has no name, may be epochs where there are fewer.
_MORE_THAN_EPOCHS = 300
# A count of episodes that stays for more than so many lines counts something else.
_SEVERAL = 1.5
# Beyond it a number without a name is a time or an identity.
_LARGEST_UNNAMED = 1e8
_MOST_GROWTH_UNNAMED = 10_000
# So many shapes are told of, and so much of each.
_MOST_SHOWN = 3
_LONGEST_SHOWN = 160


@dataclass(frozen=True, slots=True)
class Learned:
    """What was learned of a log."""

    rows: Rows
    shapes: tuple[str, ...]
    """The lines that are read as reports, with what was taken in angle brackets: ``upd <step> of N | nll <loss>``."""
    epochs: tuple[EventRow, ...] = ()
    """Where lines tell of epochs alone: one for each."""
    examples: Mapping[Where, str] = field(default_factory=dict)
    """The first of the lines."""


class Member(NamedTuple):
    """A shape with the number in it that counts."""

    found: Found
    plan: Roles
    counter: Counter


@dataclass(frozen=True, slots=True)
class _Series:
    """The lines of shapes that report the same, with a word more or less, in order; NaN is what a line does not tell."""

    members: tuple[Member, ...]
    """The one with the most lines first."""
    who: Ints
    time_ms: Floats
    count: Floats
    epoch: Floats
    watched: Mapping[str, Floats]
    """The first loss, rate of learning and measure of quality."""

    @property
    def counter(self) -> Counter:
        return self.members[0].counter

    @property
    def plan(self) -> Roles:
        return self.members[0].plan


class _Candidate(NamedTuple):
    """Shapes that are reports of training for sure."""

    series: _Series
    tier: int
    """How sure that is: 0 the surest."""
    distinct: int


def learn(strangers: Strangers, trains: bool = False, epochs: int = 0) -> Learned | None:
    """What the lines teach; None where nothing in them is a report of training for sure.

    Lines without a word are looked at where the log ``trains``, and says so elsewhere; so many ``epochs`` are told at least.
    """
    writers = strangers.writers()
    candidates: list[_Candidate] = []
    # A shape is read by the likeliest of its counters that climbs.
    taken: set[Shape] = set()
    all_found = [
        found for found in strangers.found() if trains or (plan := plan_of(found.shape)) is None or not plan.wordless
    ]
    epochs = max(epochs, _epochs(all_found))
    for members in _families(all_found):
        if members[0].found.shape in taken:
            continue
        one = _judged(_series(members, writers), epochs)
        first = min(members, key=lambda member: int(member.found.line.min()))
        if one is None and len(members) > 1 and first.found.shape not in taken:
            # Where each count has a line for each part of its loss, the first of them is the report.
            one = _judged(_series([first], writers), epochs)
        if one is not None:
            candidates.append(one)
            taken |= {members[0].found.shape, one.series.members[0].found.shape}
    # Lines of an epoch each report no step.
    of_steps = [one for one in candidates if one.series.counter.order != w.EPOCH]
    if not of_steps:
        if (told := uncounted(all_found, epochs)) is not None:
            found, plan = told
            return _learned([Member(found, plan, Counter(found.numbers.shape[1] - 1, w.STEP, "", -1))], writers)
        return _of_epochs(candidates, writers) if candidates else None
    most = max(one.distinct for one in of_steps)
    # Of shapes with as many counts, within a tenth, the surest.
    chosen = min(
        (one for one in of_steps if one.distinct >= 0.9 * most),
        key=lambda one: (one.tier, not one.series.plan.losses, -one.distinct, one.series.members[0].found.shape),
    )
    return _learned(chosen.series.members, writers)


def _learned(members: Sequence[Member], writers: Sequence[Writer]) -> Learned | None:
    rows = Rows()
    for member in members:
        _report(rows, member, writers)
    if not len(rows):
        return None
    texts = {
        (writers[writer].stream, line): text
        for found, _, _ in members
        for (line, _, writer), text in found.texts.items()
    }
    return Learned(rows, tuple(dict.fromkeys(shown(member) for member in members[:_MOST_SHOWN])), examples=texts)


def _of_epochs(candidates: Sequence[_Candidate], writers: Sequence[Writer]) -> Learned:
    """No report, but what tells of the epochs."""
    told = []
    for found, _, counter in max(candidates, key=lambda one: one.distinct).series.members:
        columns = found.writer, found.line, found.part, found.time_ms, found.numbers[:, counter.place]
        for who, line, part, time_ms, epoch in zip(*(column.tolist() for column in columns), strict=True):
            if epoch == epoch:
                stream, node, _, host, *_ = writers[who]
                at_ms = None if time_ms != time_ms else int(time_ms)
                told.append(EventRow(stream, node, line, part, at_ms, None, host, EPOCH_TOLD, f"{epoch:.0f}"))
    told.sort(key=lambda row: (row.stream, row.line, row.part))
    return Learned(Rows(), (), tuple(told))


def _families(all_found: Sequence[Found]) -> list[list[Member]]:
    """Shapes that begin alike up to their counter, and tell the same kind of figure first; the likeliest counters first."""
    families: dict[tuple[object, ...], list[Member]] = {}
    for found in all_found:
        if (plan := plan_of(found.shape)) is None:
            continue
        watched = sorted((*plan.losses, *plan.learning, *plan.quality))[:1]
        for turn, counter in enumerate(plan.counters):
            before = found.shape[counter.place]
            key = (
                turn,
                counter.name,
                found.shape[: counter.place],
                # Behind something a count may be padded with blanks: "E  1/500", "E100/500".
                before.rstrip() if counter.place or counter.total >= 0 or w.words(before) else before,
                *(_name(found.shape, place) for place in watched),
            )
            families.setdefault(key, []).append(Member(found, plan, counter))
    enough = [
        (turn, members)
        for (turn, *_), members in families.items()
        if sum(len(member.found.line) for member in members) >= FEWEST
    ]
    return [members for _, members in sorted(enough, key=lambda one: (one[0], one[1][0].found.shape))]


def _name(shape: Shape, place: int) -> str:
    """The last word before a number."""
    return "".join(w.words(shape[place])[-1:])


def _series(members: Sequence[Member], writers: Sequence[Writer]) -> _Series:
    stream = {name: turn for turn, name in enumerate(sorted({writer.stream for writer in writers}))}
    streams = np.array([stream[writer.stream] for writer in writers])
    parts = [member.found for member in members]
    writer, line, part = (np.concatenate([getattr(one, name) for one in parts]) for name in ("writer", "line", "part"))
    order = np.lexsort((part, line, streams[writer]))

    def column(place_of: Callable[[Member], int]) -> Floats:
        columns = []
        for member in members:
            place = place_of(member)
            numbers = member.found.numbers
            columns.append(numbers[:, place] if place >= 0 else np.full(len(numbers), np.nan))
        return np.concatenate(columns)[order]

    ranks = np.unique(column(lambda member: member.plan.rank), return_inverse=True, equal_nan=True)[1]
    return _Series(
        tuple(members),
        writer[order].astype(np.int64) * (1 << 20) + ranks,
        np.concatenate([one.time_ms for one in parts])[order],
        column(lambda member: member.counter.place),
        column(lambda member: -1 if member.plan.epoch == member.counter.place else member.plan.epoch),
        {
            "losses": column(lambda member: next(iter(member.plan.losses), -1)),
            "learning": column(lambda member: next(iter(member.plan.learning), -1)),
            "quality": column(lambda member: next(iter(member.plan.quality), -1)),
        },
    )


def _judged(series: _Series, epochs: int) -> _Candidate | None:
    each = [at for _, at in by_code(series.who, np.arange(len(series.who)))]
    # Of several the first to write.
    at = max(each, key=lambda at: (len(at), -int(at[0])))
    judged = _tier(series, at, epochs)
    if judged is None:
        return None
    others = (course_of(series.count[own], series.epoch[own]) for own in each if len(own) >= FEWEST)
    return (
        judged
        if all(
            other is not None and is_regular(other, series.counter.order, series.counter.total >= 0) for other in others
        )
        else None
    )


def _tier(series: _Series, at: At, epochs: int) -> _Candidate | None:
    course, counter, plan = course_of(series.count[at], series.epoch[at]), series.counter, series.plan
    if course is None or course.distinct < FEWEST or not is_regular(course, counter.order, counter.total >= 0):
        return None
    if "episode" in counter.name and course.lines > _SEVERAL * course.distinct:
        return None  # several lines tell of each
    moving = {kind for kind, values in series.watched.items() if moves(values[at])}
    if "losses" not in moving and any(member.plan.other_work for member in series.members):
        return None
    if counter.order == w.UNNAMED:
        if all(map(_ends_another_count, series.members)):
            return None  # it counts epochs
        # An evaluation counts its samples beside accuracies, but names neither an epoch nor a loss.
        watched = moving & {"losses", "learning"} or (moving and plan.losses and plan.epoch >= 0)
        if watched == {"learning"} and not is_scheduled(series.watched["learning"][at]):
            return None  # it numbers trials
        # Beside figures of an evaluation it counts epochs.
        good = bool(watched) and course.distinct >= FEWEST_UNNAMED and (plan.epoch >= 0 or not plan.evaluates)
        small = course.growth <= _MOST_GROWTH_UNNAMED and float(np.nanmax(series.count[at])) < _LARGEST_UNNAMED
        sure = (
            good
            and small
            and course.mostly >= NEARLY_ALWAYS
            and not is_clock(series.time_ms[at], series.count[at], course.growth)
        )
        if plan.wordless:
            loss = series.watched["losses"][at]
            of_steps = course.growth > 1 or (
                course.distinct >= _MORE_THAN_EPOCHS and plan.losses[0] == counter.place + 1
            )
            sure = sure and of_steps and bool((loss != np.floor(loss)).any()) and goes_on(series.time_ms[at])
        if sure:
            return _Candidate(series, 1, course.distinct)
        told = "losses" in moving and "train" in w.words(series.members[0].found.shape[plan.losses[0]])
        if told and small and plan.evaluates and course.mostly >= NEARLY_ALWAYS:
            return _Candidate(_of_all_epochs(series), 1, course.distinct)
        return _Candidate(series, 2, course.distinct) if small and _is_of_epoch(counter, plan, course) else None
    if moving & {"losses", "learning"} or ("quality" in moving and _is_of_training(counter, plan, epochs)):
        return _Candidate(series, 0, course.distinct)
    if plan.evaluates or not plan.trains or counter.order > w.BATCH or course.distinct < FEWEST_UNWATCHED:
        return None
    sure = course.mostly >= NEARLY_ALWAYS and course.growth <= _MOST_GROWTH_UNNAMED
    return _Candidate(series, 2, course.distinct) if sure else None


def _of_all_epochs(series: _Series) -> _Series:
    """The same with a counter that is said to be of epochs."""
    members = (member._replace(counter=member.counter._replace(order=w.EPOCH)) for member in series.members)
    return replace(series, members=tuple(members))


def _ends_another_count(member: Member) -> bool:
    """Behind the counter another count stands at its total on every line: "[10/500 | 11/11]"."""
    shape, numbers, counter = member.found.shape, member.found.numbers, member.counter
    behind = max(counter.place, counter.total) + 1
    is_count = behind + 1 < numbers.shape[1] and shape[behind + 1].strip() in TOTAL
    return is_count and bool((numbers[:, behind] == numbers[:, behind + 1]).all() and (numbers[:, behind] > 1).all())


def _is_of_epoch(counter: Counter, plan: Roles, course: Course) -> bool:
    """A count of all there are within an epoch that is named right before it: "Epoch4 [1700/7876] Stage 0 = 3.41"."""
    begins = counter.total >= 0 and plan.epoch >= 0 and counter.place - plan.epoch in {1, 2}
    sure = course.mostly >= NEARLY_ALWAYS and course.distinct >= FEWEST_UNWATCHED
    return begins and sure and not (plan.evaluates or plan.other_work)


def _is_of_training(counter: Counter, plan: Roles, epochs: int) -> bool:
    """An evaluation tells accuracies of batches, too; between the epochs of a log batches with a total are trained."""
    if epochs > 1 and counter.total >= 0 and counter.order == w.BATCH and not plan.evaluates:
        return True
    return plan.trains or plan.rewards or counter.order == w.EPOCH or not w.OF_TRAINING.isdisjoint(counter.name.split())


def _epochs(all_found: Sequence[Found]) -> int:
    """How many epochs the lines name, at most."""
    most = 0
    for found in all_found:
        plan = plan_of(found.shape)
        named = plan is not None and plan.epoch >= 0
        if named or _EPOCH.search(" ".join(found.shape).lower()):
            place = plan.epoch if plan is not None and named else 0
            most = max(most, len(np.unique(found.numbers[:, place])))
    return most


_EPOCH = re.compile(rf"\b(?:epochs|{'|'.join(EPOCHS)})\b")


def _report(rows: Rows, member: Member, writers: Sequence[Writer]) -> None:
    found, plan, counter = member
    known = _form(plan, counter)
    by_stream: dict[tuple[str, str], tuple[list[Place], list[Reading]]] = {}
    columns = (found.writer, found.line, found.part, found.time_ms)
    whole = (found.numbers == np.floor(found.numbers)).all(axis=0).tolist()
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
        # A stamp without its day or year is no instant.
        clock = (at, None) if at is None or at >= FIRST_INSTANT_MS else (None, at)
        who_wrote = (rank, writer.host, False, writer.local_rank, writer.task, rate)
        places.append((line, part, clock[0], *who_wrote, clock[1]))
        readings.append(report)
    for (stream, node), (places, readings) in by_stream.items():
        rows.add(stream, node, places, readings)


def _is_learning_rate(shape: Shape, place: int) -> bool:
    return not {"lr", "rate", "lrate", "lernrate"}.isdisjoint(w.words(shape[place])[-1:])


def _form(plan: Roles, counter: Counter) -> Form | None:
    """How the numbers make a report, with the counter as its step; None where nothing but the step is told."""
    step = Entry(counter.place, Key("step"), counter.name, counter.total)
    entries = [entry for entry in plan.entries if entry.place != counter.place]
    if plan.epoch not in {-1, counter.place}:
        entries.append(Entry(plan.epoch, Key("epoch")))
    if plan.wordless and plan.losses[0] > counter.place + 1:
        return None  # of several figures which is the loss nothing says
    return form([step, *entries], "")


def _reading(
    known: Form | None, plan: Roles, counter: Counter, numbers: Sequence[float], whole: Sequence[bool]
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
    name = OF_SAMPLES if counter.order == w.SAMPLES else FORMAT
    report = reading(known, values, name) if known is not None else None
    if report is None:
        total = numbers[counter.total] if counter.total >= 0 else np.nan
        epoch = numbers[plan.epoch] if plan.epoch not in {-1, counter.place} else np.nan
        report = Reading(
            name,
            int(count),
            int(total) if total == total and count <= total < 10**MOST_DIGITS else None,
            epoch=int(epoch) if epoch == epoch and 0 <= epoch < 10**MOST_DIGITS else None,
        )
    return report._replace(rank=rank)


def shown(member: Member) -> str:
    """The shape as people read it."""
    found, plan, counter = member
    known = _form(plan, counter)
    names: Mapping[int, str] = {counter.place: "step"}
    if known is not None:
        told = [("loss", known.loss), ("time", known.times[0].place if known.times else -1)]
        told += [("throughput", known.throughputs[0].place if known.throughputs else -1)]
        names = {place: name for name, place in told if place >= 0} | dict(names)
    text = found.shape[0]
    for place, behind in enumerate(found.shape[1:]):
        text += (f"<{names[place]}>" if place in names else "N") + behind
    text = " ".join(text.replace(BEHIND_A_CLOCK, "").split())
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"
