"""Step times from what was printed: clocks are differenced, rates are checked against the clock next to them.

Functions take the reports of ONE series (one writer, one format, one segment) in order and give a time per report,
NaN where none can be told.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from monitor.parse.columns import Floats, last_digit

# A difference of whole seconds is off by up to one second; over this many ticks that is 10 %.
_TICKS = 10
# A pause is so many times as long as it usually is from one reading to the next.
_PAUSE = 4.0
# A clock never falls; fewer reports than this could rise by chance, and must then grow like a clock too.
_SURELY_A_CLOCK = 12
_RISES_OF_A_TICKING_CLOCK = 4
_EVEN = 1.3
_TICKS_OF_ANOTHER, _TICK_MOSTLY = 0.03, 0.8
_FAR_INTO_A_RUN_S = 60.0
# Nobody waits so long for a report, four times running and each time longer.
_HOURS_S = 3600.0
# The last reading of a clock that began at nothing is twice its middle.
_FROM_NOTHING = 1.8
# A clock that begins again and again goes from nearly nothing to twice its middle.
_ALIKE = 1.6
# So many reports after fewer or more steps than usual show whether a printed time is of them all.
_FEWEST_GAPS = 3
# So many estimates of what is left show whether they are of the steps that are left.
_FEWEST_LEFT = 5
_NEAR = 1.2
# Beside a counter within the epoch so many, over at least half of one; the reading that is meant scatters half as much.
_FEWEST_MEANT, _FAR_DOWN, _STEADIER, _SCATTERS = 20, 0.5, 0.5, 1.6
# A first report is behind one step alone where so many lie between two others.
_MANY_STEPS = 5
# Throughput and time of one line are of the same samples up to their rounding.
_EXACT = 0.005
# The logarithm of how often programs report has this middle and a deviation of log(5), by which a reading is
# exp(3 / 1.6**2) times likelier than the other.
_REPORTS_EVERY_S = 10.0
# Few steps take less.
_FASTEST_S = 2e-3
_MUCH_LIKELIER = 3.0
_BY_NAME = 4.0
# A time by the step scatters less than the time itself by this factor, where it is a clock's.
_EVENLY = 0.25


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
    # Out of the middle of a run: hours that rise with every report, or large readings that grow by even amounts.
    if len(rises) >= 3 and rising_share == 1.0 and values[0] >= _HOURS_S:
        return True
    even = len(rises) >= 3 and rising_share == 1.0 and bool(rises.max() <= _EVEN * rises.min())
    if even and values[0] >= _FAR_INTO_A_RUN_S and values[-1] >= 1.1 * values[0]:
        return True
    return rising_share > 0.5 and bool(values[-1] >= min(len(values), 4) * 0.6 * values[0])


def is_clock_of_another_name(values: Floats) -> bool:
    """True if what is called a step's time ("iter mins 8", "iter mins 16", …) is a clock: a dozen readings that never fall, and
    grow from next to nothing as far beyond their middle as a clock does.
    """
    values = values[~np.isnan(values)]
    if len(values) < _SURELY_A_CLOCK or (np.diff(values) < 0).any():
        return False
    return bool(values[-1] >= _FROM_NOTHING * np.median(values))


def ticks(rises: Floats, values: Floats) -> bool:
    """True if numbers without a name are a clock of whole seconds: between two reports pass one second more or less, where a
    count would grow by the same number, or by any.
    """
    if len(rises) < _SURELY_A_CLOCK or not (np.diff(values) >= 0).all():
        return False
    least = np.floor(rises.mean())
    few, many = (rises == least).mean(), (rises == least + 1).mean()
    return bool(min(few, many) >= _TICKS_OF_ANOTHER and few + many >= _TICK_MOSTLY)


def begins_anew(values: Floats) -> bool:
    """True if ``values``, called a clock's, are each of one report: they fall again and again, and differ little, or are the
    same to a fraction of a second.

    What only falls is left of a run.
    """
    values = values[~np.isnan(values)]
    if len(values) > 3 and (values == values[0]).all() and values[0] % 1:
        return True
    if len(values) < 4 or (np.diff(values) < 0).sum() < 2 or not (np.diff(values) > 0).any():
        return False
    usual = float(np.median(values))
    return bool(values.max() <= _ALIKE * usual and usual <= _ALIKE * values.min())


def are_alike(values: Floats) -> bool:
    """True if nearly all of the values are near their middle."""
    low, usual, high = np.nanquantile(values, (0.1, 0.5, 0.9)) if (~np.isnan(values)).any() else (np.nan,) * 3
    return bool(high <= _ALIKE * usual and usual <= _ALIKE * low)


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


def are_of_intervals(
    reports: Sequence[tuple[Floats, Floats, Floats, Floats, Floats]], samples: int | None = None
) -> bool | None:
    """True if the times are of all the steps since the report before, False if of one step; None if nothing tells which.

    For each run of the counter its (steps, times, totals, what is left of the run, throughputs in samples or tokens). A
    first report behind a single step has a sum that is short; sums grow with the steps where reports are missing; what is
    left comes down by one step's time each; and as many samples as a throughput and a time make are those of one step, or
    of all, which their number divides.
    """
    gaps = np.concatenate([np.diff(steps) for steps, *_ in reports])
    usual_gap = float(np.median(gaps)) if len(gaps) else 1.0
    if usual_gap <= 1:
        return False
    if any(are_sums(steps, times) for steps, times, *_ in reports):
        return True
    firsts = [times[0] / np.nanmedian(times[1:]) for steps, times, *_ in reports if len(steps) > 2 and steps[0] <= 1]
    if firsts and usual_gap >= _MANY_STEPS:
        first = float(np.median(firsts))
        if first <= 0.5 or (first <= _ALIKE and len(firsts) > 1):
            return first <= 0.5
    by_step = [left / (total - steps) / times for steps, times, total, left, _ in reports]
    if (found := _near_one_or(_median(by_step), 1 / usual_gap)) is not None:
        return found
    made = np.concatenate([rate * times for _, times, _, _, rate in reports])
    made = made[np.isfinite(made)]
    if len(made) < _FEWEST_GAPS or float(made.std()) > _EXACT * float(made.mean()):
        return None
    number = float(np.median(made))
    if samples is not None:
        return _near_one_or(number / samples, usual_gap)
    # Batches are powers of two and multiples of ten; no batch is a multiple of 100 by chance.
    each = number / usual_gap
    odd = usual_gap / (int(usual_gap) & -int(usual_gap))
    if odd < _FEWEST_GAPS or _EXACT * each > 0.25 or abs(number - round(number)) > _EXACT * number:
        return None
    return abs(each - round(each)) <= max(_EXACT * each, 1e-9)


def in_proportion(steps: Floats, times: Floats) -> bool:
    """Whether times grow as the steps do that were done when they were read: a clock that begins with each epoch."""
    known = (steps > 0) & (times > 0)
    if not known.all() or steps.max() < 2 * steps.min():
        return False
    return bool(np.std(np.log(times / steps)) < _EVENLY * np.std(np.log(times)))


def likelier_of_intervals(times: Floats, usual_gap: float, of_stopwatch: bool = False) -> bool | None:
    """The same by how often a program reports: every ten seconds, give or take a factor of five; None where that is not
    three times likelier by one reading than by the other.

    What its name or its neighbors call a ``stopwatch``'s is one step's five times likelier by that alone.
    """
    times = times[times > 0]
    if not len(times):
        return None
    usual = float(np.median(times))
    likelier = np.log(usual_gap) * np.log(usual * usual_gap**0.5 / _REPORTS_EVERY_S) - _BY_NAME * of_stopwatch
    if abs(likelier) < _MUCH_LIKELIER or (likelier > 0 and usual < _FASTEST_S * usual_gap):
        return None
    return bool(likelier > 0)


def _near_one_or(ratio: float, other: float) -> bool | None:
    """False where a ratio is one, True where it is ``other``; None where it is neither."""
    if 1 / _EVEN <= ratio <= _EVEN:
        return False
    return True if other / _EVEN <= ratio <= other * _EVEN else None


def _median(parts: Sequence[Floats]) -> float:
    values = np.concatenate(parts)
    values = values[np.isfinite(values)]
    return float(np.median(values)) if len(values) >= _FEWEST_GAPS else float("nan")


def by_remaining(steps: Floats, total: Floats, left: Floats, tick_s: float) -> Floats:
    """Seconds of one step by what is left of a run; NaN where that is only a few ticks, or does not come down to nothing with
    the steps that are left.

    So an estimate for all epochs beside a counter within one of them tells nothing.
    """
    out = np.full(len(steps), np.nan)
    to_do = total - steps
    known = (to_do > 0) & (left >= max(_FEWEST_LEFT * tick_s, 1e-9))
    if known.sum() < _FEWEST_LEFT:
        return out
    each = left[known] / to_do[known]
    usual = float(np.median(each))
    # A first step is slow, and the estimate behind it.
    first = 1 if known.sum() > _FEWEST_LEFT else 0
    judged = each[first:]
    done = steps[known][-1] - steps[known][first]
    fell = (left[known][first] - left[known][-1]) / done if done > 0 else np.nan
    if are_alike(judged) and usual / _NEAR <= fell <= usual * _NEAR:
        out[known] = each
    return out


def by_remaining_epochs(
    steps: Floats, epoch: Floats, epoch_total: Floats, epochs: Floats, left: Floats, tick_s: float
) -> Floats:
    """Seconds of one step by what is left of a run, or of its epoch, beside a counter within the epoch; NaN where neither is
    surely meant. The run ends where epoch ``epochs`` would begin.

    What is left of the one is worth about as long a step at each report, of the other ever longer or shorter ones. It may be
    worked out from the last step alone, and so scatter.
    """
    nothing = np.full(len(steps), np.nan)
    of_run, of_epoch = epoch_total * (epochs - epoch) - steps, epoch_total - steps
    known = np.isfinite(epoch) & (of_epoch > 0) & (left >= max(_FEWEST_LEFT * tick_s, 1e-9))
    if known.sum() < _FEWEST_MEANT or not (np.nanmin(of_epoch[known]) <= _FAR_DOWN * np.nanmax(of_epoch[known])):
        return nothing
    each = [
        np.where(known & (to_do > 0), left / np.where(to_do > 0, to_do, np.nan), np.nan) for to_do in (of_run, of_epoch)
    ]
    spread = [_spread(one) if np.isfinite(one).sum() >= _FEWEST_MEANT else np.inf for one in each]
    meant = int(np.argmin(spread))
    # In the last epoch both are the same.
    sure = spread[meant] <= _STEADIER * spread[1 - meant] or bool((of_run[known] == of_epoch[known]).all())
    return each[meant] if sure and spread[meant] < np.log(_SCATTERS) else nothing


def _spread(values: Floats) -> float:
    """How far the middle half of the values lies apart, as a logarithm."""
    low, high = np.nanquantile(np.log(values), (0.25, 0.75))
    return float(high - low)


def differenced(steps: Floats, clock: Floats, tick_s: float, before: float) -> Floats:
    """Seconds per step between a report and the nearest earlier one that is far enough away for the clock's ticks.

    ``before`` is the number of steps done when the clock stood at 0 if the series began there, NaN if unknown: it
    gives the first report its mean. Equal readings, and readings that fell, give NaN.
    """
    known = clock[~np.isnan(clock)]
    if not tick_s and (np.diff(known) == 0).any():
        tick_s = last_digit(known)
    paused = _pauses(clock, (_PAUSE + 1) * tick_s)
    with np.errstate(divide="ignore", invalid="ignore"):
        elapsed, done = np.diff(clock, prepend=0.0), np.diff(steps, prepend=before)
        if tick_s:
            enough_s = tick_s * _TICKS
            base = _far_enough(clock, enough_s, paused)
            near = elapsed < enough_s
            near[0] = False
            # Where nothing is far enough it is the widest span there is, if it is wide at all.
            wide = near & (clock - clock[base] >= min(enough_s, 3 * tick_s))
            elapsed = np.where(near, np.where(wide, clock - clock[base], np.nan), elapsed)
            done = np.where(wide, steps - steps[base], done)
        out = np.where((elapsed > 0) & (done > 0), elapsed / done, np.nan)
    # Of steps too quick for the clock a pause says nothing, nor does what passed before the first report.
    told = ~np.isnan(out)
    if len(out) > 2 and not told.all() and (paused | ~told)[1:].all():
        return np.full(len(out), np.nan)
    return out


def between_means(steps: Floats, times: Floats, means: Floats) -> Floats:
    """Seconds per step since the report before, out of means of all steps so far; where their last digits do not tell that, the
    mean itself.

    A mean that is the time of the first report's step counts from there, any other from the counter's begin.
    """
    begun = steps[0] if times[0] == means[0] else min(steps[0], 0.0)
    count = steps - begun + 1
    total, unit_s = means * count, last_digit(means)
    spent, done = np.diff(total, prepend=np.nan), np.diff(steps, prepend=np.nan)
    told = (spent >= _TICKS * unit_s * count) & (done > 0)
    return np.where(told, spent / np.where(told, done, 1.0), means)


def are_of_few(times: Floats, since: Floats) -> bool:
    """True if ``times``, each of one step of many, are no measure of all of them: the means in between differ much."""
    known = np.isfinite(times) & np.isfinite(since)
    if known.sum() < _FEWEST_GAPS:
        return False
    ratio = float(np.median(since[known]) / np.median(times[known]))
    return not 1 / _EVEN <= ratio <= _EVEN


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


def _far_enough(clock: Floats, enough_s: float, paused: NDArray[np.bool_]) -> NDArray[np.intp]:
    """For each reading the place of the newest one that lies ``enough_s`` before it; 0 where there is none, and none before a
    pause, which one reading tells by itself and others would spread over the steps behind it.
    """
    base, places, readings = 0, [], clock.tolist()
    for i, (now, is_pause) in enumerate(zip(readings, paused.tolist(), strict=True)):
        if is_pause:
            base = i
        while base + 1 < i and now - readings[base + 1] >= enough_s:
            base += 1
        places.append(base)
    return np.array(places, dtype=np.intp)


def _pauses(clock: Floats, least_s: float) -> NDArray[np.bool_]:
    """Which readings come so long behind the one before, and at least so many seconds, that something else was done meanwhile."""
    elapsed = np.diff(clock, prepend=clock[:1])
    passed = elapsed[elapsed > 0]
    return elapsed >= max(least_s, _PAUSE * float(np.median(passed)) if len(passed) else np.inf)


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
    paused = _pauses(clock, _TICKS * tick_s)[1:]
    for done, now, per_s, pause in zip(
        steps[1:].tolist(), clock[1:].tolist(), rate[1:].tolist(), paused.tolist(), strict=True
    ):
        if not per_s > 0 or done <= last or pause:
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
        usable = (rate[1:] > 0) & (moved > 0) & ~paused
        total = float((moved[usable] / rate[1:][usable]).sum())
        elapsed = float(passed[usable].sum())
        return elapsed / total if total > 0 and elapsed >= 5 * tick_s else float("nan")
    return float(np.median(ratios))


def by_rate_and_clock(
    steps: Floats, clock: Floats, rate: Floats, tick_s: float, before: float
) -> tuple[Floats, NDArray[np.bool_]]:
    """(seconds per step, True where the clock gave it); ``before`` as ``differenced`` has it.

    The rate is finer than a clock of whole seconds, but its unit needs the batch size, which may be unknown or wrong:
    it is scaled to the clock, and where the two still disagree by more than rounding, the clock wins.
    """
    by_clock = differenced(steps, clock, tick_s, before)
    samples = samples_per_step(steps, clock, rate, tick_s)
    if np.isnan(samples):
        return by_clock, ~np.isnan(by_clock)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_rate = np.where(rate > 0, samples / rate, np.nan)
    done = np.diff(steps, prepend=before)
    elapsed = np.diff(clock, prepend=0.0)
    # Of a first report in the middle of a run nothing is known but its rate.
    agree = (np.abs(by_rate * done - elapsed) <= tick_s) | np.isnan(done)
    use_rate = agree & ~np.isnan(by_rate)
    out = np.where(use_rate, by_rate, by_clock)
    return out, ~use_rate & ~np.isnan(out)
