"""Step times from what was printed: clocks are differenced, rates are checked against the clock next to them.

Functions take the reports of ONE series (one writer, one format, one segment) in order and give a time per report,
NaN where none can be told.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from monitor.parse.columns import Floats

# A difference of whole seconds is off by up to one second; over this many ticks that is 10 %.
_TICKS = 10
# A clock never falls; fewer reports than this could rise by chance, and must then grow like a clock too.
_SURELY_A_CLOCK = 12
_RISES_OF_A_TICKING_CLOCK = 4
_EVEN = 1.3
_FAR_INTO_A_RUN_S = 60.0
# A clock that begins again and again goes from nearly nothing to twice its middle.
_ALIKE = 1.6
# So many reports after fewer or more steps than usual show whether a printed time is of them all.
_FEWEST_GAPS = 3
# So many estimates of what is left show whether they are of the steps that are left.
_FEWEST_LEFT = 5
_NEAR = 1.2


def is_clock(values: Floats, tick_s: float = 0.0) -> bool:
    """True if ``values`` are readings of a clock: they never fall, and grow as time passing would make them.

    Step times that happen to rise do not grow by the size of a step each time. A clock of whole seconds
    (``tick_s`` 1.0) may stand for several reports.
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
        if rising_share == 1.0 or (tick_s and int((rises > 0).sum()) >= _RISES_OF_A_TICKING_CLOCK):
            return True
        return rising_share > 0.5 and bool(values[-1] >= 1.5 * values[0])
    # Out of the middle of a run: large readings that grow by even amounts.
    even = len(rises) >= 3 and rising_share == 1.0 and bool(rises.max() <= _EVEN * rises.min())
    if even and values[0] >= _FAR_INTO_A_RUN_S and values[-1] >= 1.1 * values[0]:
        return True
    return rising_share > 0.5 and bool(values[-1] >= min(len(values), 4) * 0.6 * values[0])


def is_told_anew(values: Floats) -> bool:
    """True if ``values``, called a clock's, are each of one report: they fall again and again, and differ little."""
    values = values[~np.isnan(values)]
    if len(values) < 4 or (np.diff(values) < 0).sum() < 2:
        return False
    usual = float(np.median(values))
    return bool(values.max() <= _ALIKE * usual and usual <= _ALIKE * values.min())


def are_sums(steps: Floats, times: Floats) -> bool:
    """True if the times are of all the steps since the report before: they grow with these, where some reports are missing.

    Of reports that always come after as many steps nothing is told so.
    """
    gaps, since = np.diff(steps), times[1:]
    usual_gap = float(np.median(gaps)) if len(gaps) else 0.0
    known = (gaps > 0) & (since > 0)
    usual, other = known & (gaps == usual_gap), known & (gaps != usual_gap)
    if usual_gap <= 1 or other.sum() < _FEWEST_GAPS or usual.sum() < _FEWEST_GAPS:
        return False
    usually = float(np.median(since[usual]))
    off = np.abs(np.log(since[other] / usually))
    shared_off = np.abs(np.log(since[other] / gaps[other] * usual_gap / usually))
    return bool(np.median(shared_off) < np.log(_EVEN) and np.median(off) > np.log(_ALIKE))


def by_remaining(steps: Floats, total: Floats, left: Floats) -> Floats:
    """Seconds of one step by what is left of a run; NaN where that does not come down to nothing with the steps that are left.

    So an estimate for all epochs beside a counter within one of them tells nothing.
    """
    out = np.full(len(steps), np.nan)
    to_do = total - steps
    known = (to_do > 0) & (left > 0)
    if known.sum() < _FEWEST_LEFT:
        return out
    each = left[known] / to_do[known]
    usual = float(np.median(each))
    done = steps[known][-1] - steps[known][0]
    fell = (left[known][0] - left[known][-1]) / done if done > 0 else np.nan
    if each.max() <= _ALIKE * each.min() and usual / _NEAR <= fell <= usual * _NEAR:
        out[known] = each
    return out


def differenced(steps: Floats, clock: Floats, tick_s: float, before: float) -> Floats:
    """Seconds per step between a report and the nearest earlier one that is far enough away for the clock's ticks.

    ``before`` is the number of steps done when the clock stood at 0 if the series began there, NaN if unknown: it
    gives the first report its mean. Equal readings, and readings that fell, give NaN.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        elapsed, done = np.diff(clock, prepend=0.0), np.diff(steps, prepend=before)
        if tick_s:
            enough_s = tick_s * _TICKS
            base = _far_enough(clock, enough_s)
            near = elapsed < enough_s
            near[0] = False
            # Where nothing is far enough it is the widest span there is, if it is wide at all.
            wide = near & (clock - clock[base] >= min(enough_s, 3 * tick_s))
            elapsed = np.where(near, np.where(wide, clock - clock[base], np.nan), elapsed)
            done = np.where(wide, steps - steps[base], done)
        return np.where((elapsed > 0) & (done > 0), elapsed / done, np.nan)


def shared(steps: Floats, spans_s: Floats, usual_gap: float) -> Floats:
    """Seconds per step out of all the seconds since the report before; NaN where the counter stood or fell.

    Of the first report the steps are the usual number, or all that there are by its counter, from 0 or from 1.
    """
    done = np.diff(steps, prepend=np.nan)
    if len(steps):
        early = steps[0] < usual_gap - 1
        done[0] = max(1.0, steps[0]) if early else usual_gap
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(done > 0, spans_s / done, np.nan)


def _far_enough(clock: Floats, enough_s: float) -> NDArray[np.intp]:
    """For each reading the place of the newest one that lies ``enough_s`` before it; 0 where there is none."""
    base, places, readings = 0, [], clock.tolist()
    for i, now in enumerate(readings):
        while base + 1 < i and now - readings[base + 1] >= enough_s:
            base += 1
        places.append(base)
    return np.array(places, dtype=np.intp)


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
    predicted, start, last = 0.0, clock[0], steps[0]
    for done, now, per_s in zip(steps[1:].tolist(), clock[1:].tolist(), rate[1:].tolist(), strict=True):
        if not per_s > 0 or done <= last:
            predicted, start = 0.0, now
        else:
            predicted += (done - last) / per_s
            if now - start >= 2 * _TICKS * tick_s:
                ratios.append((now - start) / predicted)
                predicted, start = 0.0, now
        last = done
    if len(ratios) < 3:
        with np.errstate(invalid="ignore"):
            moved, passed = np.diff(steps), np.diff(clock)
        usable = (rate[1:] > 0) & (moved > 0)
        total = float((moved[usable] / rate[1:][usable]).sum())
        elapsed = float(passed[usable].sum())
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
