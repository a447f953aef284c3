"""The runs of progress bars: one count from its start to its end, and which of the runs of one bar evaluate."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.parse.columns import Floats
from monitor.parse.table import At, Ints, Readings

# So many lines of a bar without a total show that it is drawn once a run.
_FEWEST_ENDS = 3
# Bars that several processes draw at once trail one another by a step or a second.
_TRAILS_S = 5.0
# A pass without gradients takes less than two thirds of one with them.
_FASTER = 1.5
_MOSTLY = 0.8
_NOTHING = np.empty(0, np.int64)


class BarRuns(NamedTuple):
    """The redraws of one bar, and what is known of each of its runs, in their order."""

    at: At
    run: Ints
    """Index of each redraw's run."""
    first: At
    """Of each run: the place of its first redraw in the table; and so on."""
    first_line: Ints
    last_line: Ints
    distinct_each: Ints
    ran_s: Floats
    each_s: Floats
    """The time a step that it printed last; of a run that is over the mean of all."""
    total: Floats
    complete: NDArray[np.bool_]
    losses: NDArray[np.bool_]
    """It shows one."""

    @property
    def distinct(self) -> int:
        """How many steps all runs show."""
        return int(self.distinct_each.sum())

    def of(self, redraws: slice, runs: slice) -> BarRuns:
        return BarRuns(
            self.at[redraws],
            self.run[redraws] - runs.start,
            self.first[runs],
            self.first_line[runs],
            self.last_line[runs],
            self.distinct_each[runs],
            self.ran_s[runs],
            self.each_s[runs],
            self.total[runs],
            self.complete[runs],
            self.losses[runs],
        )


def runs_of(table: Readings, at: At, bar: Ints, bars: int) -> list[BarRuns]:
    """The runs of each of so many bars; ``bar`` says which of them each redraw is of."""
    order = np.argsort(bar, kind="stable")
    rows, bar = at[order], bar[order]
    steps, clock, epoch = (np.nan_to_num(column[rows]) for column in (table.step, table.clock_s, table.epoch))
    begins = np.ones(len(at), bool)
    earlier = clock[1:] + _TRAILS_S < clock[:-1]
    again = (steps[1:] < steps[:-1]) & ((2 * steps[1:] <= steps[:-1]) | earlier)
    # A log may hold the last redraw of each run only.
    ended = only_ends(table, rows, bar)
    again |= (steps[1:] == steps[:-1]) & (earlier | (epoch[1:] != epoch[:-1]) | ended[1:])
    begins[1:] = again | (np.diff(bar) != 0)
    run = np.cumsum(begins) - 1
    starts = np.flatnonzero(begins)
    lasts = np.append(starts[1:], len(at)) - 1
    by_step = np.lexsort((steps, run))
    new = np.ones(len(at), bool)
    new[1:] = (np.diff(steps[by_step]) != 0) | (np.diff(run[by_step]) != 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_clock = np.where(steps[lasts] > 0, clock[lasts] / steps[lasts], np.nan)
    ends = rows[lasts]
    every = BarRuns(
        rows,
        run,
        rows[starts],
        table.line[rows[starts]],
        table.line[ends],
        np.bincount(run[by_step][new], minlength=len(starts)),
        np.maximum.reduceat(clock, starts),
        np.where(np.isnan(table.time_s[ends]), by_clock, table.time_s[ends]),
        table.total[ends],
        np.maximum.reduceat(steps, starts) >= table.total[ends],
        np.logical_or.reduceat(~np.isnan(table.loss[rows]), starts),
    )
    if bars == 1:
        return [every]
    redraws = np.searchsorted(bar, np.arange(bars + 1)).tolist()
    numbers = np.searchsorted(bar[starts], np.arange(bars + 1)).tolist()
    return [every.of(slice(*redraws[place : place + 2]), slice(*numbers[place : place + 2])) for place in range(bars)]


def only_ends(table: Readings, at: At, bar: Ints) -> NDArray[np.bool_]:
    """For each redraw, in the order of ``bar``: True where it is a run's end, with other lines before it, as all of its bar
    are but for those of a run that was cut off at last, and of one that has not begun."""
    if not len(at):
        return np.zeros(0, bool)
    starts = np.flatnonzero(np.diff(bar, prepend=-1))
    each = np.diff(np.append(starts, len(at)))
    steps, below = table.step[at], np.diff(table.line[at], prepend=-2)
    begun = steps > 0
    ends = begun & (steps == table.total[at]) & ((below > 1) | ~np.append(True, begun[:-1]))
    # Without a total it is one count that all of its lines show.
    endless = np.isnan(table.total[at]) & (below > 0) & (steps == np.repeat(steps[starts], each)) & (steps > 1)
    endless &= np.repeat(each >= _FEWEST_ENDS, each)
    ends |= endless
    place = np.arange(len(at))
    cut_off = place > np.repeat(np.maximum.reduceat(np.where(ends, place, -1), starts), each)
    several = np.add.reduceat(ends.astype(int), starts) > 1
    only: NDArray[np.bool_] = ends & np.repeat(np.logical_and.reduceat(ends | cut_off | ~begun, starts) & several, each)
    return only


def evaluations(bar: BarRuns, begins: Ints, ends: Ints, trained: Ints = _NOTHING) -> NDArray[np.bool_]:
    """For each redraw of ONE bar: True where its run is an evaluation, in a loop whose bars all look alike.

    The runs that show no loss where others do; those in front of which the log says so (``begins`` and ``ends`` are the
    lines that mark an evaluation); all, where how an epoch was ``trained`` is told before each; those that take turns with
    slower ones.
    """
    count = len(bar.first)
    none = np.zeros(len(bar.at), bool)
    if bar.losses.any():
        out = ~bar.losses & (bar.distinct_each > 1)
        return out[bar.run]
    if _is_behind(bar, ends, trained):
        return ~none
    announced = _announced(bar, begins, ends)
    if announced.all():
        return ~none
    if count < 2 or np.isnan(bar.each_s).all():
        return none
    if announced.any() and np.nanmedian(bar.each_s[announced]) * _FASTER <= np.nanmedian(bar.each_s[~announced]):
        return announced[bar.run]
    fast = _fast(bar.each_s, bar.complete)
    return none if fast is None else fast[bar.run]


def _announced(bar: BarRuns, begins: Ints, ends: Ints) -> NDArray[np.bool_]:
    """Which runs have an evaluation's begin, and no end of one, between them and the run before."""
    before = np.append(-1 << 62, bar.last_line[:-1])
    last_begin = np.searchsorted(begins, bar.first_line, side="right") - 1
    last_end = np.searchsorted(ends, bar.first_line, side="right") - 1
    none = -1 << 62
    begun = np.where(last_begin >= 0, np.append(begins, none)[last_begin], none)
    ended = np.where(last_end >= 0, np.append(ends, none)[last_end], none)
    return (begun >= before) & (begun > none) & ((ended < begun) | (ended < before))


def _is_behind(bar: BarRuns, ends: Ints, trained: Ints) -> bool:
    """Between two runs comes how the one before went as an evaluation, then how the next epoch was trained."""
    after, before = bar.last_line[:-1], bar.first_line[1:]
    if len(after) < 2 or not len(ends) or not len(trained):
        return False
    end = ends[np.minimum(np.searchsorted(ends, after), len(ends) - 1)]
    told = trained[np.minimum(np.searchsorted(trained, after), len(trained) - 1)]
    return bool(((after < end) & (end < told) & (told < before)).mean() > _MOSTLY)


def _fast(each_s: Floats, complete: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
    """Which runs are the fast ones where slow and fast ones take turns; None where they do not.

    A slow run comes first, and as many fast ones behind each. Two runs tell nothing: the first epoch warms up.
    """
    count = len(each_s)
    whole = count if complete[-1] else count - 1
    known = each_s[:whole]
    if whole < 3 or np.isnan(known).any() or (known <= 0).any():
        return None
    ordered = np.sort(known)
    ratios = ordered[1:] / ordered[:-1]
    widest = int(ratios.argmax())
    if ratios[widest] < _FASTER:
        return None
    slow = np.flatnonzero(known > ordered[widest])
    period = np.diff(slow)
    if slow[0] != 0 or len(slow) < 2 or period[0] < 2 or (period != period[0]).any():
        return None
    if whole - slow[-1] > period[0]:
        return None
    fast: NDArray[np.bool_] = np.arange(count) % period[0] != 0
    return fast
