"""Which of the progress bars of one writer is the training's, and which of its redraws are new steps.

Each function takes a table and the places in it of the redraws of one stream and rank. A bar is what shares a description
and a total; a run of it is one count from its start. Whether the log's own text tells the same steps is asked in
``monitor.parse.steps.one_training``.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.parse.columns import Floats, last_digit
from monitor.parse.steps import clocks
from monitor.parse.steps.bar_runs import BarRuns, evaluations, only_ends, runs_of
from monitor.parse.steps.moving_average import HALF_DIGIT, MANY_TICKS, OFF, REMEMBERED
from monitor.parse.table import At, Ints, Readings

_TRAINS = re.compile(r"(?i)\b(?:epoch|train(?:ing)?|steps?|iter(?:ation)?s?)\b")
_TRAINING = re.compile(r"(?i)\btrain(?:ing)?\b")
# "Epoch N" is a bar over the batches of an epoch, "Epochs" and "Epoch" one over epochs.
_OVER_EPOCHS = re.compile(r"(?i)(?<!N )\bepochs\b(?!\W{0,3}N)|^\W*(?:\w+ing )?epochs?(?: progress)?\W*$")
_OF_AN_EPOCH = re.compile(r"(?i)\bepoch\W{0,3}N")
_NO_TOTAL = -1.0
# The last batches of an epoch may be one more or less: batches that are dropped, shards of unequal size.
_NEARLY = 0.01
# What is over sooner trained nothing that is worth a look: lists are read, files are found.
_IN_AN_INSTANT_S = 2.0
_FASTEST_S = 1e-3
_OUTWEIGHED = 10
# What is rounded by more tells less than a clock.
_ROUNDED = 0.05
# A resumed training's first count is so many times as far as one redraw goes, and its steps are so much slower than its rates;
# its clock tells more where that takes some seconds.
_LEAP, _FAR, _LONG_S = 10, 2, 5.0
# So many redraws of a run tell whether its rate is a mean; so many of them must.
_FEWEST_MEANS, _NEARLY_ALL = 10, 0.95


class Marks(NamedTuple):
    """Numbers of the lines of one stream that mark evaluations, in order."""

    begins: Ints = np.empty(0, np.int64)
    ends: Ints = np.empty(0, np.int64)
    epochs: Ints = np.empty(0, np.int64)
    """Of the lines that tell of an epoch as a whole, the first of each epoch."""
    trained: Ints = np.empty(0, np.int64)
    """Those of them that tell how it was trained, and of no evaluation."""
    heads: Ints = np.empty(0, np.int64)
    """Of those that stand above what is said of an evaluation."""
    prepared: Ints = np.empty(0, np.int64)
    """Of those that tell of data that are prepared."""
    generated: Ints = np.empty(0, np.int64)
    """Of those that tell of an answer that a model writes."""

    def prepares(self, first: int, last: int) -> bool:
        """Whether data are prepared while a bar is drawn between these lines, or right behind it."""
        begin, end = np.searchsorted(self.prepared, (first, last + 1), side="right")
        return bool(end > begin)


class Bar(NamedTuple):
    """The redraws of the bar that is taken for the training's."""

    at: At
    description: str = ""
    total: float = np.nan
    sure: bool = False
    """It says so itself: by a loss, a word or its total. Else it is only not known to be another."""
    again: bool = False
    """It ran more than once, as epochs do."""
    others: int = 0
    """So many bars of the same description and another length might be the training's as well."""
    epochs: At = np.empty(0, np.intp)
    """Where no bar is the training's the redraws of one that counts its epochs."""

    def like(self, other: Bar) -> bool:
        """True for the same bar of another writer."""
        near = abs(self.total - other.total) <= max(1.0, _NEARLY * other.total)
        return self.description == other.description and (near or self.total == other.total)


_NONE = Bar(np.empty(0, np.intp))


def training_bar(table: Readings, at: At, planned_steps: int | None, losses: At, marks: Marks) -> Bar:
    """Of the redraws of one stream and rank, those of the bar that counts optimizer steps; none where no bar does.

    It is the bar whose total is the number of steps that the trainer announced. Else a bar that is drawn in full
    between two redraws of another (an evaluation inside training) is out, as is one that only counts how often
    another ran, or epochs; of what remains those that say that they train are in before those that do not, and of
    these the one whose run takes longest: an evaluation may have more steps, be repeated for several data sets, and be the
    last thing in a log. Of the runs of one bar those that evaluate are out, unless it is called training.

    ``losses`` are the places of those that the trainer prints between the redraws.
    """
    has_total = ~np.isnan(table.total[at])
    # Past the end of its total a bar loses it; of others without one most are downloads and such.
    ends = has_total | np.isin(table.bar[at], table.bar[at][has_total])
    endless, at = _endless(table, at[~ends]), at[ends]
    if not len(at):
        # Loops over a stream of unknown length have bars without a total only.
        return Bar(endless, sure=True) if len(endless) else _NONE
    totals = np.nan_to_num(table.total[at], nan=_NO_TOTAL)
    names = _named_late(table.bar[at], totals, np.nan_to_num(table.step[at]), table.code(""))
    past_total = totals == _NO_TOTAL
    which, keys = _which(table, names, totals)
    shown = at[~past_total]
    bars = runs_of(table, shown, which, len(keys))
    sure = [_says_so(table, name, bar) for (name, _), bar in zip(keys, bars, strict=True)]
    if not any(sure) and len(endless):
        return Bar(endless, sure=True)
    behind = np.searchsorted(shown, losses)
    behind = behind[(behind > 0) & (behind < len(shown))]
    told = np.bincount(which[behind][which[behind] == which[behind - 1]], minlength=len(keys)) > 0
    may = [
        says
        or tells
        or (_may_train(bar) and not marks.prepares(int(table.line[bar.at[0]]), int(table.line[bar.at[-1]])))
        for says, tells, bar in zip(sure, told.tolist(), bars, strict=True)
    ]
    chosen = _chosen(table, keys, bars, sure, may, planned_steps, marks)
    if chosen is None:
        over = [
            bar
            for key, bar in zip(keys, bars, strict=True)
            if _over_epochs(table, str(table.texts[key[0]]), bar, marks)
        ]
        return Bar(_NONE.at, epochs=max(over, key=lambda bar: bar.distinct).at) if over else _NONE
    name, total = keys[chosen]
    runs = [bars[place] for place in _one_after_the_other(table, keys, bars, sure, chosen)]
    trained = [each.at for each in runs]
    if not _TRAINING.search(str(table.texts[name])):
        trained = [each.at[~evaluations(each, marks.begins, marks.ends, marks.trained)] for each in runs]
    own = np.sort(np.concatenate(trained))
    if len(own):
        own = np.sort(np.append(own, at[past_total & (names == name)]))
    says = sure[chosen] or planned_steps == total or len(losses) > 0
    others = sum(able and place != chosen and keys[place][0] == name for place, able in enumerate(may))
    return Bar(own, str(table.texts[name]), total, says, len(bars[chosen].first) > 1, others)


def names_of_training(table: Readings, at: At) -> NDArray[np.int32]:
    """Which descriptions of bars say that they train."""
    labels = np.unique(table.bar[at])
    found: NDArray[np.int32] = labels[[bool(_TRAINS.search(table.texts[label])) for label in labels]]
    return found


def _endless(table: Readings, at: At) -> At:
    """Of bars without a total those that say that they train."""
    found: At = at[~np.isnan(table.loss[at]) | np.isin(table.bar[at], names_of_training(table, at))]
    return found


def _one_after_the_other(
    table: Readings, keys: Sequence[tuple[int, float]], bars: Sequence[BarRuns], sure: Sequence[bool], chosen: int
) -> list[int]:
    """The chosen bar and those of its description that end before it begins or begin after its end: the same training,
    started again with another number of batches."""
    name = keys[chosen][0]
    if not sure[chosen] or not table.texts[name]:
        return [chosen]
    spans = {
        place: (int(bars[place].at[0]), int(bars[place].at[-1])) for place, (own, _) in enumerate(keys) if own == name
    }
    found = [chosen]
    for place, (first, last) in spans.items():
        if place != chosen and all(last < spans[other][0] or spans[other][1] < first for other in found):
            found.append(place)
    return found


def _named_late(names: NDArray[np.int32], totals: Floats, steps: Floats, nameless: int) -> NDArray[np.int32]:
    """The names, where a bar that got its description after its first redraws has it from the begin."""
    begins = np.flatnonzero(np.append(True, (np.diff(names) != 0) | (np.diff(totals) != 0)))
    first, last = begins[1:], begins[1:] - 1
    goes_on = (
        (names[last] == nameless) & (totals[first] == totals[last]) & np.isin(steps[first] - steps[last], (0.0, 1.0))
    )
    if not goes_on.any():
        return names
    of_block = names[begins]
    of_block[:-1][goes_on] = of_block[1:][goes_on]
    return np.repeat(of_block, np.diff(np.append(begins, len(names))))


def _which(
    table: Readings, names: NDArray[np.int32], totals: Floats
) -> tuple[NDArray[np.int64], list[tuple[int, float]]]:
    """(for each redraw with a total the index of its bar, the bars as (description, total) in the order of their begin).

    Redraws under one description with nearly the same total are of one bar.
    """
    known = totals != _NO_TOTAL
    names, totals = names[known], totals[known]
    if len(names) and (names == names[0]).all() and (totals == totals[0]).all():
        return np.zeros(len(names), np.int64), [(int(names[0]), float(totals[0]))]
    different, place_of = np.unique(totals, return_inverse=True)
    codes, first, pair_of, times = np.unique(
        names.astype(np.int64) * len(different) + place_of, return_index=True, return_inverse=True, return_counts=True
    )
    name_of, total_of = codes // len(different), different[codes % len(different)]
    begins, last, least = [], -1, 0.0
    for place, (name, total) in enumerate(zip(name_of.tolist(), total_of.tolist(), strict=True)):
        if name != last or not table.texts[name] or total - least > max(1.0, _NEARLY * total):
            begins.append(place)
            last, least = name, total
    starts = np.array(begins)
    begun = np.argsort(np.minimum.reduceat(first, starts), kind="stable")
    number = np.empty(len(starts), np.int64)
    number[begun] = np.arange(len(starts))
    # The bar has the total that most of its redraws have.
    stops = np.append(starts[1:], len(codes))
    usual = [
        start + int(times[start:stop].argmax()) for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)
    ]
    keys = [(int(name_of[usual[group]]), float(total_of[usual[group]])) for group in begun.tolist()]
    return np.repeat(number, stops - starts)[pair_of], keys


def _chosen(
    table: Readings,
    keys: Sequence[tuple[int, float]],
    bars: Sequence[BarRuns],
    sure: Sequence[bool],
    trains: Sequence[bool],
    planned_steps: int | None,
    marks: Marks,
) -> int | None:
    """The index of the training's bar."""
    planned = [place for place, (_, total) in enumerate(keys) if total == planned_steps]
    if planned:
        return max(planned, key=lambda place: len(bars[place].at))
    left = [
        place
        for place, ((name, _), bar) in enumerate(zip(keys, bars, strict=True))
        # A bar that stands at 0 may have been given another description since.
        if trains[place]
        and (table.step[bar.at] > 0).any()
        and not _over_epochs(table, str(table.texts[name]), bar, marks)
    ]
    if len(left) <= 1:
        return left[0] if left else None
    # An epoch bar moves once for each run of the bar inside it; a training bar moves on between them.
    spans = [(int(bar.at[0]), int(bar.at[-1])) for bar in bars]
    distinct = [bar.distinct for bar in bars]
    around = _largest_around([(*span, moved) for span, moved in zip(spans, distinct, strict=True)])
    # What is called training is inside of no bar that says nothing.
    around_sure = _largest_around(
        [(*span, moved * says) for span, moved, says in zip(spans, distinct, sure, strict=True)]
    )
    around = [
        least if _TRAINING.search(table.texts[name]) else most
        for (name, _), most, least in zip(keys, around, around_sure, strict=True)
    ]
    inside = _largest_around([(-first, -last, len(bar.first)) for (first, last), bar in zip(spans, bars, strict=True)])
    kept = [n for n in left if around[n] <= 2 * len(bars[n].first) and distinct[n] > 2 * inside[n]]
    best = max(kept or left, key=lambda place: (sure[place], _lasts_s(bars[place]), distinct[place], -place))
    alike = [place for place in kept or left if keys[place][0] == keys[best][0] and sure[place] == sure[best]]
    # What was given up is outweighed by a start behind it that ran so many times as long.
    for place in alike:
        if spans[best][1] < spans[place][0] and _all_last_s(bars[place]) > _OUTWEIGHED * _all_last_s(bars[best]):
            best = place
    # Of starts with batches of other sizes, one after the other, that which trained longest.
    starts = [
        place
        for place in alike
        if min(len(bars[place].first), len(bars[best].first)) > 1
        and (place == best or spans[place][1] < spans[best][0] or spans[best][1] < spans[place][0])
    ]
    return max(starts, default=best, key=lambda place: (_all_last_s(bars[place]), place == best))


def _says_so(table: Readings, name: int, bar: BarRuns) -> bool:
    """True for a bar that says itself that it trains: by a word, a loss, its epoch or a step of its own."""
    shows = any(not np.isnan(column[bar.at]).all() for column in (table.loss, table.epoch, table.counter))
    return shows or bool(_TRAINS.search(str(table.texts[name])))


def _lasts_s(bar: BarRuns) -> float:
    """How long the longest run of a bar takes, or all of them where each is short; of one that has begun the whole.

    A bar's clock is of whole seconds: what one took within a second its pace tells.
    """
    whole_s = np.nan_to_num(bar.each_s * bar.total)
    each = np.fmax(bar.ran_s, np.where(bar.complete, np.minimum(whole_s, bar.ran_s + 1.0), whole_s))
    return float(max(each.max(), min(each.sum(), _IN_AN_INSTANT_S)))


def _all_last_s(bar: BarRuns) -> float:
    """How long all runs of a bar took."""
    return float(np.nansum(np.fmax(bar.ran_s, bar.each_s * np.where(bar.complete, bar.total, 0.0))))


def _may_train(bar: BarRuns) -> bool:
    """False for a bar without any word that is over in an instant, or faster than steps are."""
    known = bar.each_s[~np.isnan(bar.each_s)]
    return _lasts_s(bar) >= _IN_AN_INSTANT_S and not (len(known) and np.median(known) < _FASTEST_S)


def _over_epochs(table: Readings, description: str, bar: BarRuns, marks: Marks) -> bool:
    """True for a bar that counts epochs: by its words, or because each of its counts is an epoch or holds one."""
    if _OVER_EPOCHS.search(description) and (bar.complete & (bar.distinct_each > 1)).sum() <= 1:
        return True
    steps, epochs = table.step[bar.at], table.epoch[bar.at]
    moved = np.flatnonzero(np.diff(steps, prepend=-1.0) == 1)
    if len(moved) < 3:
        return False
    next_epoch, next_step = np.diff(epochs[moved]) == 1, np.diff(steps[moved]) == 1
    if (next_epoch & next_step).mean() > 0.8:
        return True
    if _OF_AN_EPOCH.search(description) and len(bar.first) > 1:
        return False
    if next_epoch.mean() > 0.8:
        return True
    # Some trainers evaluate often, none after each of its steps.
    ticks = table.line[bar.at[moved]]
    between = [len(np.unique(np.searchsorted(ticks, told))) for told in (marks.ends, marks.epochs)]
    # What is drawn meanwhile may stand together behind the heads of several epochs.
    of_epochs = int(((marks.epochs >= ticks[0]) & (marks.epochs <= ticks[-1])).sum())
    as_many = of_epochs if of_epochs <= 1.2 * len(moved) else 0
    return max(*between, as_many) > 0.8 * len(moved) and len(moved) > 0.8 * bar.distinct


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


def renumbered(table: Readings, at: At) -> At:
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


def drawn_at_once(table: Readings, at: At) -> int:
    """How many equal bars share the rows of a merged stream: each starts with one redraw at 0; at least 1."""
    begun = np.flatnonzero(table.step[at] > 0)
    return max(1, int(begun[0]) if len(begun) else len(at))


def new_steps(table: Readings, at: At, at_once: int) -> tuple[At, NDArray[np.int64]]:
    """(the first redraw of each step of each bar, its segment); a redraw at 0 is none.

    The loss of a later redraw of a step takes the first one's place: that still shows the postfix of the step before.
    """
    segment, last_step, last_clock, last_epoch, over = 0, -1.0, -1.0, np.nan, False
    seen: dict[float, int] = {}
    found: list[int] = []
    parts: list[int] = []
    newest = -1.0
    ends = only_ends(table, at, np.zeros(len(at), np.int64))
    columns = (np.nan_to_num(table.step[at]), table.total[at], np.nan_to_num(table.clock_s[at]), table.epoch[at])
    for place, ended, counter, loss, step, total, clock, epoch in zip(
        at.tolist(),
        ends.tolist(),
        table.counter[at].tolist(),
        table.loss[at].tolist(),
        *(column.tolist() for column in columns),
        strict=True,
    ):
        # Bars drawn at once may trail one another by a step; only one that also set its clock back began again.
        again = step < last_step and (clock < last_clock or last_step - step > at_once + 1 or (step == 0 and over))
        # A log may hold the last redraw of each epoch only: the same step again, of another epoch.
        another = ended or abs(epoch - last_epoch) > 0
        epoch_over = at_once == 1 and counter != counter and step <= last_step and another
        if again or epoch_over:
            segment += 1
            seen.clear()
        last_step, last_clock, last_epoch = step, clock, epoch
        over = at_once == 1 and step == total
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


def is_of_run(clock: Floats, runs: Sequence[At]) -> bool:
    """The clock of a bar goes on where its count begins again: its rate is all that passed over the steps of the epoch."""
    if len(runs) < 2:
        return False
    first, last = clock[[here[0] for here in runs]], clock[[here[-1] for here in runs]]
    # Of bars of which the end alone is left the clocks may rise by chance.
    return bool((first[1:] >= last[:-1]).all() and (last > first).mean() > 0.5)


def are_means(table: Readings, at: At) -> bool:
    """The rate of one run of a bar is a mean since its start: the count over it is what the bar's own clock shows."""
    each_s, clock, rated = table.time_s[at], table.clock_s[at], table.throughput[at]
    passed_s = table.step[at] * each_s
    off = passed_s * HALF_DIGIT / np.where(np.isnan(rated), each_s, rated)
    known = ~np.isnan(passed_s) & ~np.isnan(clock)
    agrees = np.abs(passed_s - clock - 0.5) <= 0.5 + off
    return bool(known.sum() >= _FEWEST_MEANS and agrees[known].mean() >= _NEARLY_ALL)


def by_its_clock(table: Readings, at: At, of_run: bool, before: float) -> Floats | None:
    """Seconds of a step at each redraw of one run of a bar, by the bar's clock, of whole seconds mostly; None where its rate
    tells as much.

    The clock is all there is of a bar without a rate. It is right where it is ``of_run``, so that the rate is all that passed
    over the steps of its epoch; where the count leapt to where a resumed training goes on, which a smoothed rate remembers for
    some thirty redraws; and, if many seconds lie between two redraws, where the rate is rounded by more than they are
    (Lightning's ``0.04it/s``), or tells of other steps: a smoothed one spreads a pause over the steps behind it.
    """
    steps, clock, rate_s, rated = table.step[at], table.clock_s[at], table.time_s[at], table.throughput[at]
    tick_s = last_digit(clock[~np.isnan(clock)])
    unrated = bool(np.isnan(rate_s).all() and np.isnan(rated).all())
    if of_run or unrated or _leapt(steps, clock, rate_s):
        return clocks.differenced(steps, clock, tick_s, before)
    moved, passed = np.diff(steps), np.diff(clock)
    known = (moved > 0) & (passed > 0) & ~np.isnan(rate_s[1:])
    if not known.any() or np.median(passed) < MANY_TICKS * tick_s:
        return None
    each_s = float(np.median(passed[known] / moved[known]))
    rounded = (rated > 0).sum() > 1 and np.median(HALF_DIGIT / rated[rated > 0]) > _ROUNDED
    by_rate_s = float(np.median(rate_s[1:][known]))
    near_s = max(OFF * each_s, tick_s / float(np.median(moved[known])))
    if not rounded and abs(by_rate_s - each_s) <= near_s:
        return None
    # Two readings are seldom off by more than half a tick between them.
    return clocks.differenced(steps, clock, tick_s / 2, before)


def _leapt(steps: Floats, clock: Floats, rate_s: Floats) -> bool:
    """The first count of a run stands for steps that were not done: they would have been far faster than those behind them,
    and these far slower than the rates beside them.
    """
    moved = np.diff(steps)
    if not len(moved) or not clock[-1] - clock[0] >= _LONG_S or steps[0] < _LEAP * np.median(moved):
        return False
    end = max(int(np.argmax(clock - clock[0] >= _LONG_S)), min(REMEMBERED, len(moved)))
    taken_s, done = float(clock[end] - clock[0]), float(steps[end] - steps[0])
    by_rate_s = float((rate_s[1:] * moved)[:end].sum())
    return _FAR * by_rate_s < taken_s and _FAR * float(clock[0]) * done < taken_s * float(steps[0])


def written_at(table: Readings, at: At, runs: Sequence[At]) -> Floats:
    """When each redraw was written, in Unix milliseconds: a line that ends with the last of many redraws has the time of that
    one, and the bar's clock tells how long before it the others were. NaN where the line has no time.
    """
    times, clock, line = table.time_ms[at].copy(), table.clock_s[at], table.line[at]
    if np.isnan(times).all() or (np.diff(line) != 0).all():
        return times
    later: tuple[int, float] | None = None
    for here in reversed(list(runs)):
        for own in reversed(np.split(here, np.flatnonzero(np.diff(line[here])) + 1)):
            end_ms = float(times[own[-1]])
            again = later is not None and later[0] == int(line[own[-1]])
            if later is not None and again:
                # The bar was drawn anew behind it, in the same line.
                end_ms = min(end_ms, later[1])
            before = times[own[0] - 1] if own[0] else np.nan
            if len(own) > 1 or again:
                since_ms = 1000.0 * (clock[own[-1]] - clock[own])
                shifted = end_ms - np.where(np.isnan(since_ms), 0.0, np.maximum(since_ms, 0.0))
                same_line = own[0] and line[own[0] - 1] == line[own[0]]
                times[own] = shifted if same_line or np.isnan(before) else np.maximum(shifted, before)
            begun_ms = float(times[own[0]]) - 1000.0 * float(np.nan_to_num(clock[own[0]]))
            later = int(line[own[0]]), begun_ms
    return times
