"""What readers make of a line, learned as columns for all lines of its shape.

The readers are asked as they are, about one line and about the same line with one of its numbers changed at a time. What moves
in the answer tells how each field hangs on the numbers: not at all, as a sum of multiples (hours, minutes and seconds of a
clock), or as a rate (a quotient). What hangs on them otherwise, the month of a date say, belongs to the shape: lines with other
digits there have a plan of their own. A plan is good for numbers like those that were held against the readers: as many
digits, a zero in front or none, in the same order of size as their neighbors; lines with others are read one by one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.parse.columns import Floats
from monitor.parse.lines.stamps import DAY_MS
from monitor.parse.numbers import LONGEST_STEP_S, MOST_PROCESSES, SHORTEST_STEP_S
from monitor.parse.pages.answers import NUMBERS, Answer, Ask
from monitor.parse.pages.keyed import MOST_DIGITS, POWERS, RunsOfLines, decimal
from monitor.parse.pages.plan_events import PlannedEvent, as_printed
from monitor.parse.pages.plan_events import events as events_of
from monitor.parse.pages.verified import MOST_RUNS, Verified

_TIMES = {NUMBERS.index(name) for name in ("time_ms", "stamp_ms")}
_POSITIVE = {NUMBERS.index(name) for name in ("time_s", "throughput", "gpu_memory_gib")}
_PROCESSES = {NUMBERS.index(name) for name in ("rank", "local_rank", "task")}
_TIME_S, _STEP, _TOTAL = (NUMBERS.index(name) for name in ("time_s", "step", "total"))

_DIGITS = re.compile(rb"\d+")
_NUMBER = re.compile(rb"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
# A line with more numbers that belong to its shape has no plan.
_MOST_LITERALS = 6
_ALIKE = 1e-14
_NAN = math.nan
# Of a time of day: no more hours, minutes and seconds than these; a number of three digits is none of them.
_WITHIN = {DAY_MS / 24: 24, 60_000.0: 60, 1_000.0: 60}


class Number(NamedTuple):
    """A number of the line by its runs of digits."""

    run: int
    runs: int = 1
    """With a fraction and an exponent up to three."""
    exponent: int = 0
    """1 or -1 where the last run is one."""
    milli: bool = False
    """A fraction of a second, as milliseconds."""


class Cell(NamedTuple):
    """How a field hangs on numbers."""

    how: str
    """"sum": constant + factors * numbers; "over": number / constant; "under": constant / number; "ms": 1000 * number."""
    constant: float
    terms: tuple[tuple[Number, float], ...]


@dataclass(slots=True)
class Output:
    """One row of every line."""

    beside: bool
    texts: tuple[str, ...]
    constants: Floats
    cells: tuple[tuple[int, Cell], ...]


Filled = dict[int, Floats]
"""What an output has for each of some lines, by the place among ``NUMBERS``; for all the rest it has its constants."""


@dataclass(slots=True)
class ReadingPlan:
    """What all lines of one shape say."""

    outputs: tuple[Output, ...]
    events: tuple[PlannedEvent, ...] | None
    """None for events that take a look at each line."""
    bare: bool
    """The lines have no wrapping."""
    literals: tuple[int, ...]
    """Runs of digits that belong to the shape."""
    verified: Verified

    def columns(self, runs: RunsOfLines) -> tuple[list[Filled], NDArray[np.bool_]]:
        """Of each output the numbers of lines, and which lines they are good for."""
        sure = np.ones(runs.at.shape[1], bool)
        if not self.outputs:
            return [], sure
        known: dict[Number, Floats] = {}
        found = []
        with np.errstate(all="ignore"):
            for output in self.outputs:
                out: Filled = {}
                for place, cell in output.cells:
                    for number, _ in cell.terms:
                        if number not in known:
                            known[number] = _values(number, runs)
                    column = out[place] = _applied(cell, known)
                    for number, factor in cell.terms:
                        # Minutes and seconds of a clock, which its readers may have bounds for.
                        if any(other == 60 * factor for _, other in cell.terms):
                            sure &= known[number] < 60
                        elif place in _TIMES and factor in _WITHIN:
                            sure &= (known[number] < _WITHIN[factor]) | (known[number] >= 100)
                    if place in _POSITIVE:
                        least, most = (SHORTEST_STEP_S, LONGEST_STEP_S) if place == _TIME_S else (0.0, np.inf)
                        sure &= (column > least) & (column < most)
                    elif place in _PROCESSES:
                        sure &= column < MOST_PROCESSES
                total, step = (out.get(place, output.constants[place]) for place in (_TOTAL, _STEP))
                sure &= np.logical_not(total < step)
                found.append(out)
        return found, sure

    def says(self, found: Answer, columns: Sequence[Filled], line: int) -> bool:
        """Whether the readers' answer about a line is what the plan has for it."""
        rows = [output.constants.tolist() for output in self.outputs]
        for row, filled in zip(rows, columns, strict=True):
            for place, values in filled.items():
                row[place] = values.item(line)
        return (
            found.bare == self.bare
            and found.words == tuple((output.beside, *output.texts) for output in self.outputs)
            and all(_alike(*pair) for pairs in map(zip, found.numbers, rows) for pair in pairs)
            and (self.events is None or found.events == tuple(told.of(found.text) for told in self.events))
        )


def _values(number: Number, runs: RunsOfLines) -> Floats:
    """A number of each line."""
    page, at, values, widths, _ = runs
    first, last = number.run, number.run + number.runs - 1
    if number.milli:
        return np.asarray(values[first] * 1000 // POWERS[np.minimum(widths[first], MOST_DIGITS)], float)
    mantissa, digits = values[first], widths[first]
    decimals = np.zeros(at.shape[1], np.int64)
    for place in range(first + 1, last + 1 - abs(number.exponent)):
        decimals = np.minimum(widths[place], MOST_DIGITS)
        mantissa, digits = mantissa * POWERS[decimals] + values[place], digits + widths[place]
    if number.exponent:
        decimals = decimals - number.exponent * np.minimum(values[last], 400)
    out = decimal(mantissa, decimals)
    long = (digits > MOST_DIGITS) | (np.abs(decimals) > 22)
    if long.any():
        spans = zip(page.starts[at[first, long]].tolist(), page.ends[at[last, long]].tolist(), strict=True)
        out[long] = [float(page.page[start:end]) for start, end in spans]
    return out


def _applied(cell: Cell, known: dict[Number, Floats]) -> Floats:
    if cell.how == "sum":
        column = sum(known[number] * factor for number, factor in cell.terms)
        return column + cell.constant if cell.constant else column  # type: ignore[return-value]
    single: Floats = _single(cell, known[cell.terms[0][0]])
    return single


def _single(cell: Cell, x: Any) -> Any:
    if cell.how == "ms":
        return np.rint(1000 * x)
    return x / cell.constant if cell.how == "over" else cell.constant / x


@dataclass(slots=True)
class _Sample:
    line: bytes
    spans: list[tuple[int, int]]
    answer: Answer
    run: int = -1
    """The only run in which it differs from the first sample; -1 for a line of its own."""

    def value(self, number: Number) -> float:
        start, end = self.spans[number.run][0], self.spans[number.run + number.runs - 1][1]
        text = self.line[start:end]
        return float(int(text) * 1000 // 10 ** len(text)) if number.milli else float(text)


def usual(lines: Sequence[bytes], ask: Ask) -> int:
    """Which of a few lines of one shape says what most of them say; the first of equals."""
    answers = [ask(line) for line in lines]
    like = [sum(one is not None and other is not None and one.is_like(other) for other in answers) for one in answers]
    return like.index(max(like))


def learn(lines: Sequence[bytes], ask: Ask, counted: bool = True, few: Collection[int] = ()) -> ReadingPlan | None:
    """A plan for lines such as these, which are of one shape; None where there is none.

    It is made from the first; the others have to agree where their digits may differ. ``few`` are runs of digits that are
    never more than a few: one of them that alone makes another line of this one belongs to the shape. Where it is not
    ``counted`` how many runs of digits a line has they must hold no rows.
    """
    base = _sample(lines[0], ask)
    if base is None or len(base.spans) > MOST_RUNS:
        return None
    if not counted:
        answers = [ask(line) for line in lines]
        if base.answer.words or any(one is None or not one.is_like(base.answer) for one in answers):
            return None
        events = events_of([one for one in answers if one is not None])
        return ReadingPlan((), events, base.answer.bare, (), Verified(0))
    samples, literals = [base], set[int]()
    for run, (start, end) in enumerate(base.spans):
        for at, changed in enumerate(_changed(base.line, start, end)):
            one = _sample(changed, ask, run)
            if one is None or not one.answer.is_like(base.answer):
                literals.add(run)
                break
            samples.append(one)
            if not at and one.answer.numbers == base.answer.numbers:
                break
    for line in lines[1:]:
        if (one := _sample(line, ask)) is None:
            continue
        if one.answer.is_like(base.answer):
            samples.append(one)
        elif len(one.spans) == len(base.spans):
            literals |= {run for run in few if _makes_another(base, run, one, ask)}
    for _ in range(2):
        if len(literals) > _MOST_LITERALS:
            return None
        of_shape = [one for one in samples if one.run not in literals and _same(one, base, literals)]
        numbers = [
            number for number in _numbers(base.line) if not literals & set(range(number.run, number.run + number.runs))
        ]
        cells: list[list[tuple[int, Cell]]] = []
        strange = set[int]()
        for row, values in enumerate(base.answer.numbers):
            cells.append([])
            for place in range(len(values)):
                cell = _cell(row, place, of_shape, numbers)
                if isinstance(cell, set):
                    strange |= cell
                elif cell is not None:
                    cells[-1].append((place, cell))
        if not strange:
            break
        literals |= strange
    else:
        return None
    if -1 in literals:
        return None
    outputs = tuple(
        Output(words[0], words[1:], np.array(values), tuple(own))  # type: ignore[arg-type]
        for words, values, own in zip(base.answer.words, base.answer.numbers, cells, strict=True)
    )
    return ReadingPlan(
        outputs,
        events_of([one.answer for one in of_shape], partial(as_printed, base.line, base.answer, base.spans, ask)),
        base.answer.bare,
        tuple(sorted(literals)),
        Verified(len(base.spans)),
    )


def adapted(plan: ReadingPlan, line: bytes, ask: Ask) -> ReadingPlan | None:
    """The plan for lines of the same shape with other numbers that belong to it, as in this line; None if it has other rows."""
    one = _sample(line, ask)
    if one is None or len(one.answer.words) != len(plan.outputs) or one.answer.bare != plan.bare:
        return None
    outputs = []
    for output, words, values in zip(plan.outputs, one.answer.words, one.answer.numbers, strict=True):
        if (np.isnan(output.constants) != np.isnan(values)).any():
            return None
        cells = []
        for place, cell in output.cells:
            if cell.how == "sum":
                moved = sum(one.value(number) * factor for number, factor in cell.terms)
                constant = (
                    cell.constant if _alike(cell.constant + moved, values[place]) else _plain(values[place] - moved)
                )
                cell = cell._replace(constant=constant)
            cells.append((place, cell))
        if words[0] != output.beside:
            return None
        outputs.append(Output(output.beside, words[1:], np.array(values), tuple(cells)))  # type: ignore[arg-type]
    events = plan.events
    if events is not None:
        if len(events) != len(one.answer.events):
            return None
        said = zip(events, one.answer.events, strict=True)
        events = tuple(PlannedEvent(event[0], (event[1],)) if told.is_constant else told for told, event in said)
        if any(told.of(one.answer.text) != event for told, event in zip(events, one.answer.events, strict=True)):
            return None
    return ReadingPlan(tuple(outputs), events, plan.bare, plan.literals, Verified(plan.verified.runs))


def _sample(line: bytes, ask: Ask, run: int = -1) -> _Sample | None:
    found = ask(line)
    return None if found is None else _Sample(line, [match.span() for match in _DIGITS.finditer(line)], found, run)


def _makes_another(base: _Sample, run: int, other: _Sample, ask: Ask) -> bool:
    """With that run of digits of the other line, which is as long, it is another line."""
    (start, end), (first, last) = base.spans[run], other.spans[run]
    if base.line[start:end] == other.line[first:last] or end - start != last - first:
        return False
    found = ask(base.line[:start] + other.line[first:last] + base.line[end:])
    return found is not None and not found.is_like(base.answer)


def _same(one: _Sample, base: _Sample, literals: set[int]) -> bool:
    """The runs of digits that belong to the shape are the same."""
    if len(one.spans) != len(base.spans):
        return False
    return all(one.line[slice(*one.spans[run])] == base.line[slice(*base.spans[run])] for run in literals)


def _changed(line: bytes, start: int, end: int) -> Iterator[bytes]:
    """The line with another number of as many digits there: near the one that it has, and no zero."""
    places = [end - 1] if end - start < 4 else [start + 2, end - 1]
    yield _moved(line, start, end, places, 1)
    for at in places:
        yield _moved(line, start, end, [at], 2)


def _moved(line: bytes, start: int, end: int, places: Sequence[int], by: int) -> bytes:
    out = bytearray(line)
    for place in places:
        digit = line[place] - ord("0")
        # Down, since months, hours and minutes end; never to nothing.
        down = digit - by >= 0 and any(byte != ord("0") for byte in [*line[start:place], digit - by + ord("0")])
        out[place] = ord("0") + (digit - by if down else digit + by if digit + by < 10 else digit - 1)
    return bytes(out)


def _numbers(line: bytes) -> list[Number]:
    """The numbers of a line as they are printed nearly always."""
    found, run = [], 0
    for match in _NUMBER.finditer(line):
        text = match[0].lower()
        runs = len(_DIGITS.findall(text))
        found.append(Number(run, runs, 0 if b"e" not in text else -1 if b"e-" in text else 1))
        run += runs
    return found


def _cell(row: int, place: int, samples: Sequence[_Sample], numbers: Sequence[Number]) -> Cell | set[int] | None:
    """How a field hangs on numbers: None for not at all; of a way that no plan has the runs to be left to the shape, which
    are -1 where that does not help.
    """
    values = [one.answer.numbers[row][place] for one in samples]
    first = values[0]
    moved = {one.run for one, value in zip(samples, values, strict=True) if one.run >= 0 and not _alike(value, first)}
    if not moved:
        return None if all(_alike(value, first) for value in values) else {-1}
    whole = [number for number in numbers if moved & set(range(number.run, number.run + number.runs))]
    strange = {one.run for one, value in zip(samples, values, strict=True) if not math.isfinite(value)}
    if place in _TIMES and len(whole) > 1:
        strange |= {run for run in moved if _a_day(run, samples, values)}
    if strange:
        return strange if math.isfinite(first) else moved if len(moved) < 3 else {-1}
    parts = [Number(run, milli=_is_fraction(samples[0], run)) for run in sorted(moved)]
    for of in (parts, whole) if place in _TIMES else (whole, parts):
        for cell in _cells(of, samples, values):
            if all(_alike(value, _of_sample(cell, one)) for one, value in zip(samples, values, strict=True)):
                return cell
    return moved if len(moved) < 3 else {-1}


def _a_day(run: int, samples: Sequence[_Sample], values: Sequence[float]) -> bool:
    """A change of the run moves a time by a day or more: its months are not all alike."""
    return any(one.run == run and abs(value - values[0]) >= DAY_MS for one, value in zip(samples, values, strict=True))


def _is_fraction(one: _Sample, run: int) -> bool:
    start = one.spans[run][0]
    return run > 0 and one.spans[run - 1][1] == start - 1 and one.line[start - 1 : start] in (b".", b",")


def _cells(numbers: Sequence[Number], samples: Sequence[_Sample], values: Sequence[float]) -> Iterator[Cell]:
    """The ways in which a field may hang on these numbers, those first that are as exact as the readers are."""
    terms = []
    for number in numbers:
        runs = range(number.run, number.run + number.runs)
        moves = [
            (one.value(number) - samples[0].value(number), value - values[0])
            for one, value in zip(samples, values, strict=True)
            if one.run in runs
        ]
        by, to = max(moves, key=lambda move: abs(move[0]), default=(0.0, 0.0))
        if not by:
            return
        terms.append((number, _plain(to / by)))
    rest = values[0] - sum(samples[0].value(number) * factor for number, factor in terms)
    near = abs(rest) < 1e-9 * max(1.0, abs(values[0]))
    sums = Cell("sum", 0.0 if near else _plain(rest), tuple(terms))
    if len(numbers) != 1:
        yield sums
        return
    x = samples[0].value(numbers[0])
    ways = [sums]
    if x and values[0]:
        ways = [
            Cell("sum", 0.0, ((numbers[0], _plain(values[0] / x)),)),
            Cell("over", _plain(x / values[0]), ((numbers[0], 1.0),)),
            Cell("under", _plain(values[0] * x), ((numbers[0], 1.0),)),
            Cell("ms", 0.0, ((numbers[0], 1000.0),)),
            sums,
        ]
    exact = [
        cell for cell in ways if all(_of_sample(cell, one) == value for one, value in zip(samples, values, strict=True))
    ]
    yield from exact
    yield from ways


def _of_sample(cell: Cell, one: _Sample) -> float:
    if cell.how == "sum":
        return sum(one.value(number) * factor for number, factor in cell.terms) + cell.constant
    x = one.value(cell.terms[0][0])
    return float(_single(cell, np.float64(x))) if x else _NAN


def _plain(value: float) -> float:
    """The factor that a program has rather than what is left of it after a calculation."""
    return float(f"{value:.12g}") if abs(value) < 1e9 else float(round(value))


def _alike(value: float, other: float) -> bool:
    return value == other or (value != value and other != other) or math.isclose(value, other, rel_tol=_ALIKE)
