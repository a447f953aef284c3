"""One page of lines to rows: each line by itself, most of them together with others of their shape.

Lines whose shape can hold no gate are nobody's and are passed over. Of any other shape the readers are asked about some tens
of lines one by one; from then on a plan (``monitor.parse.pages.plans``) turns all its lines on a page into columns at once. On
every page at least one line of each plan is read both ways: where the two differ, the shape is read line by line for good.
Lines that the plan of their shape does not fit (a time rounded to nothing, say) have a plan of their own if they are many.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monitor.model import LogPage
from monitor.parse.columns import Floats
from monitor.parse.events.epochs import EPOCH_LINES
from monitor.parse.events.event_rows import SAID_ONCE, EventRows
from monitor.parse.examples import EACH, Examples, Kind, Where
from monitor.parse.failed import Failures
from monitor.parse.lines import one_line
from monitor.parse.lines.envelope import Fragment, fragments, without_wrapping
from monitor.parse.lines.stamps import written_at_ms
from monitor.parse.pages import answers, plans
from monitor.parse.pages.answers import NUMBERS, TEXTS, Answer
from monitor.parse.pages.gates import ALL, Readers, Recogniser, readers_of
from monitor.parse.pages.keyed import DigitRuns, Ints
from monitor.parse.pages.line_shapes import HEX, MOST_PLANS, TABULAR, LineShapes, Shape
from monitor.parse.pages.page_pieces import pieces_of
from monitor.parse.pages.plan_events import PlannedEvent
from monitor.parse.pages.plans import Filled, Output, ReadingPlan
from monitor.parse.pages.verified import MOST_RUNS, classes
from monitor.parse.reports.pieces import counts_steps
from monitor.parse.rows import BARS, EventRow, Reading
from monitor.parse.table import Place, Repeated, Rows

#: A shape is learned once so many of its lines were there; a plan costs more than a few lines do.
SEEN = 48
_FEWEST = 4
# So many of them tell whether the plan is of use; so many lines of a page are read in both ways at most.
_LOOKED_AT, _MOST_HELD = 500, 32
# Of lines that the plan of most of their shape does not fit one of so many.
_EACH_OF_REST = 8
# So many values of a number may be part of what a line is: of a GPU, of a phase.
_FEW = 8
# In place of the time that a source has of a line.
_WRITTEN_MS = -1
_STEP, _TOTAL = NUMBERS.index("step"), NUMBERS.index("total")


def read_page(
    page: LogPage,
    rows: Rows,
    events: EventRows,
    failures: Failures,
    examples: Examples,
    shapes: LineShapes,
    extra: tuple[Recogniser, ...] = (),
    further: tuple[Recogniser, ...] = (),
) -> None:
    """Adds what a page says. ``extra`` recognizers are asked first and ``further`` ones last, about every line.

    A line that a reader fails on costs that line.
    """
    readers = Readers((*extra, *ALL.families, *further), ALL.events, pieces=True) if extra or further else None
    _PageRows(page, rows, events, failures, examples, shapes, readers).read()


_Row = tuple[int, Output, Ints, Filled]
"""Which output of its plan it is, the output, the pieces, and what it has for them."""
_Planned = tuple[int, ReadingPlan, Ints, list[Filled]]
"""Flags of a shape, a plan, its pieces, and of each of its outputs the numbers."""
_Lines = tuple[
    Iterable[str], Iterable[str], list[int], list[int], list[int | None], Iterable[int | None], Iterable[str], list[str]
]
"""Of lines as columns: what an ``EventRow`` holds in front of its kind, and their texts."""


@dataclass
class _PageRows:
    page: LogPage
    rows: Rows
    events: EventRows
    failures: Failures
    examples: Examples
    shapes: LineShapes
    everybody: Readers | None
    """Who is asked about every line, if there is such."""
    alone: list[Ints] = field(default_factory=list)
    """Pieces that are read one by one."""
    planned: list[_Planned] = field(default_factory=list)

    def __post_init__(self) -> None:
        page = self.page
        self.pieces = pieces_of(page)
        self.times = None if page.times_ms is None else np.array(page.times_ms, float)

    @cached_property
    def _untimed(self) -> NDArray[np.bool_] | None:
        """Which lines have no time, where some have one and some have none."""
        none = None if self.times is None else np.isnan(self.times)
        return none if none is not None and none.any() else None

    @cached_property
    def _runs(self) -> DigitRuns:
        return DigitRuns(self.pieces.data)

    @cached_property
    def _first(self) -> Ints:
        return self._runs.first(self.pieces.starts)

    def read(self) -> None:
        """Reads the page."""
        numbers = self.shapes.numbers(self.pieces, self.everybody is not None)
        flags = self.shapes.flags[numbers]
        at = np.flatnonzero(flags)
        at = at[np.argsort(numbers[at], kind="stable")]
        for own in np.split(at, np.flatnonzero(np.diff(numbers[at])) + 1) if len(at) else ():
            self._read_shape(int(numbers[own[0]]), int(flags[own[0]]), own)
        self._add_planned()
        for flag, plan, own, _ in self.planned:
            if plan.events != ():
                self._add_events(flag, plan, own)
        if self.alone:
            self._read_alone(np.sort(np.concatenate(self.alone)), flags)

    def _read_shape(self, number: int, flags: int, at: Ints) -> None:
        shape = self.shapes.of(number, self.times is not None)
        if self._untimed is not None and not shape.alone:
            untimed = self._untimed[self.pieces.line[at]]
            self.alone.append(at[untimed])
            at = at[~untimed]
        planned = self._learning(shape, flags, at)
        self.planned += planned
        own = [own for _, _, own, _ in planned]
        if sum(map(len, own)) < len(at):
            self.alone.append(np.setdiff1d(at, np.concatenate(own), assume_unique=True) if own else at)

    def _learning(self, shape: Shape, flags: int, at: Ints) -> list[_Planned]:
        """What plans make of pieces of one shape, once there were enough of them to learn one."""
        shape.seen += len(at)
        if shape.alone or shape.seen < SEEN or not len(at):
            return []
        try:
            planned = list(self._planned(shape, flags, at))
        except Exception as error:  # line by line the one that it fails on is found
            self.failures.add(plans.learn, error, lines=0)
            shape.alone, planned = True, []
        shape.planned += sum(len(own) for _, _, own, _ in planned)
        if not shape.plans or (shape.seen > _LOOKED_AT and shape.planned < shape.seen / 4):
            shape.alone = True
        return planned

    def _planned(self, shape: Shape, flags: int, at: Ints) -> Iterator[_Planned]:
        """What plans make of pieces of one shape, as far as there are plans that are good for them."""
        if not shape.plans:
            base, plan = self._learned(flags, at)
            if plan is not None:
                shape.literals = plan.literals
                shape.plans[self._literals(shape, base)] = plan
        for own in self._split(shape, at) if shape.plans else ():
            literals = self._literals(shape, own[0])
            found = shape.plans.get(literals)
            if found is None and len(own) >= _FEWEST and len(shape.plans) < MOST_PLANS:
                found = self._new_plan(shape, flags, own)
                if found is not None:
                    shape.plans[literals] = found
            if found is not None:
                planned, *rests = self._by_plan(found, flags, own, shape)
                yield from planned
                for is_wrong, rest in enumerate(() if shape.is_rest else rests):
                    if len(rest):
                        other = shape.rests.setdefault((literals, bool(is_wrong)), Shape(is_rest=True))
                        yield from self._learning(other, flags, rest)

    def _learned(self, flags: int, at: Ints) -> tuple[int, ReadingPlan | None]:
        """The piece that a plan was made from, and the plan."""
        chosen = list(dict.fromkeys(at[[len(at) // 2, 0, len(at) // 3, -1]].tolist()))
        lines, ask = [self.pieces[each] for each in chosen], cache(partial(self._ask, flags))
        turn = plans.usual(lines, ask)
        lines.insert(0, lines.pop(turn))
        return chosen[turn], plans.learn(lines, ask, not flags & HEX, () if flags & HEX else self._few(at))

    def _few(self, at: Ints) -> list[int]:
        """Runs of digits in pieces of one shape that are never more than a few."""
        first = self._first[at]
        counts = np.searchsorted(self._runs.starts, self.pieces.ends[at]) - first
        return [
            run
            for run in range(min(int(counts.min()), MOST_RUNS))
            if len(np.unique(self._runs.values[first + run])) <= _FEW
        ]

    def _new_plan(self, shape: Shape, flags: int, at: Ints) -> ReadingPlan | None:
        """A plan for other numbers that belong to the shape."""
        known = next(iter(shape.plans.values()))
        plan = plans.adapted(known, self.pieces[int(at[0])], partial(self._ask, flags))
        if plan is None:
            _, plan = self._learned(flags, at)
        return plan if plan is not None and set(plan.literals) <= set(shape.literals) else None

    def _ask(self, flags: int, line: bytes) -> Answer | None:
        """What readers make of one line."""
        failures = Failures()
        try:
            text = line.decode("utf-8", "replace")
            found = fragments(text)
            if not found:
                return answers.NOTHING
            (fragment,) = found
        except Exception:
            return None
        readers = self.everybody or readers_of(line, bool(flags & TABULAR))
        known = one_line.read(fragment, None if self.times is None else _WRITTEN_MS, readers, failures)
        return None if any(True for _ in failures) else answers.answer(known, fragment, text)

    def _literals(self, shape: Shape, at: int) -> tuple[int, ...]:
        """The numbers of a piece that belong to its shape."""
        runs, first = self._runs, int(self._first[at])
        return tuple(
            part for run in shape.literals for part in (int(runs.values[first + run]), int(runs.widths[first + run]))
        )

    def _split(self, shape: Shape, at: Ints) -> Iterator[Ints]:
        """The pieces by the numbers that belong to their shape."""
        if not shape.literals:
            yield at
            return
        group = np.zeros(len(at), np.int64)
        for run in shape.literals:
            place = self._first[at] + run
            for part in (self._runs.values[place], self._runs.widths[place]):
                group = np.unique(group * (len(at) + 1) + np.unique(part, return_inverse=True)[1], return_inverse=True)[
                    1
                ]
        order = np.argsort(group, kind="stable")
        yield from np.split(at[order], np.flatnonzero(np.diff(group[order])) + 1)

    def _by_plan(self, plan: ReadingPlan, flags: int, at: Ints, shape: Shape) -> tuple[list[_Planned], Ints, Ints]:
        """What a plan makes of those pieces that it is good for; those of which it cannot tell, and of which it was wrong."""
        runs = self._runs.of(self._first[at] + np.arange(plan.verified.runs)[:, None])
        columns, sure = plan.columns(runs)
        printed = runs.widths.sum(axis=0) if flags & HEX == 0 else 0
        lines = classes(runs, self.pieces.ends[at] - self.pieces.starts[at] - printed)
        held = 0
        good = sure & plan.verified.has(lines)
        unseen = np.flatnonzero(sure & ~good & ~plan.verified.lacks(lines))
        for _ in range(max(_MOST_HELD, len(at) // 8)):
            if not len(unseen):
                break
            one, unseen = unseen[:1], unseen[1:]
            agrees, together = self._agrees(plan, flags, at, columns, int(one[0])), plan.verified.together
            plan.verified.add(lines.of(one), agrees)
            held += agrees
            if plan.verified.together != together:
                good &= plan.verified.has(lines)
            good[one] = agrees
            fine = (plan.verified.has if agrees else plan.verified.lacks)(lines.of(unseen))
            good[unseen[fine]] = agrees
            unseen = unseen[~fine]
        own = np.flatnonzero(good)
        if not held or shape.is_rest:
            # One line of each page is read in both ways, more of what is no line as most of its shape are.
            each = _EACH_OF_REST if shape.is_rest else max(1, len(own))
            some = own[self.page.first_line % each :: each]
            if not all(self._agrees(plan, flags, at, columns, place) for place in some.tolist()):
                shape.alone = True
                return [], at[:0], at[:0]
        if len(own) < len(at):
            columns = [{place: values[own] for place, values in filled.items()} for filled in columns]
        planned = [(flags, plan, at[own], columns)] if len(own) else []
        return planned, at[~sure], at[sure & plan.verified.lacks(lines)]

    def _agrees(self, plan: ReadingPlan, flags: int, at: Ints, columns: list[Filled], place: int) -> bool:
        """The plan says of a piece what readers say."""
        found = self._ask(flags, self.pieces[int(at[place])])
        return found is not None and plan.says(found, columns, place)

    def _add_planned(self) -> None:
        """Adds what plans made of the page."""
        rows = [
            (turn, output, at, columns[turn])
            for _, plan, at, columns in self.planned
            for turn, output in enumerate(plan.outputs)
        ]
        # Of one line in the order in which they stand there.
        rows.sort(key=lambda row: row[0])
        for beside in (False, True):
            of = [row for row in rows if row[1].beside == beside]
            if not of:
                continue
            at = np.concatenate([at for _, _, at, _ in of])
            line = self.pieces.line[at]
            found: dict[str, Any] = {name: _together(of, place) for place, name in enumerate(NUMBERS)}
            if self.times is not None:
                written = found["time_ms"] == _WRITTEN_MS
                found["time_ms"] = np.where(written, self.times[line], found["time_ms"])
            counts = [len(own) for _, _, own, _ in of]
            for place, name in enumerate(TEXTS):
                texts = [output.texts[place] for _, output, _, _ in of]
                found[name] = texts[0] if len(set(texts)) == 1 else Repeated(texts, counts)
            into = self.rows.beside if beside else self.rows
            found |= {"line": line + self.page.first_line, "part": self.pieces.part[at]}
            into.add_columns(self.page.stream, self.page.node, len(at), found)
            for _, output, every, filled in of:
                kind = output.texts[1], output.texts[4]
                if beside and not counts_steps(kind[1]):
                    continue
                if kind[0] not in BARS:
                    if self._wants(kind):
                        self._offer(kind, every)
                    continue
                step, total = (
                    np.broadcast_to(filled.get(place, output.constants[place]), len(every)) for place in (_STEP, _TOTAL)
                )
                drawn = step != 0
                for each in np.unique(total[drawn]).tolist():
                    if self._wants((*kind, f"{each:g}")):
                        own = np.isnan(total) if math.isnan(each) else total == each
                        self._offer((*kind, f"{each:g}"), every[drawn & own])

    def _wants(self, kind: Kind) -> bool:
        """Whether a line of the page may stay as an example."""
        return self.examples.wants(kind, (self.page.stream, self.page.first_line), -1)

    def _offer(self, kind: Kind, at: Ints) -> None:
        """Offers lines that a plan read as examples."""
        for place in np.flatnonzero(np.diff(self.pieces.line[at], prepend=-1))[:EACH].tolist():
            where, part = self._where(int(at[place]))
            if self.examples.wants(kind, where, part):
                self.examples.offer(kind, where, part, self._fragment(int(at[place])).text)

    def _add_events(self, flags: int, plan: ReadingPlan, at: Ints) -> None:
        """Adds the events of lines that a plan read."""
        if plan.events is not None:
            self._add_told(plan.events, flags, at, plan.bare)
            return
        for each in at.tolist():
            fragment = self._fragment(each)
            readers = self.everybody or readers_of(self.pieces[each], bool(flags & TABULAR))
            found = [event for read in readers.events for event in self.failures.read(read, fragment.text) or ()]
            if found:
                self._add_event(fragment, each, 0, found)

    def _add_told(self, events: Sequence[PlannedEvent], flags: int, at: Ints, bare: bool) -> None:
        """Adds the events that each of some lines tells, ``bare`` ones without wrapping."""
        lines: dict[bytes, _Lines] = {}
        for told in events:
            few = self.events.enough_of(told.kind)
            some = at
            if told.kind in SAID_ONCE and told.text is not None and bare:
                some = self._each_once([part for part in told.text if isinstance(part, int)], at)
            elif few is not None and len(at) > 2 * few and (told.text is not None or not flags & HEX):
                some = np.concatenate((at[:few], at[-few:]))
            key = some.tobytes()
            if key not in lines:
                lines[key] = self._lines(some, bare)
            *where, times, ranks, hosts, texts = lines[key]
            if told.kind in EPOCH_LINES:
                times = list(map(one_line.or_stamp_ms, times, texts))
            said = zip(*where, times, ranks, hosts, repeat(told.kind), map(told.text_of, texts), strict=False)
            self.events.add_all(map(EventRow._make, said), of=len(at))

    def _each_once(self, runs: Sequence[int], at: Ints) -> Ints:
        """Of bare lines of one shape the first one with these numbers."""
        if not runs:
            return at[:1]
        here = self._first[at] + np.array(runs)[:, None]
        numbers = np.concatenate([self._runs.values[here], self._runs.widths[here]])
        return at[np.sort(np.unique(numbers, axis=1, return_index=True)[1])]

    def _lines(self, at: Ints, bare: bool) -> _Lines:
        """What is known of lines whatever they tell."""
        page, line = self.page, self.pieces.line[at]
        written = [None] * len(at) if page.times_ms is None else [page.times_ms[each] for each in line.tolist()]
        texts, times = self.pieces.texts(at), written
        ranks: Iterable[int | None] = repeat(None)
        hosts: Iterable[str] = repeat("")
        if not bare:
            found = list(without_wrapping(texts, self.pieces.plain))
            texts, ranks, hosts = (
                [each.text for each in found],
                [each.rank for each in found],
                [each.host for each in found],
            )
            times = list(map(one_line.event_ms, found, written))
        elif page.times_ms is None:
            times = list(map(written_at_ms, texts))
        numbers, parts = (line + page.first_line).tolist(), self.pieces.part[at].tolist()
        return repeat(page.stream), repeat(page.node), numbers, parts, times, ranks, hosts, texts

    def _add_event(self, fragment: Fragment, at: int, part: int, found: list[tuple[str, str]]) -> None:
        page, line = self.page, int(self.pieces.line[at])
        time_ms = one_line.event_ms(fragment, page.times_ms[line] if page.times_ms else None)
        where = (page.stream, page.node, line + page.first_line, int(self.pieces.part[at]) + part)
        for kind, text in found:
            at_ms = one_line.or_stamp_ms(time_ms, fragment.text) if kind in EPOCH_LINES else time_ms
            self.events.add_all([EventRow(*where, at_ms, fragment.rank, fragment.host, kind, text)])

    def _read_alone(self, at: Ints, flags: NDArray[np.uint8]) -> None:
        """Reads pieces one by one."""
        page, pieces = self.page, self.pieces
        steps: list[tuple[Place, Reading]] = []
        beside: list[tuple[Place, Reading]] = []
        for each, flag, line, first in zip(
            at.tolist(), flags[at].tolist(), pieces.line[at].tolist(), pieces.part[at].tolist(), strict=True
        ):
            readers = self.everybody or readers_of(pieces[each], bool(flag & TABULAR))
            if not any(readers):
                continue
            try:
                found = fragments(pieces.text(each), pieces.plain)
            except Exception as error:
                self.failures.add(fragments, error)
                continue
            for part, fragment in enumerate(found, start=first):
                known = one_line.read(fragment, page.times_ms[line] if page.times_ms else None, readers, self.failures)
                where = (line + page.first_line, part)
                for writer, reading in known.beside:
                    beside.append(((*where, *writer), reading))
                    if counts_steps(reading.bar):
                        self.examples.offer((reading.format, reading.bar), (page.stream, where[0]), part, fragment.text)
                for writer, reading in known.steps:
                    steps.append(((*where, *writer), reading))
                    if reading.step or reading.format not in BARS:
                        kind: Kind = reading.format, reading.bar
                        if reading.format in BARS:
                            kind = *kind, f"{math.nan if reading.total is None else reading.total:g}"
                        self.examples.offer(kind, (page.stream, where[0]), part, fragment.text)
                if known.events:
                    self._add_event(fragment, each, part - first, known.events)
        if beside:
            self.rows.beside.add(page.stream, page.node, *zip(*beside, strict=True))
        self._add(steps)

    def _add(self, found: list[tuple[Place, Reading]]) -> None:
        page = self.page
        try:
            if found:
                self.rows.add(page.stream, page.node, *zip(*found, strict=True))
        except (OverflowError, TypeError, ValueError):
            # A number that no column holds, from a reader that did not bound it.
            for place, reading in found:
                try:
                    self.rows.add(page.stream, page.node, [place], [reading])
                except (OverflowError, TypeError, ValueError) as error:
                    self.failures.add(Rows.add, error)

    def _fragment(self, at: int) -> Fragment:
        (fragment,) = fragments(self.pieces.text(at), self.pieces.plain)
        return fragment

    def _where(self, at: int) -> tuple[Where, int]:
        return (self.page.stream, int(self.pieces.line[at]) + self.page.first_line), int(self.pieces.part[at])


def _together(rows: Sequence[_Row], place: int) -> Floats | float:
    """What outputs have for one of the numbers, one behind the other; one number where all have the same."""
    if not any(place in filled for _, _, _, filled in rows):
        constants = np.array([output.constants[place] for _, output, _, _ in rows])
        if (constants == constants[0]).all() or np.isnan(constants).all():
            return float(constants[0])
    return np.concatenate(
        [
            filled[place] if place in filled else np.full(len(at), output.constants[place])
            for _, output, at, filled in rows
        ]
    )
