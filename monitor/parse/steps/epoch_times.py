"""Steps whose reports tell no time share that of their epoch, which a line behind them tells, a clock of the run, or the stamps
of the lines that name epochs; where no steps are reported an epoch's is told as that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from monitor.model import LEFT_OUT
from monitor.parse.columns import Floats, last_digit
from monitor.parse.events.epochs import (
    ELAPSED,
    EPOCH_LINES,
    EPOCH_MEAN,
    EPOCH_PACE,
    EPOCH_SHARE,
    EPOCH_TIME,
    EPOCH_TOLD,
    EPOCH_TOOK,
    EPOCHS_ONLY,
    PASSED,
)
from monitor.parse.lines.stamps import FIRST_INSTANT_MS, unwrapped
from monitor.parse.rows import EventRow
from monitor.parse.steps import witness
from monitor.parse.steps.timing import Reports
from monitor.parse.table import At, Readings

# So many reports of an epoch tell its steps within a tenth.
_FEWEST_OF_EPOCH = 5
# So many times its last digit passes between two looks at a clock that is read within a twentieth.
_TICKS = 20
# A clock that begins again shows so many laps each time, the first of them at most so many times as long as the others.
_FEWEST_LAPS, _LONG_LAP = 3, 3.0
_FEWEST_OF_DAY, _AN_HOUR_S = 4, 3600.0
# So many epochs have a time of their own where what stands below their heads tells it.
_NEARLY_ALL = 0.8
# A line that names an epoch and has a time of its own.
_HEAD = "head"
# So many of the lines begin again where trainings run side by side.
_SOME = 0.2


def time_by_epochs(reports: Reports, events: Sequence[EventRow]) -> dict[str, float]:
    """Gives reports without a time their epoch's, shared by its steps; by format the median."""
    table, told = reports.table, _told(events)
    untold = [at for at in reports.kept if len(at) and np.isnan(reports.time_s[at]).all()] if told else []
    found: dict[str, list[float]] = {}
    for (stream, name), parts in _by_stream_and_format(table, untold).items():
        at = np.concatenate(parts)
        at = at[np.argsort(table.line[at], kind="stable")]
        lines, before, spans = table.line[at], (0, 0.0), told.get(stream, [])
        # "Batch 0/8" of each epoch: the next report would be beyond its end.
        begins = len(at) > 1 and not table.step[at].any()
        if (
            spans
            and not spans[0].sure
            and not _begin_again(table.step[at], np.searchsorted(lines, [s.line for s in spans]))
        ):
            continue
        for span in spans:
            own = at[before[0] : int(np.searchsorted(lines, span.line))]
            steps_of = _total_of_each if begins else _steps_of_run if span.of_run else _steps_of_epoch
            if span.seconds > 0 and (steps := steps_of(table, own, before[1])) is not None:
                reports.time_s[own], reports.kind[own] = span.seconds / steps, table.code("running-mean")
                found.setdefault(name, []).append(span.seconds / steps)
            before = before[0] + len(own), float(table.step[own[-1]]) if len(own) else before[1]
    return {name: float(np.median(times)) for name, times in found.items()}


def _begin_again(step: Floats, ends: At) -> bool:
    """The count begins again behind each of these places."""
    inner = np.unique(ends[(ends > 0) & (ends < len(step))])
    return bool(len(inner)) and bool((step[inner] < step[inner - 1]).all())


def epochs_only(events: Sequence[EventRow], by_bar: Sequence[EventRow] = ()) -> list[EventRow]:
    """At the first of the lines that tell of epochs how many there are, and what one takes as it is printed, or else by the
    lines' own clock; of less than two epochs nothing. What lines do not tell bars may.
    """
    lines, bars = _epochs(events), _epochs(by_bar)
    return [*(lines or bars)[:1], *(lines[1:] or bars[1:])]


def number_of_epochs(events: Sequence[EventRow]) -> int:
    """How many epochs the lines of a writer name, of all trainings one after the other, at most."""
    writers: dict[tuple[str, int | None], list[EventRow]] = {}
    for row in _numbered(events):
        writers.setdefault((row.stream, row.rank), []).append(row)
    return max(map(_count, writers.values()), default=0)


def _numbered(events: Iterable[EventRow]) -> list[EventRow]:
    return [row for row in events if row.kind in EPOCH_LINES and row.text.isdecimal()]


def _epochs(events: Sequence[EventRow]) -> list[EventRow]:
    """How many epochs are told, and what one takes where that is."""
    told = _numbered(events)
    timed = [row for row in events if row.kind == EPOCH_TIME]
    epochs = _count(told)
    if any(row.kind == LEFT_OUT and row.text.endswith(tuple(EPOCH_LINES)) for row in events):
        epochs = max(epochs, _count_by_numbers(told))
    if epochs < 2:
        told = timed
        epochs = sum(_same_writer(row, told[0]) for row in told)
    if epochs < 2:
        return []
    first = told[0] if (told[0].time_ms or 0) >= FIRST_INSTANT_MS else told[0]._replace(time_ms=None)
    found = [first._replace(kind=EPOCHS_ONLY, text=str(epochs))]
    of_one = [row for row in told if _same_writer(row, told[0])]
    # Of several lines of an epoch the first: the others tell of its evaluation mostly.
    of_one = [row for at, row in enumerate(of_one) if not at or row.text != of_one[at - 1].text]
    number = np.array([float(row.text) for row in of_one])
    took: tuple[str, float] | None
    if (printed_s := _printed_s(of_one, told, events)) is not None:
        took = EPOCH_TOOK, printed_s
    elif _are_at_once(number):
        return [found[0]._replace(text=str(max(epochs, len(of_one))))]
    else:
        took = _passed_between(of_one, number, events)
    return found if took is None else [*found, first._replace(kind=took[0], text=f"{took[1]:g}")]


def _printed_s(of_one: Sequence[EventRow], told: Sequence[EventRow], events: Sequence[EventRow]) -> float | None:
    """What an epoch takes as lines print it: of each, or of all of them."""
    timed = [row for row in events if row.kind == EPOCH_TIME]
    printed = [row for row in timed if _same_writer(row, timed[0])] or _below(of_one, events)
    if len(printed) > 1:
        return float(np.nanmedian(_each_s(printed, told)))
    means = [row for row in events if row.kind == EPOCH_MEAN and _same_writer(row, told[0])]
    return float(means[-1].text) if means else None


def _passed_between(of_one: Sequence[EventRow], number: Floats, events: Sequence[EventRow]) -> tuple[str, float] | None:
    """(kind, seconds) of what an epoch takes by the times of the lines, or else by what the whole training took."""
    time_ms = np.array([np.nan if row.time_ms is None else row.time_ms for row in of_one])
    grown, passed_s = np.diff(number), np.diff(unwrapped(time_ms)) / 1e3
    on = (grown > 0) & (passed_s > 0)
    if on.any():
        each_s = passed_s[on] / grown[on]
        usual_s = float(np.median(each_s))
        if witness.tick_s(time_ms) * _TICKS > usual_s:
            # What a clock of minutes shows is some of them more or less.
            near = (grown > 0) & (passed_s >= 0) & (passed_s <= _LONG_LAP * usual_s * grown)
            usual_s = float(passed_s[near].sum() / grown[near].sum())
        return EPOCH_PACE, usual_s
    shares_s = _shares(of_one, events)
    return (EPOCH_SHARE, float(np.median(shares_s))) if len(shares_s) else None


def _shares(told: Sequence[EventRow], events: Sequence[EventRow]) -> Floats:
    """For each epoch its share of what the training took that ends behind it; none where one has a single epoch."""
    ends = [row for row in events if row.kind == ELAPSED and _same_writer(row, told[0])]
    before = np.searchsorted([row.line for row in told], [row.line for row in ends])
    epochs = np.diff(before, prepend=0)
    if not len(ends) or epochs.min() < 2:
        return np.empty(0)
    return np.repeat([float(row.text.split()[0]) for row in ends] / epochs, epochs)


def _below(heads: Sequence[EventRow], events: Sequence[EventRow]) -> list[EventRow]:
    """The times that stand between the heads of epochs, where nearly each of these has one of its own."""
    rows = [
        row._replace(text=row.text.split()[0])
        for row in events
        if row.kind in {PASSED, ELAPSED} and _same_writer(row, heads[0])
    ]
    place = np.searchsorted([row.line for row in heads], [row.line for row in rows], side="right")
    between = np.bincount(place, minlength=len(heads) + 1)
    return rows if (between == 1).sum() >= _NEARLY_ALL * len(heads) and len(rows) <= len(heads) + 1 else []


def _are_at_once(number: Floats) -> bool:
    """The numbers of one writer go back again and again, and not to where they began: of several trainings at once."""
    back = np.flatnonzero(np.diff(number) < 0) + 1
    return len(back) > _SOME * len(number) and float(np.median(number[back])) > number.min() + 1


def _each_s(printed: Sequence[EventRow], told: Sequence[EventRow]) -> Floats:
    """What an epoch takes by each line that prints a time; of a clock over the epochs since the line before, where these lines
    tell their numbers.
    """
    seconds = np.array([float(row.text) for row in printed])
    passed = laps(seconds, last_digit(seconds))
    if passed is seconds:
        return seconds
    number = {(row.stream, row.line): float(row.text) for row in told if row.text.isdecimal()}
    grown = np.diff([number.get((row.stream, row.line), np.nan) for row in printed], prepend=np.nan)
    return passed / np.where(grown > 1, grown, 1.0)


def _count(told: Sequence[EventRow]) -> int:
    """How many epochs there are, of all trainings that one writer tells of one after the other."""
    starts: list[set[int]] = [set()]
    lowest = before = -1
    for number in (int(row.text) for row in told if _same_writer(row, told[0])):
        # One that is resumed in the middle is the same training.
        if len(starts[-1]) > 1 and number != before and number <= lowest:
            starts.append(set())
        lowest = min(lowest, number) if starts[-1] else number
        starts[-1].add(number)
        before = number
    return max(len({row.text for row in told}), sum(map(len, starts)))


def _count_by_numbers(told: Sequence[EventRow]) -> int:
    """The same where most of the lines are not kept: those from the lowest to the highest number, as far apart as most are."""
    numbers = np.unique([int(row.text) for row in told])
    apart, often = np.unique(np.diff(numbers), return_counts=True)
    return int((numbers[-1] - numbers[0]) // apart[often.argmax()]) + 1 if len(apart) else len(numbers)


def epochs_of_bars(table: Readings, bars: Iterable[At]) -> list[EventRow]:
    """The last redraw of each count of bars over epochs as a line that tells which epoch was done, and what one took by the
    bar's rate.
    """
    found: list[EventRow] = []
    for at in bars:
        last = at[np.diff(table.step[at], append=np.nan) != 0]
        for place in last[table.step[last] >= 1].tolist():
            row = EventRow(
                str(table.texts[table.stream[place]]),
                str(table.texts[table.node[place]]),
                int(table.line[place]),
                int(table.part[place]),
                None,
                None,
                "",
                EPOCH_TOLD,
                f"{table.step[place]:.0f}",
            )
            found.append(row)
            if table.time_s[place] > 0:
                found.append(row._replace(kind=EPOCH_TIME, text=f"{table.time_s[place]:g}"))
    return found


def _same_writer(row: EventRow, other: EventRow) -> bool:
    return (row.stream, row.rank) == (other.stream, other.rank)


class _Passed(NamedTuple):
    """What a line tells of the time before it."""

    line: int
    seconds: float
    of_run: bool
    """It may be that of several epochs."""
    sure: bool = True
    """Else these are epochs' only where the count of the steps begins again behind each."""


def _told(events: Iterable[EventRow]) -> dict[str, list[_Passed]]:
    """The lines of each stream that tell what passed, of the surest kind that there is."""
    by_stream: dict[str, dict[str, list[EventRow]]] = {}
    for row in events:
        kind = _HEAD if row.kind in EPOCH_LINES else row.kind
        if kind in {EPOCH_TIME, ELAPSED, PASSED} or (kind == _HEAD and row.time_ms is not None):
            by_stream.setdefault(row.stream, {}).setdefault(kind, []).append(row)
    return {stream: _by_surest(by_kind) for stream, by_kind in by_stream.items()}


def _by_surest(by_kind: Mapping[str, Sequence[EventRow]]) -> list[_Passed]:
    """Of the lines of one stream, by their kinds."""
    if rows := by_kind.get(EPOCH_TIME):
        shown = np.array([float(row.text) for row in rows])
        each = laps(shown, last_digit(shown))
        return _passed_at(rows, each, of_run=each is not shown)
    if rows := by_kind.get(ELAPSED):
        shown, ticks = np.array([row.text.split() for row in rows], float).T
        return _passed_at(rows, laps(shown, ticks.max()), of_run=True)
    if rows := by_kind.get(PASSED):
        return _passed_at(rows, np.array([float(row.text) for row in rows]), of_run=False, sure=False)
    heads = list({row.line: row for row in by_kind[_HEAD]}.values())
    passed_ms = np.diff(unwrapped(np.array([row.time_ms for row in heads], float)), prepend=np.nan)
    return _passed_at(heads, passed_ms / 1e3, of_run=True)


def _passed_at(rows: Sequence[EventRow], seconds: Floats, of_run: bool, sure: bool = True) -> list[_Passed]:
    return [_Passed(row.line, each_s, of_run, sure) for row, each_s in zip(rows, seconds.tolist(), strict=True)]


def laps(seconds: Floats, tick_s: float) -> Floats:
    """What passed before each look at a clock of the run that counts in steps of ``tick_s``, and begins again where one
    training follows another, or of the day; the seconds as they are where they do not rise as a clock does.

    A clock that is coarse beside what passes is looked at over several laps.
    """
    shown = unwrapped(1000 * seconds) / 1000
    if tick_s >= 1 and _is_of_day(shown):
        return _passed(shown, tick_s)
    starts = np.flatnonzero(np.diff(seconds) < 0) + 1
    runs = np.split(seconds, starts)
    longest = max(runs, key=len)
    if not all(_rises(run) for run in runs if len(run) > 1 or run is longest):
        return seconds
    # What begins again does so seldom, and with a lap like the others.
    if starts.size and (
        len(seconds) < _FEWEST_LAPS * len(runs) or max(run[0] for run in runs) > _LONG_LAP * np.median(np.diff(longest))
    ):
        return seconds
    return np.concatenate([_passed(run, tick_s) for run in runs])


def _is_of_day(seconds: Floats) -> bool:
    """Whether these are times of day: no epochs take hours, and each as much longer than the one before."""
    each = np.diff(seconds)
    return (
        len(each) >= _FEWEST_OF_DAY
        and bool(seconds[0] >= _AN_HOUR_S)
        and bool((each > 0).all())
        and bool(each.max() <= _LONG_LAP * np.median(each))
    )


def _rises(seconds: Floats) -> bool:
    """Each look adds about as much as the first one showed."""
    return len(seconds) > 1 and bool(seconds[-1] >= seconds[0] * (1 + len(seconds)) / 2)


def _passed(seconds: Floats, tick_s: float) -> Floats:
    many = len(seconds)
    if many < 2:
        return seconds
    over = next((k for k in range(1, many) if np.median(seconds[k:] - seconds[:-k]) >= _TICKS * tick_s), many - 1)
    last = np.maximum(np.arange(many), over)
    out: Floats = (seconds[last] - seconds[last - over]) / over
    return out


def _by_stream_and_format(table: Readings, series: Iterable[At]) -> dict[tuple[str, str], list[At]]:
    found: dict[tuple[str, str], list[At]] = {}
    for at in series:
        key = str(table.texts[table.stream[at[0]]]), table.format_of(at)
        found.setdefault(key, []).append(at)
    return found


def _total_of_each(table: Readings, at: At, done: float) -> float | None:
    """How many steps epochs have of which each tells its first, and how many there are."""
    totals = table.epoch_total[at]
    return float(totals.sum()) if len(at) and (totals > 0).all() else None


def _steps_of_run(table: Readings, at: At, done: float) -> float | None:
    """How many steps are told in epochs whose counts begin again; None where of one that is not known."""
    parts = np.split(at, np.flatnonzero(np.diff(table.step[at]) <= 0) + 1)
    each = [_steps_of_epoch(table, part, done if part is parts[0] else 0.0) for part in parts]
    known = [steps for steps in each if steps is not None]
    return sum(known) if len(known) == len(each) else None


def _steps_of_epoch(table: Readings, at: At, done: float) -> float | None:
    """How many steps an epoch has, of which some are reported, after so many that were ``done`` before; None where too few are
    for that to be known, or several writers tell them.
    """
    steps = table.step[at]
    totals = np.where(np.isnan(table.total[at]), table.epoch_total[at], table.total[at])
    if not len(at) or np.isnan(steps).any() or (gaps := np.diff(steps)).min(initial=1) <= 0:
        return None
    if (totals == totals[0]).all():
        left = float(totals[0] - steps[-1])
        if len(at) > 1:
            most, from_begin = gaps[-1], steps[0] <= gaps[0]
        else:
            # It stands at the end, or another would stand beyond it, as before; of a count that went on less was done.
            most, from_begin = steps[0] - 1 if done >= steps[0] else 1, not 0 < done < steps[0]
        if from_begin and 0 <= left <= most:
            return float(totals[0])
        if len(at) > 1 and left > gaps[-1]:
            return None
    if len(at) < _FEWEST_OF_EPOCH:
        return None
    if steps[0] > done > 0:
        return float(steps[-1] - done)
    # The last report may be up to one interval from the end.
    interval = float(np.median(gaps))
    return float(steps[-1] + (1 if steps[0] == 0 and interval == 1 else 0 if steps[0] == 1 else interval / 2))
