"""What the steps of a bar took, out of the moving average that it prints.

tqdm smooths the counts and the seconds between its redraws alike, each by 0.3 of the new and 0.7 of the old, and prints one over
the other (https://tqdm.github.io/docs/tqdm/, ``smoothing``). So the rate of a redraw, that of the one before it and the counts
tell what passed between them: a slow first batch, which the printed rate remembers for ten redraws, is one slow step.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from monitor.parse.columns import Floats, last_digit
from monitor.parse.table import At, Readings

_NEW = 0.3
_FEWEST, _NEARLY_ALL = 5, 0.95
#: So many ticks of a bar's clock tell a time to a tenth, and bear a run out; a printed rate is given as it is where it is off by
#: no more.
MANY_TICKS, OFF = 5, 0.1
#: So many redraws a smoothed rate is mostly of what came before them.
REMEMBERED = 10
#: Half the last digit of a rate, which has two behind its point, whichever way it is printed: it turns over at 1.
HALF_DIGIT = 0.005


def own_times(table: Readings, at: At, runs: Sequence[At]) -> dict[int, Floats | None]:
    """For runs of a tqdm bar of which its clock bears each step out, by their places in ``runs``: the seconds of a step at each
    redraw, or None where the rates that it prints tell as much.
    """
    own = {place: times for place, here in enumerate(runs) if (times := _of_run(table, at[here])) is not None}
    if not own:
        return {}
    printed = {place: table.time_s[at[runs[place]]] for place in own}
    off = _is_off(np.concatenate(list(printed.values())), np.concatenate(list(own.values())))
    # A resumed training's bar begins at 0, and goes on where the training does: what comes then is off for some redraws.
    return {
        place: times
        if off or (np.isnan(times[0]) and _is_off(printed[place][:REMEMBERED], times[:REMEMBERED]))
        else None
        for place, times in own.items()
    }


def _is_off(printed_s: Floats, own_s: Floats) -> bool:
    usual_s = float(np.nanmedian(own_s))
    return abs(float(np.nanmedian(printed_s)) - usual_s) > OFF * usual_s


def _of_run(table: Readings, at: At) -> Floats | None:
    """NaN at a first redraw that stands for more steps than others; None where the bar's clock tells other times, or too little
    to bear each of them out."""
    steps, clock, rate_s = table.step[at], table.clock_s[at], table.time_s[at]
    moved = np.diff(steps, prepend=0.0)
    smoothed = table.format_of(at) == "tqdm" and (table.meaning[at] == table.code("smoothed")).all()
    if len(at) < _FEWEST or not smoothed or np.isnan(rate_s + clock).any() or not (moved > 0).all():
        return None
    tick_s, shown_s = last_digit(clock), clock - clock[0]
    if shown_s[-1] < MANY_TICKS * tick_s:
        return None
    smooth = pd.Series(np.append(0.0, moved)).ewm(alpha=_NEW, adjust=False).mean().to_numpy()[1:]
    smooth_s = smooth * rate_s
    passed_s = np.diff(smooth_s, prepend=0.0) / _NEW + np.append(0.0, smooth_s[:-1])
    if np.median(passed_s) < tick_s / 2:
        return None
    since_s = np.cumsum(passed_s) - passed_s[0]
    borne_out = np.abs(since_s - shown_s) <= tick_s + HALF_DIGIT * shown_s
    if borne_out.mean() < _NEARLY_ALL:
        return None
    times: Floats = np.where(passed_s > 0, passed_s, np.nan) / moved
    if moved[0] > np.median(moved):
        times[0] = np.nan
    return times
