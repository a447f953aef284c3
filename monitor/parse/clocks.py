"""Step times out of what was printed: clocks are differenced, rates are held against the clock beside them.

Functions take the reports of ONE series (one writer, one format, one segment) in order and give a time per report,
NaN where none can be told.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# A difference of whole seconds is off by up to one second; over this many ticks that is 10 %.
_TICKS = 10
# A clock never falls; fewer reports than this could rise by chance, and must then grow like a clock too.
_SURELY_A_CLOCK = 12


def is_clock(values: Floats) -> bool:
    """True if ``values`` are readings of a clock: they never fall, and grow as time passing would make them.

    Step times that happen to rise do not grow by the size of a step each time.
    """
    values = values[~np.isnan(values)]
    if len(values) < 2:
        return False
    rises = np.diff(values)
    if (rises < 0).any() or values[-1] <= values[0]:
        return False
    rising_share = float((rises > 0).mean())
    if len(values) >= _SURELY_A_CLOCK:
        # Times of steps do not rise a dozen times in a row; a clock does, even after a first step of minutes.
        return rising_share == 1.0 or (rising_share > 0.5 and bool(values[-1] >= 1.5 * values[0]))
    return rising_share > 0.5 and bool(values[-1] >= min(len(values), 4) * 0.6 * values[0])


def differenced(steps: Floats, clock: Floats, tick_s: float, before: float) -> Floats:
    """Seconds per step between a report and the nearest earlier one that is far enough away for the clock's ticks.

    ``before`` is the number of steps done when the clock stood at 0 if the series began there, NaN if unknown: it
    gives the first report its mean. Equal readings, and readings that fell, give NaN.
    """
    out = np.full(len(clock), np.nan)
    enough_s = tick_s * _TICKS
    base = 0
    for i in range(len(clock)):
        if i == 0:
            if not np.isnan(before) and steps[0] > before and clock[0] > 0:
                out[0] = clock[0] / (steps[0] - before)
            continue
        elapsed, done = clock[i] - clock[i - 1], steps[i] - steps[i - 1]
        if elapsed < enough_s:
            while base + 1 < i and clock[i] - clock[base + 1] >= enough_s:
                base += 1
            # Nothing is far enough yet: the widest span there is, if it is wide at all.
            elapsed, done = clock[i] - clock[base], steps[i] - steps[base]
            if elapsed < min(enough_s, 3 * tick_s):
                continue
        if elapsed > 0 and done > 0:
            out[i] = elapsed / done
    return out


def steps_before_first(steps: Floats) -> float:
    """Steps done when the loop's clock stood at 0, if the series starts at the loop's start; else NaN.

    A loop that prints every k steps prints first at k (counted from 1) or k-1 (from 0); one that was resumed does not.
    """
    if len(steps) < 2:
        return -1.0 if len(steps) and steps[0] == 0 else float("nan")
    interval = float(np.min(np.diff(steps)[np.diff(steps) > 0], initial=np.inf))
    if steps[0] == interval - 1:
        return -1.0
    return 0.0 if steps[0] == interval else float("nan")


def samples_per_step(steps: Floats, clock: Floats, rate: Floats, tick_s: float) -> float:
    """Samples in one step by which the printed rates (samples/s) agree with the clock; NaN if the clock is too short.

    The median over spans of some twenty ticks: a checkpoint or an evaluation inside one of them does not move it.
    """
    ratios: list[float] = []
    predicted, start = 0.0, 0
    for i in range(1, len(clock)):
        if np.isnan(rate[i]) or rate[i] <= 0 or steps[i] <= steps[i - 1]:
            predicted, start = 0.0, i
            continue
        predicted += (steps[i] - steps[i - 1]) / rate[i]
        if clock[i] - clock[start] >= 2 * _TICKS * tick_s:
            ratios.append((clock[i] - clock[start]) / predicted)
            predicted, start = 0.0, i
    if len(ratios) < 3:
        usable = (rate[1:] > 0) & (np.diff(steps) > 0)
        total = float((np.diff(steps)[usable] / rate[1:][usable]).sum())
        elapsed = float(np.diff(clock)[usable].sum())
        return elapsed / total if total > 0 and elapsed >= 5 * tick_s else float("nan")
    return float(np.median(ratios))


def by_rate_and_clock(steps: Floats, clock: Floats, rate: Floats, tick_s: float) -> tuple[Floats, NDArray[np.bool_]]:
    """(seconds per step, True where the clock gave it).

    The rate is finer than a clock of whole seconds, but its unit needs the batch size, which may be unknown or wrong:
    it is scaled to the clock, and where the two still disagree by more than rounding, the clock wins.
    """
    by_clock = differenced(steps, clock, tick_s, steps_before_first(steps))
    samples = samples_per_step(steps, clock, rate, tick_s)
    if np.isnan(samples):
        return by_clock, ~np.isnan(by_clock)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_rate = np.where(rate > 0, samples / rate, np.nan)
    before = steps_before_first(steps)
    done = np.diff(steps, prepend=before)
    elapsed = np.diff(clock, prepend=0.0)
    # Of a first report in the middle of a run nothing is known but its rate.
    agree = (np.abs(by_rate * done - elapsed) <= tick_s) | np.isnan(done)
    use_rate = agree & ~np.isnan(by_rate)
    out = np.where(use_rate, by_rate, by_clock)
    return out, ~use_rate & ~np.isnan(out)
