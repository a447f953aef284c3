"""Which rows of a table are reports of a step, and what each says of its time: as printed, by a printed clock, by the lines'.

Each series (one writer, one format, one segment) is read by itself first. Then all series of a format are held against the
clock of their lines, and what that refutes is read anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from monitor.parse.columns import Floats
from monitor.parse.events.evaluated import Evaluated
from monitor.parse.lines.stamps import unwrapped
from monitor.parse.rows import LEFT, EventRow
from monitor.parse.steps import clocks, witness
from monitor.parse.steps.sample_counts import batch_of_fraction
from monitor.parse.steps.witness import ClockVerdict, Observed
from monitor.parse.table import At, Codes, Readings

LINE_CLOCK = "line-clock"
# First reports contain tracing, compilation and allocation; they are marked while they are this much slower than usual.
WARM_UP_RATIO = 1.5
WARM_UP_MOST = 20
# A mean over more than the steps between two lines is not refuted by those.
_LONG_MEANS = frozenset({"running-mean", "smoothed"})
_MEANS = frozenset({"interval", "running-mean", "smoothed", "either"})
_OPEN = frozenset({"either", "stopwatch"})
_LONG_S = 60.0
_PRINTED = frozenset({"step", "interval"})
UNSURE = ("unnamed", "bare")
"""Numbers without a name that may be a clock."""
_WEAK = (LEFT, "time-of-day", *UNSURE)
# A rate that may be off by more, such as "0.2 it/s", tells no time.
_UNTOLD = 0.24
#: Formats whose numbers are what their names say.
GENERIC = frozenset({"key-value", "json"})
# Their "step" is what the submitter chose, or samples of the epoch.
_OF_SAMPLES = frozenset({"mllog", "pytorch-mnist", "open-clip", "learned-samples", "cyclegan"})
# Their counter is the data loader's: it counts micro-batches, and the time is of one.
_OF_LOADER = frozenset({"metriclogger"})
_PAUSES = frozenset({"checkpoint-begin", "checkpoint-end", "evaluation-begin", "evaluation-end"})
# So many series of a format are held against the clock: they all say the same.
_MOST_SERIES = 200
# So many reports of a segment tell whether their times are a clock's.
_TELLING = 4
# No program reports as often.
_TOO_OFTEN_S = 0.05
# A first report that is so many times slower than usual is none: its clock began before it.
_FROM_ITS_BEGIN = 100.0
# Lines of a source that takes them in as they come are not often at once.
_MOST_AT_ONCE = 0.3


@dataclass(frozen=True, slots=True)
class Timing:
    """How the times of one format were come by."""

    format: str
    verdict: ClockVerdict
    printed_s: float
    """The median of what is printed, as it was read at first; NaN where none is."""
    clock_s: float
    """The median by the clock of the lines; NaN where they have none."""
    resolution_s: float
    """Of one time by the clock: a tick of it over the steps between two reports; NaN where no time is the clock's."""
    each: float = 1.0
    """How far the counter of its reports moves on with a step: more than 1 where it goes by samples."""


@dataclass(slots=True)
class Reports:
    """What is told of the rows of a table, as columns."""

    table: Readings
    pauses_ms: Mapping[str, Floats] = field(default_factory=lambda: MappingProxyType({}))
    """Of each stream, the moments of checkpoints and evaluations."""
    accumulation: int | None = None
    """Micro-batches of a step, where the log says how many."""
    samples: int | None = None
    """Samples of a step, where the log says how many."""
    epochs: list[At] = field(default_factory=list)
    """Redraws of bars that count epochs, of writers that have no other."""
    kept: list[At] = field(default_factory=list)
    open: list[At] = field(default_factory=list)
    """Reports whose times are of one step or of all since the report before: nothing that they print tells which."""
    time_s: Floats = field(init=False)
    kind: Codes = field(init=False)
    """Codes into the table's texts."""
    segment: Codes = field(init=False)
    warm_up: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        size = len(self.table)
        self.time_s, self.kind = np.full(size, np.nan), np.zeros(size, np.int32)
        self.segment, self.warm_up = np.zeros(size, np.int32), np.zeros(size, np.bool_)

    def micro_batches(self, name: str) -> int:
        """How many of what a format counts and times make a step, as far as the log says so."""
        return self.accumulation or 1 if name in _OF_LOADER else 1

    def keep(self, at: At, time_s: Floats, kind: int | Codes, segment: int) -> None:
        """Adds the reports of one segment with their times as printed."""
        self.kept.append(at)
        self.time_s[at] = time_s
        self.kind[at] = kind
        self.segment[at] = segment

    def add(self, parts: Sequence[At]) -> None:
        """Adds the reports of one writer by its segments, whose times are told by what they print together."""
        if not parts:
            return
        at = np.concatenate(parts)
        if len(at) == len(parts) >= _TELLING and clocks.in_proportion(self.table.step[at], self.table.time_s[at]):
            for segment, one in enumerate(parts):
                self.keep(one, self.table.time_s[one] / self.table.step[one], self.table.code("cumulative"), segment)
            return
        sums = _are_sums(self.table, parts, self.samples)
        # A clock of the run goes on where a counter of the epoch begins again.
        whole = np.concatenate([self.table.time_s[at] for at in parts])
        clock = len(parts) > 1 and (clocks.is_clock(whole) or _are_clocks(self.table, parts))
        if not any((self.table.epoch[at] == 0).any() for at in parts):
            for at in parts:  # epochs are counted from 1
                self.table.put(at, epochs=self.table.epochs[at] + 1)
        # Times that are no step's, nor a clock's that anything is counted by; of one report alone minutes may be all that passed.
        goes_on = any((np.diff(_counted(self.table, at)) > 0).any() for at in parts)
        alone = len(whole) == 1 and bool(self.table.step[parts[0]][0] > 1 and whole[0] > _LONG_S)
        untold = not goes_on and (alone or not clocks.are_alike(whole))
        between = _between_means(self.table, parts)
        segment = 0
        for turn, at in enumerate(parts):
            of_means = (between[turn], self.table.code("interval")) if between else None
            goes_on_here = turn > 0 and _clock_goes_on(self.table, parts[turn - 1], at)
            times, kind = of_means or printed_times(self.table, at, sums is True, clock, not goes_on_here)
            if untold and str(self.table.texts[self.table.meaning[at[0]]]) in _OPEN:
                times = np.full(len(at), np.nan)
            if isinstance(kind, int) and kind == self.table.code("either"):
                kind = self.table.code("interval")
                if sums is None:
                    self.open.append(at)
            self.keep(at, times, kind, segment)
            if _once_an_epoch(self.table, at):
                self.segment[at] += np.arange(len(at))
                segment += len(at) - 1
            segment += 1

    def settle(self, evaluated: Evaluated) -> tuple[Timing, ...]:
        """Holds all series against the clock of their lines, and marks warm-up; how the times of each format were come by."""
        table = self.table
        by_format: dict[int, list[At]] = {}
        for at in self.kept:
            if len(at):
                by_format.setdefault(int(table.format[at[0]]), []).append(at)
        found = [self._held(str(table.texts[code]), series, evaluated) for code, series in by_format.items()]
        for at in self.kept:
            self.warm_up[at[: _warm_up(self.time_s[at])]] = True
        return tuple(sorted(found, key=lambda timing: timing.format))

    def _held(self, name: str, series: Sequence[At], evaluated: Evaluated) -> Timing:
        table = self.table
        printed = np.concatenate([self.time_s[at] for at in series])
        printed_s = float(np.nanmedian(printed)) if (~np.isnan(printed)).any() else float("nan")
        told = ClockVerdict()
        kinds = {str(table.texts[code]) for at in series for code in np.unique(self.kind[at])}
        off = witness.rounding(self._as_printed(series)) if kinds <= _PRINTED else 0.0
        if off > _UNTOLD and self._by_rate(series) and printed_s > 1.0:
            for at in series:
                self.time_s[at] = np.nan
            printed_s = float("nan")
        if printed_s == printed_s and not kinds <= _LONG_MEANS:
            seen = [one for at in series[:_MOST_SERIES] if (one := self._observed(at)) is not None]
            alone = kinds == {"step"}
            told = witness.verdict(seen, self.accumulation, len(series_writers(table, series)), off, alone)
        if (micro_batches := self.micro_batches(name)) > 1:
            told = ClockVerdict("accumulation", float(micro_batches), float(micro_batches))
        if told.ratio != told.ratio and (settled := self._settled(series)) is not None:
            told = settled
        by_clock: list[Floats] = []
        ticks: list[float] = []
        moves: list[float] = []
        for at in series:
            if told.factor != 1.0:
                self.time_s[at] *= told.factor
                if told.cause == "interval":
                    self.kind[at] = table.code("interval")
            each = self._each(at)
            if _counts_epochs(table, at) or (done := self._done(at, each)) is None:
                continue
            # What is left of the run is an estimate, a number without a name no more, and a time of day is of whole seconds:
            # the clock of the lines tells more.
            weak = np.isin(table.meaning[at], [table.code(meaning) for meaning in _WEAK])
            untold = np.isnan(self.time_s[at]).all() or bool(weak.any())
            if (told.cause == "clock" or untold) and (at_ms := written_ms(table, at)) is not None:
                stream = str(table.texts[table.stream[at[0]]])
                at_ms = evaluated.left_out(stream, at_ms)
                times = witness.line_times(done, at_ms)
                if not np.isnan(times).all():
                    moves.append(each)
                    self.time_s[at], self.kind[at] = times, table.code(LINE_CLOCK)
                    by_clock.append(times)
                    gaps = np.diff(done)
                    ticks.append(
                        witness.tick_s(at_ms) / max(1.0, float(np.median(gaps[gaps > 0])) if (gaps > 0).any() else 1.0)
                    )
        clock_s = float(np.nanmedian(np.concatenate(by_clock))) if by_clock else printed_s * told.ratio
        return Timing(
            name,
            told,
            printed_s,
            clock_s,
            float(np.median(ticks)) if ticks else float("nan"),
            np.median(moves) if moves else 1.0,
        )

    def _settled(self, series: Sequence[At]) -> ClockVerdict | None:
        """What is likelier of times that nothing tells of; those of which neither reading is are taken away.

        A report alone, behind a restart of the counter, is read as the others are: what it may be a sum of is not known.
        """
        ours = [at for at in series if any(at is one for one in self.open)]
        if not ours:
            return None
        alone = [at for at in series if len(at) == 1]
        gaps = np.concatenate([np.diff(_counted(self.table, at)) for at in ours])
        usual_gap = float(np.median(gaps))
        named = any((self.table.meaning[at] == self.table.code("stopwatch")).any() for at in ours)
        sums = clocks.likelier_of_intervals(np.concatenate([self.time_s[at] for at in ours]), usual_gap, named)
        for at in alone if sums is not False else ():
            self.time_s[at] = np.nan
        if sums is None:
            for at in ours:
                self.time_s[at] = np.nan
            return ClockVerdict("untold")
        if sums:
            for at in ours:
                self.time_s[at] = clocks.shared(_counted(self.table, at), self.time_s[at], usual_gap)
        return None

    def _done(self, at: At, each: float) -> Floats | None:
        """The steps done at each report, by how far a step moves the counter; None where that does not tell them."""
        if np.isnan(each):
            return None
        return _counted(self.table, at) if each == 1.0 else np.ceil(self.table.step[at] / each)

    def _each(self, at: At) -> float:
        """How far the counter moves on with a step: 1, or the samples of a batch; NaN where that is not known."""
        if not np.isnan(batch := batch_of_fraction(self.table, at)):
            return batch
        if not _counts_samples(self.table, at):
            return 1.0
        if not self.samples or self.table.format_of(at) not in _OF_SAMPLES:
            return np.nan
        return self.samples if (np.diff(self.table.step[at] / self.samples) % 1 == 0).all() else np.nan

    def _by_rate(self, series: Sequence[At]) -> bool:
        """The times are those of printed rates of steps."""
        known = np.concatenate([at[~np.isnan(self.time_s[at])] for at in series])
        return bool(len(known)) and bool((self.table.throughput_unit[known] == self.table.code("it/s")).all())

    def _as_printed(self, series: Sequence[At]) -> Floats:
        """The times as they were printed, or the rates."""
        column = self.table.throughput if self._by_rate(series) else self.time_s
        return np.concatenate([column[at] for at in series])

    def _observed(self, at: At) -> Observed | None:
        at_ms = written_ms(self.table, at)
        if at_ms is None:
            return None
        if (done := self._done(at, self._each(at))) is None:
            return None
        pauses = self.pauses_ms.get(str(self.table.texts[self.table.stream[at[0]]]), np.empty(0))
        return witness.observed(done, self.time_s[at], at_ms, pauses)


def series_writers(table: Readings, series: Sequence[At]) -> set[tuple[int, int, int]]:
    """Who wrote them: stream, rank, host."""
    return {(int(table.stream[at[0]]), int(table.rank[at[0]]), int(table.host[at[0]])) for at in series}


def pauses_of(events: Iterable[EventRow]) -> dict[str, Floats]:
    """The moments of checkpoints and evaluations, in milliseconds, of each stream."""
    found: dict[str, list[float]] = {}
    for row in events:
        if row.kind in _PAUSES and row.time_ms is not None:
            found.setdefault(row.stream, []).append(float(row.time_ms))
    return {stream: np.sort(np.array(moments)) for stream, moments in found.items()}


def written_ms(table: Readings, at: At) -> Floats | None:
    """When each row was written, in milliseconds; None where that is not known of two rows.

    It is the source's time, or the one that the line prints where the source's shows that lines were taken in together.
    """
    if len(at) < 2:
        return None
    source, own = table.time_ms[at], table.stamp_ms[at]
    known = ~np.isnan(own)
    if known.mean() > 0.5 and (np.isnan(source).mean() > 0.5 or _at_once(source)):
        source = own.copy()
        source[known] = unwrapped(own[known])
    return source if (~np.isnan(source)).sum() > 1 else None


def _at_once(ms: Floats) -> bool:
    gaps = np.diff(ms[~np.isnan(ms)])
    return len(gaps) > 2 and float((gaps <= 1).mean()) > _MOST_AT_ONCE


def _counts_epochs(table: Readings, at: At) -> bool:
    """What is reported is the end of each epoch, counted as a step: the time between two is an epoch's."""
    return bool((table.step[at] == table.epoch[at]).all()) and len(at) > 1


def _counts_samples(table: Readings, at: At) -> bool:
    """The counter goes by samples or tokens: how many steps lie between two reports is not known."""
    gaps = np.diff(table.step[at])
    named = table.format_of(at) in _OF_SAMPLES and bool((gaps > 1).any())
    return named or (len(gaps) > 0 and float(np.median(gaps)) > witness.LARGEST_GAP)


def _once_an_epoch(table: Readings, at: At) -> bool:
    """Each epoch is told once, at the same step of it: the counter begins again with each report."""
    return len(at) > 1 and bool(((np.diff(table.step[at]) == 0) & (np.abs(np.diff(table.epoch[at])) > 0)).all())


def _counted(table: Readings, at: At) -> Floats:
    """The steps done at each report; where each stands at the end of an epoch, those of all epochs so far."""
    steps, epochs = table.step[at], table.epoch[at]
    if _once_an_epoch(table, at) and steps[0] > 0 and (np.diff(epochs) == 1).all():
        steps = steps * (epochs - epochs[0] + 1)
    return steps


def _are_sums(table: Readings, parts: Sequence[At], samples: int | None) -> bool | None:
    """Whether times that may be sums of all steps since the report before are that; None where nothing tells."""
    known = [at[~np.isnan(table.time_s[at])] for at in parts]
    told = [
        (
            *(_counted(table, at), table.time_s[at], table.total[at], table.left_s[at]),
            np.where(table.throughput_unit[at] == table.code("it/s"), np.nan, table.throughput[at]),
        )
        for at in known
        if len(at) > 1
    ]
    with np.errstate(divide="ignore", invalid="ignore"):
        return clocks.are_of_intervals(told, samples) if told else False


def _between_means(table: Readings, parts: Sequence[At]) -> list[Floats]:
    """For each segment the means of the steps between two reports, where the times beside them are of few steps and no measure
    of the others; else nothing.
    """
    if any(np.isnan(table.mean_s[at]).any() for at in parts):
        return []
    found = [clocks.between_means(table.step[at], table.time_s[at], table.mean_s[at]) for at in parts]
    of_few = clocks.are_of_few(np.concatenate([table.time_s[at] for at in parts]), np.concatenate(found))
    return found if of_few else []


def _are_clocks(table: Readings, parts: Sequence[At]) -> bool:
    """Most segments that are long enough to tell show a clock; so do the others."""
    told = [
        clocks.is_clock(table.time_s[at], float(table.clock_tick_s[at].max())) for at in parts if len(at) >= _TELLING
    ]
    return bool(told) and sum(told) > len(told) / 2


def _clock_goes_on(table: Readings, before: At, at: At) -> bool:
    """What a segment shows of a clock may go on from the one before it: it did not stand at nothing where the counter began."""
    shown = ((column[before][-1], column[at][0]) for column in (table.clock_s, table.time_s))
    return any(first >= last for last, first in shown)


def printed_times(
    table: Readings, at: At, sums: bool = False, of_run: bool = False, began: bool = True
) -> tuple[Floats, int | Codes]:
    """(seconds of one step, kind of each) by what the reports of one segment print; ``either`` where that is open, unless
    what may be ``sums`` is, or the clock ``of_run``. Unless the clock ``began`` with the segment its first report tells
    nothing.
    """
    steps, times, clock = _counted(table, at), table.time_s[at], table.clock_s[at]
    # A first line without a time says nothing about how the times of the others are meant.
    told = np.flatnonzero(~np.isnan(times))
    meaning = str(table.texts[table.meaning[at[told[0] if len(told) else 0]]])
    meaning = "either" if meaning == "stopwatch" else meaning
    tick_s = float(table.clock_tick_s[at].max())
    if (table.meaning[at] == table.code(LEFT)).any():
        left = np.where(table.meaning[at] == table.code(LEFT), clock, np.nan)
        if not np.isnan(table.epoch_total[at]).any():
            counts = steps, table.epoch[at], table.epoch_total[at], table.epochs[at]
            return clocks.by_remaining_epochs(*counts, left, tick_s), table.code("running-mean")
        return clocks.by_remaining(steps, table.total[at], left, tick_s), table.code("running-mean")
    gaps = np.diff(steps)
    usual_gap = float(np.median(gaps)) if len(gaps) else np.nan
    before = clocks.steps_before_first(steps) if began else np.nan
    if (table.meaning[at] == table.code("unnamed")).any():
        meaning = "step"
        clock = clock if clocks.ticks(np.diff(clock)[gaps == usual_gap], clock) else np.full(len(at), np.nan)
    if (table.meaning[at] == table.code("bare")).any():
        meaning = "step"
        clock = clock if clocks.is_clock(clock, tick_s) else np.full(len(at), np.nan)
    if (
        meaning == "time-of-day"
        and len(rises := np.diff(clock[~np.isnan(clock)]))
        and clock[0] > _FROM_ITS_BEGIN * np.median(rises)
    ):
        # It did not stand at nothing where the counter began.
        clock = clock - clock[0]
    if _once_an_epoch(table, at) and steps[0] > 1 and (clock > 0).all() and clocks.are_alike(clock):
        return clock / table.step[at], table.code("running-mean")
    if clocks.begins_anew(clock):
        # "0:00:04.250", of each report
        times, clock, meaning = np.where(np.isnan(times), clock, times), np.full(len(at), np.nan), "either"
    if not np.isnan(clock).all() and _is_mean(table, at, meaning):
        # A total that never falls tells more than a mean beside it.
        since = clocks.differenced(steps, clock, tick_s, before)
        if not clocks.is_clock(clock, tick_s):
            since = np.full(len(at), np.nan)
        known = ~np.isnan(since)
        if known.any() or meaning != "either":
            rest = np.full(len(at), np.nan) if meaning == "either" else times
            kinds = np.where(known, table.code("cumulative"), table.code("step" if meaning == "either" else meaning))
            return np.where(known, since, rest), kinds.astype(np.int32)
        clock = since
    if not np.isnan(clock).all():
        rated = times
        times, from_clock = clocks.by_rate_and_clock(steps, clock, table.throughput[at], tick_s, before)
        # One report alone has nothing to be differenced with; the rate it prints is what there is.
        times = np.where(np.isnan(times) & (len(at) == 1), rated, times)
        mean = meaning == "interval" and usual_gap > 1.0
        by_rate = table.code("interval" if mean else "step")
        return times, np.where(from_clock, table.code("cumulative"), by_rate)
    if meaning == "clock" and clocks.begins_anew(times):
        meaning = "either"
    if meaning == "step" and table.format_of(at) in GENERIC and clocks.is_clock_of_another_name(times):
        meaning = "clock"
    if meaning == "either" and usual_gap == 0 and clocks.is_clock(times[fresh := np.append(True, gaps != 0)], tick_s):
        # Several writers, whom nothing tells apart, report each step.
        each = clocks.differenced(steps[fresh], times[fresh], tick_s, before)
        return each[np.cumsum(fresh) - 1], table.code("cumulative")
    if meaning == "clock" or (meaning == "either" and (of_run or clocks.is_clock(times, tick_s))):
        times, kind = clocks.differenced(steps, times, tick_s, before), "cumulative"
        known = times[~np.isnan(times)]
        if meaning == "either" and usual_gap > 1.0 and len(known) and np.median(known) * usual_gap < _TOO_OFTEN_S:
            times = np.full(len(at), np.nan)  # hours or minutes, without saying so
    elif meaning == "span":
        times = clocks.shared(steps, times, usual_gap)
        kind = "step" if usual_gap == 1.0 else "interval"
        rateless = at[np.isnan(table.throughput[at]) & ~np.isnan(times)]
        table.throughput[at] = np.where(np.isnan(table.throughput[at]), 1.0 / times, table.throughput[at])
        table.throughput_unit[rateless] = table.code("it/s")
    elif meaning in {"interval", "either"}:
        if meaning == "either" and sums:
            times = clocks.shared(steps, times, usual_gap)
        is_open = meaning == "either" and usual_gap > 1.0 and not sums
        kind = "step" if usual_gap == 1.0 else "either" if is_open else "interval"
    else:
        kind = meaning
    return times, table.code(kind)


def _is_mean(table: Readings, at: At, meaning: str) -> bool:
    """The reports of a generic format print a mean beside their clock, and no rate of steps."""
    generic = table.format_of(at) in GENERIC
    return generic and meaning in _MEANS and not (table.throughput_unit[at] == table.code("it/s")).any()


def _warm_up(times_s: Floats) -> int:
    """How many of a segment's first reports contain tracing, compilation or allocation."""
    if np.isfinite(times_s).sum() < 2:
        return 0
    first = times_s[: min(WARM_UP_MOST, len(times_s) // 2)]
    usual = first <= WARM_UP_RATIO * float(np.nanmedian(times_s))
    slow = ~np.isnan(first)[: int(usual.argmax()) if usual.any() else len(first)]
    return int(np.flatnonzero(slow)[-1]) + 1 if slow.any() else 0
