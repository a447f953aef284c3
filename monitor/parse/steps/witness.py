"""What does the clock of the lines say about a step's time? Where none is printed it gives it; where one is, it is the witness.

Functions take the reports of ONE series (one writer, one format, one segment) in order: the steps, which do not fall, and
when each line was written. Programs write through buffers, so that lines come in bursts: a burst's last line is the one
that was written when it says so, and times are taken from one such line to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from monitor.parse.columns import Floats, last_digit
from monitor.parse.numbers import LONGEST_STEP_S

# Lines of one burst are written within this time of one another ...
_AT_ONCE_MS = 20
# ... and all that lies within bursts is less than this share of the whole; else steps are just as short.
_WITHIN_BURSTS = 0.1
# Lines that all come faster than this were kept back and written together: nothing is known of when each was due.
_FASTEST_MS = 2
# A time over so many ticks of the clock is told to 10 %; a witness needs half of them.
_TICKS = 10
# Over fewer it may be wrong by half.
_FEWEST_TICKS = 3
_FEWEST_WINDOWS = 3
_FEWEST_BY_TURNS = 8
# Where more reports than this have the moment of the one before, the clock ticks no faster than they come.
_SHARED = 0.25
# Printed and clock agree within this factor: a mean over other steps than those between two lines is off by so much.
_AGREES = 1.5
_NEAR = 1.25
# Nobody saves or evaluates as long after every report, and does not say so.
_MANY_TIMES = 3.0
# Times of single steps scatter so much where they are no measure of the others.
_SCATTERED = 1.4
# What is rounded by more is worth less than the clock.
_COARSE = 0.1
# Up to this share of reports that say a step again it is no habit of the log.
_TOLD_AGAIN = 0.2
# A clock that says more than what is printed may have seen a pause; so steady a factor in every gap is none.
_STEADY = 1.3
#: Nobody logs more seldom: a counter that jumps further counts samples or tokens, and what is printed is a step's.
LARGEST_GAP = 5_000
_UNITS = (1e-9, 1e-6, 1e-3, 1 / 3600, 1 / 60, 60.0, 3600.0, 1e3, 1e6)

Cause = Literal["", "interval", "unit", "accumulation", "writers", "clock", "untold", "shared"]


@dataclass(frozen=True, slots=True)
class ClockVerdict:
    """What the clock says about the printed times of a series."""

    cause: Cause = ""
    """What explains that they differ; "" where they agree, or where nothing can be told. "untold": what is printed is one
    step's or that of all since the report before, and neither clock nor anything else tells which; "shared": reports print no
    time, and have that of their epoch, or of the training, which another line tells."""
    factor: float = 1.0
    """The printed times times this are seconds of one step; 1 where ``cause`` is "" or "clock"."""
    ratio: float = float("nan")
    """The clock's seconds of a step over the printed ones, the median; NaN where the clock cannot tell."""


def tick_s(at_ms: Floats) -> float:
    """The unit in which times are written: a minute, a second, or a power of ten below it; 0 for a millisecond."""
    known_ms = np.unique(at_ms[~np.isnan(at_ms)].astype(np.int64))
    if len(known_ms) < 2:
        return 0.0
    return next((unit / 1000 for unit in (60_000, 1000, 100, 10) if (known_ms % unit == 0).all()), 0.0)


def _shared_s(at_ms: Floats) -> float:
    """How far apart the moments are that reports share with others, which a clock does that ticks more slowly than it prints;
    0 where few share one.
    """
    gaps = np.diff(at_ms)
    if not len(gaps) or (gaps == 0).mean() <= _SHARED:
        return 0.0
    return float(np.median(gaps[gaps > 0])) / 1000 if (gaps > 0).any() else 0.0


def line_times(steps: Floats, at_ms: Floats) -> Floats:
    """Seconds of one step at each report: since the report before, over the steps between them; NaN where none is told.

    Reports of one step (of several ranks) have the same time. Of the first one nothing is known, and of a burst its mean.
    A clock of whole seconds, or one whose ticks several reports share, is read over some ten of them, which steps of many
    seconds take anyway.
    """
    out = np.full(len(steps), np.nan)
    lead = _leads(steps, at_ms)
    if len(lead) < 2:
        return out
    since = _since_first(steps, at_ms, lead)
    ends = _ends(since)
    printed_s = tick_s(at_ms)
    unit_s = max(printed_s, _shared_s(since[ends]))
    done, clock = steps[lead][ends], (since[ends] - since[ends[0]]) / 1000
    of_end = np.append(np.nan, _over(np.diff(clock), np.diff(done)))
    coarse = unit_s >= 1.0 or unit_s > printed_s
    if coarse and clock[-1] < _FEWEST_TICKS * unit_s:
        return out
    if coarse:
        of_end = _over_ticks(done, clock, of_end, _TICKS * unit_s)
    of_end[of_end >= LONGEST_STEP_S] = np.nan
    of_lead = of_end[np.searchsorted(ends, np.arange(len(lead)))]
    # A report repeats the step of the nearest one before it that began a step.
    place = np.searchsorted(lead, np.arange(len(steps)), side="right") - 1
    known = (place >= 0) & ~np.isnan(at_ms)
    known[known] &= steps[known] == steps[lead][place[known]]
    out[known] = of_lead[place[known]]
    return out


@dataclass(frozen=True, slots=True)
class Observed:
    """Windows of one series, each from the end of one burst to the end of a later one."""

    elapsed_s: Floats
    """By the clock."""
    predicted_s: Floats
    """By what is printed, as seconds of one step."""
    sums_s: Floats
    """By what is printed, as seconds of all the steps since the report before."""
    paused: NDArray[np.bool_]
    """There was a checkpoint or an evaluation in it."""
    usual_gap: float
    """Steps between two reports, the median."""
    each_report: bool = False
    """Most windows go from one report to the next."""
    steps: Floats = field(default_factory=lambda: np.empty(0))
    """Done in each window."""


def observed(steps: Floats, printed_s: Floats, at_ms: Floats, pauses_ms: Floats) -> Observed | None:
    """The windows of a series; None where its clock tells nothing.

    ``printed_s`` are the seconds of one step as they were read, ``pauses_ms`` the moments of checkpoints and evaluations.
    """
    lead = _leads(steps, at_ms)
    lead = lead[~np.isnan(printed_s[lead])]
    if len(lead) < 2:
        return None
    clock, gaps = at_ms[lead[0]] + _since_first(steps, at_ms, lead), np.diff(steps[lead])
    cuts = _windows(clock, _ends(clock), 1000 * _TICKS / 2 * tick_s(at_ms))
    if len(cuts) < 2:
        return None
    summed = np.append(0.0, np.cumsum(printed_s[lead][1:] * gaps))
    plain = np.append(0.0, np.cumsum(printed_s[lead][1:]))
    paused = np.zeros(len(cuts) - 1, np.bool_)
    held = np.searchsorted(clock[cuts], pauses_ms)
    paused[held[(held > 0) & (held < len(cuts))] - 1] = True
    return Observed(
        np.diff(clock[cuts]) / 1000,
        np.diff(summed[cuts]),
        np.diff(plain[cuts]),
        paused,
        float(np.median(gaps)),
        2 * len(cuts) > len(lead),
        np.diff(steps[lead][cuts]),
    )


def rounding(printed: Floats) -> float:
    """How far what is printed may be off by its last digit, as a share of it; "0.1" is off by half."""
    printed = printed[np.isfinite(printed) & (printed > 0)]
    if not len(printed):
        return 0.0
    return 0.5 * last_digit(printed) / float(np.median(printed))


def _of_a_step(series: Sequence[Observed]) -> tuple[Floats, Floats]:
    """(by the clock, by what is printed) the seconds of one step in each window of which both tell it."""
    done = np.concatenate([one.steps for one in series])
    of_clock = _over(np.concatenate([one.elapsed_s for one in series]), done)
    of_print = _over(np.concatenate([one.predicted_s for one in series]), done)
    known = np.isfinite(of_clock) & np.isfinite(of_print)
    return of_clock[known], of_print[known]


def _sampled(series: Sequence[Observed]) -> bool:
    """True where one step in many is timed, by times that scatter, while the clock, which saw all of them, goes on steadily."""
    of_clock, of_print = _of_a_step(series)
    return _scatter(of_print) > _SCATTERED and _scatter(of_clock) <= _STEADY


def _by_turns(series: Sequence[Observed]) -> bool:
    """True where what is printed scatters many times as much as the clock: now of a step that waited for data, now of one that
    did not.
    """
    of_clock, of_print = _of_a_step(series)
    return len(of_clock) >= _FEWEST_BY_TURNS and _scatter(of_print) > _MANY_TIMES * _scatter(of_clock)


def _scatter(each_s: Floats) -> float:
    """How many times as long as one of the short ones one of the long ones is."""
    low, high = np.quantile(each_s, [0.25, 0.75]).tolist()
    return float(high / low)


def verdict(
    series: Sequence[Observed], accumulation: int | None = None, writers: int = 1, off: float = 0.0, alone: bool = False
) -> ClockVerdict:
    """What the clock says of the series of one format.

    Units, sums over the steps between two reports, micro-batches (``accumulation`` of them make a step) and counters that
    several ``writers`` share differ by known factors. Of any other the clock is right where it is shorter than what is
    printed, which no pause can explain, where all differ by the same and each step is reported or it is many times, or
    where three of four differ by so much that no pause between reports explains it. What is printed may be ``off`` by that
    share by its rounding: then the clock tells more. Where each printed time is of one step ``alone``, of many, a steady
    clock tells more than times that scatter, and one that is mostly shorter.
    """
    if not series:
        return ClockVerdict()
    elapsed = np.concatenate([one.elapsed_s for one in series])
    ratios = _over(elapsed, np.concatenate([one.predicted_s for one in series]))
    sums = _over(elapsed, np.concatenate([one.sums_s for one in series]))
    known = np.isfinite(ratios)
    if off > _COARSE and known.any():
        middle = float(np.median(ratios[known]))
        # Of times that are rounded up and down in turn the middle may be off where that of the ratios is not.
        by_clock_s, by_print_s = (float(np.median(each_s)) for each_s in _of_a_step(series))
        apart = max(abs(middle - 1), abs(by_clock_s / by_print_s - 1))
        if 1 - off <= middle <= 1 / max(1 - off, 1e-9) and apart > _COARSE:
            return ClockVerdict("clock", 1.0, middle)
    if known.sum() < _FEWEST_WINDOWS:
        return ClockVerdict()
    low, middle, high = np.quantile(ratios[known], [0.25, 0.5, 0.75]).tolist()
    usual_gap = float(np.median([one.usual_gap for one in series]))
    paused = float(np.concatenate([one.paused for one in series]).mean())
    single = alone and usual_gap > _MANY_TIMES and 1 / _MANY_TIMES < middle < _MANY_TIMES
    if single and (high < 1 - _COARSE or _sampled(series)):
        return ClockVerdict("clock", 1.0, middle)
    if usual_gap > _MANY_TIMES and _by_turns(series):
        return ClockVerdict("clock", 1.0, middle)
    least, of_sum, most = np.quantile(sums[known], [0.25, 0.5, 0.75]).tolist()
    # PaddleOCR divides the sum of an interval by the longest one's steps, also where an epoch's end cuts one short.
    if usual_gap > 1 and of_sum > _AGREES and high / low - 1 > max(_STEADY - 1, _MANY_TIMES * (most / least - 1)):
        return ClockVerdict("clock", 1.0, middle)
    if (low <= _AGREES and high >= 1 / _AGREES) or (middle > 1 and paused >= 0.5):
        return ClockVerdict(ratio=middle)
    # What is printed may leave out an evaluation after every report.
    as_sum = usual_gap > 1 and 1 / _NEAR <= of_sum <= (_AGREES if usual_gap > _MANY_TIMES else _NEAR)
    if as_sum and usual_gap > LARGEST_GAP:
        return ClockVerdict(ratio=middle)
    if as_sum:
        return ClockVerdict("interval", 1 / usual_gap, middle)
    for unit in _UNITS:
        if _is_near(middle, unit):
            return ClockVerdict("unit", unit, middle)
    if accumulation is not None and accumulation > 1 and _is_near(middle, float(accumulation)):
        return ClockVerdict("accumulation", float(accumulation), middle)
    if writers > 1 and _is_near(middle, 1 / writers):
        return ClockVerdict("writers", 1 / writers, middle)
    steady = high <= _STEADY * low and (usual_gap == 1 or middle > _MANY_TIMES)
    always = low > _MANY_TIMES and all(one.each_report for one in series)
    if middle < 1 or steady or always:
        return ClockVerdict("clock", 1.0, middle)
    return ClockVerdict(ratio=middle)


def _leads(steps: Floats, at_ms: Floats) -> NDArray[np.intp]:
    """Places of the first report of each step, of those that have a time."""
    known = ~np.isnan(steps) & ~np.isnan(at_ms)
    highest = np.maximum.accumulate(np.where(known, steps, -np.inf))
    return np.flatnonzero(known & (highest > np.append(-np.inf, highest[:-1])))


def _since_first(steps: Floats, at_ms: Floats, lead: NDArray[np.intp]) -> Floats:
    """Milliseconds at each of ``lead`` since the first of them, without the time for which a step stood.

    Where ranks write into one stream each step is told several times, at once. A step that is told again alone, and late,
    is one from which a run began again, or that was followed by other work.
    """
    at: Floats = at_ms[lead]
    if len(steps) - len(lead) > _TOLD_AGAIN * len(steps):
        return np.asarray(at - at[0])
    place = np.searchsorted(lead, np.arange(len(steps)), side="right") - 1
    again = (place >= 0) & ~np.isnan(at_ms)
    again[again] &= steps[again] == steps[lead][place[again]]
    left = at.copy()
    left[place[again]] = at_ms[again]  # the last one counts
    stood = np.where(left - at > np.median(np.diff(at)) / 2, left - at, 0.0)
    out: Floats = at - at[0] - np.append(0.0, np.cumsum(stood)[:-1])
    return out


def _ends(at_ms: Floats) -> NDArray[np.intp]:
    """Places of the last report of each burst; each report is its own where lines do not come in bursts."""
    gaps = np.diff(at_ms)
    close = gaps <= _AT_ONCE_MS
    whole = float(at_ms[-1] - at_ms[0])
    if close.all() and whole < _FASTEST_MS * len(gaps):
        return np.array([len(at_ms) - 1])
    if not close.any() or float(np.maximum(gaps[close], 0.0).sum()) > _WITHIN_BURSTS * whole:
        return np.arange(len(at_ms))
    return np.append(np.flatnonzero(~close), len(at_ms) - 1)


def _over_ticks(done: Floats, clock: Floats, plain: Floats, enough_s: float) -> Floats:
    """``plain`` where the clock moved far enough; else the mean since the nearest report that is, on this side of a pause.

    Where none is as far back, it is that up to the first that is far enough, or of all that lies between two pauses.
    """
    far = np.diff(clock, prepend=-np.inf) >= enough_s
    if far[1:].all():
        return plain
    out, begins = plain.copy(), np.append(np.flatnonzero(far), len(clock))
    for begin, end in pairwise(begins.tolist()):
        if end - begin < 2:
            continue
        now, count = clock[begin:end], done[begin:end]
        base = np.searchsorted(now, now - enough_s, side="right") - 1
        first = int(np.argmax(base >= 0)) if (base >= 0).any() else end - begin - 1
        base[:first], ahead = 0, np.arange(end - begin)
        ahead[:first] = first
        mean = _over(now[ahead] - now[base], count[ahead] - count[base])
        out[begin + 1 : end] = np.where(np.isnan(mean), plain[begin:end], mean)[1:]
    return out


def _windows(clock: Floats, ends: NDArray[np.intp], shortest_ms: float) -> NDArray[np.intp]:
    """Those of ``ends`` that lie at least so far apart."""
    if not shortest_ms:
        return ends
    cuts, newest = [int(ends[0])], float(clock[ends[0]])
    for place in ends[1:].tolist():
        if clock[place] - newest >= shortest_ms:
            cuts.append(place)
            newest = float(clock[place])
    return np.array(cuts, np.intp)


def _is_near(ratio: float, factor: float) -> bool:
    return factor / _NEAR <= ratio <= factor * _NEAR


def _over(elapsed: Floats, done: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((elapsed > 0) & (done > 0), elapsed / done, np.nan)
