"""Which of the progress bars in a stream is the training's, and which of its redraws are new steps.

Each function takes a table and the places in it of the redraws of one stream and rank.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from monitor.parse.table import At, Table

_TRAINS = re.compile(r"(?i)\b(?:epoch|train(?:ing)?|steps?|iter(?:ation)?s?)\b")
BarKey = tuple[int, float]
"""(code of the description, total)."""
_NO_TOTAL = -1.0


@dataclass
class _Bar:
    key: BarKey
    first: int
    """Index of its first redraw among all rows of the stream and rank."""
    last: int = 0
    runs: int = 0
    distinct: int = 0
    ran_s: float = 0.0
    """Seconds of its longest run, by the clock that it prints."""


def training_rows(table: Table, at: At, planned_steps: int | None) -> At:
    """Of the redraws of one stream and rank, those of the bar that counts optimizer steps.

    It is the bar whose total is the number of steps that the trainer announced. Else a bar that is drawn in full
    between two redraws of another (an evaluation inside training) is out, as is one that only counts how often
    another ran (epochs); of what remains the one with the longest run is in: an evaluation may have more steps, be repeated
    for several data sets, and be the last thing in a log.
    """
    has_total = ~np.isnan(table.total[at])
    # Without a total it is a training bar only past the end of one that had a total: the rest are downloads and such.
    if has_total.any():
        at = _where(at, has_total | np.isin(table.bar[at], table.bar[at][has_total]))
    else:
        # Loops over a stream of unknown length have bars without a total only.
        labels = np.unique(table.bar[at])
        trains = labels[[bool(_TRAINS.search(table.texts[label])) for label in labels]]
        return _where(at, ~np.isnan(table.loss[at]) | np.isin(table.bar[at], trains))
    names, totals = table.bar[at], np.nan_to_num(table.total[at], nan=_NO_TOTAL)
    if len(at) and (names == names[0]).all() and (totals == totals[0]).all():
        return at
    steps, clock = np.nan_to_num(table.step[at]), np.nan_to_num(table.clock_s[at])
    bars = _bars(names.tolist(), totals.tolist(), steps.tolist(), clock.tolist())
    if len(bars) <= 1:
        return at
    past_total = totals == _NO_TOTAL
    if planned_steps is not None and (totals == planned_steps).any():
        return _where(at, (totals == planned_steps) | past_total)
    # An epoch bar moves once for each run of the bar inside it; a training bar moves on between them.
    around = _largest_around([(bar.first, bar.last, bar.distinct) for bar in bars])
    inside = _largest_around([(-bar.first, -bar.last, bar.runs) for bar in bars])
    kept = (
        distinct <= 2 * bar.runs and bar.distinct > 2 * runs
        for bar, distinct, runs in zip(bars, around, inside, strict=True)
    )
    left = list(compress(bars, kept)) or bars
    best = max(left, key=lambda bar: (bar.ran_s, bar.distinct, -bar.first))
    return _where(at, (names == best.key[0]) & ((totals == best.key[1]) | past_total))


def _where(at: At, chosen: NDArray[np.bool_]) -> At:
    return at[chosen]


def _bars(names: Sequence[int], totals: Sequence[float], steps: Sequence[float], clock: Sequence[float]) -> list[_Bar]:
    bars: dict[BarKey, _Bar] = {}
    last: dict[BarKey, float] = {}
    seen: dict[BarKey, set[float]] = {}
    for place, (name, total, step, now_s) in enumerate(zip(names, totals, steps, clock, strict=True)):
        if total == _NO_TOTAL:
            continue  # past its total: the same bar
        key = (name, total)
        bar = bars.get(key)
        if bar is None:
            bar = bars[key] = _Bar(key, place)
        if key not in last or step < last[key]:
            bar.runs += 1
            seen[key] = set()
        bar.ran_s = max(bar.ran_s, now_s)
        if step not in seen[key]:
            bar.distinct += 1
            seen[key].add(step)
        last[key] = step
        bar.last = place
    return list(bars.values())


def _largest_around(bars: Sequence[tuple[int, int, int]]) -> list[int]:
    """For each (first, last, weight) the largest weight of those that begin before it and end after it; 0 where there are none.

    A log may have thousands of bars, and so millions of pairs.
    """
    out = [0] * len(bars)
    # Of those that begin before: by their ends, without those that end no later than one of no smaller weight.
    ends: list[int] = []
    weights: list[int] = []
    for _, last, weight, which in sorted((*bar, which) for which, bar in enumerate(bars)):
        at = bisect_right(ends, last)
        out[which] = weights[at] if at < len(ends) else 0
        if out[which] >= weight:
            continue
        begin = at
        while begin and weights[begin - 1] <= weight:
            begin -= 1
        ends[begin:at], weights[begin:at] = [last], [weight]
    return out


def renumbered(table: Table, at: At) -> At:
    """The rows by the global step they print, where that follows the bar; else as they are.

    A bar that holds validation too goes on while the global step stands; before a redraw has a postfix the step of the
    row is not known.
    """
    counted = at[~np.isnan(table.counter[at])]
    counters = len(np.unique(table.counter[counted]))
    steps = table.step[at]
    # Large counters are printed rounded: one that stands while the bar moves tells nothing.
    if counters < 3 or counters * 4 < len(np.unique(steps[steps > 0])):
        return at
    table.step[counted] = table.counter[counted]
    return counted


def drawn_at_once(table: Table, at: At) -> int:
    """How many equal bars share the rows of a merged stream: each starts with one redraw at 0; at least 1."""
    begun = np.flatnonzero(table.step[at] > 0)
    return max(1, int(begun[0]) if len(begun) else len(at))


def new_steps(table: Table, at: At, at_once: int) -> tuple[At, NDArray[np.int64]]:
    """(the first redraw of each step of each bar, its segment); a redraw at 0 is none.

    The loss of a later redraw of a step takes the first one's place: that still shows the postfix of the step before.
    """
    segment, last_step, last_clock, last_epoch = 0, -1.0, -1.0, np.nan
    seen: dict[float, int] = {}
    found: list[int] = []
    parts: list[int] = []
    newest = -1.0
    columns = (np.nan_to_num(table.step[at]), np.nan_to_num(table.clock_s[at]), table.epoch[at])
    for place, counter, loss, step, clock, epoch in zip(
        at.tolist(),
        table.counter[at].tolist(),
        table.loss[at].tolist(),
        *(column.tolist() for column in columns),
        strict=True,
    ):
        # Bars drawn at once may trail one another by a step; only one that also set its clock back began again.
        again = step < last_step and (clock < last_clock or last_step - step > at_once + 1)
        # A log may hold the last redraw of each epoch only: the same step again, of another epoch.
        epoch_over = at_once == 1 and counter != counter and step <= last_step and abs(epoch - last_epoch) > 0
        if again or epoch_over:
            segment += 1
            seen.clear()
        last_step, last_clock, last_epoch = step, clock, epoch
        if step == 0 and counter != counter:
            continue
        seen[step] = times = seen.get(step, 0) + 1
        if times <= at_once:
            newest = step
            found.append(place)
            parts.append(segment)
        elif newest == step and loss == loss:
            table.loss[found[-1]] = loss
    return np.array(found, dtype=np.intp), np.array(parts, dtype=np.int64)
