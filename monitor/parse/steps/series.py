"""One writer's reports in order: echoes taken out, parts summed, counters that begin again cut into segments.

Each function takes a table and the places of ONE series in it (one stream, rank and format) and gives the places that
stay; new numbers are written into the table.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from monitor.parse.columns import Floats
from monitor.parse.rows import BARS, LEFT, UNCOUNTED
from monitor.parse.steps.timing import written_ms
from monitor.parse.table import At, Codes, Readings, by_code

# So many lines may lie between a report and what is printed of it on lines of their own: a step of reinforcement
# learning is announced, and its rollouts talk before its figures come.
_BLOCK_LINES = 2000
# A second handler prints within this time, by clocks of whole seconds too.
_ECHO_MS = 1000
# So many of all reports are echoes where there is one: half, less what was cut.
_ECHOES = 0.25
# Lines of one step stand close together.
_SAME_STEP_LINES = 20
_TOLD = ("time_s", "clock_s", "throughput", "loss", "gpu_memory_gib")
_LOSS = _TOLD.index("loss")
_BUT_LOSS = [place for place in range(len(_TOLD)) if place != _LOSS]
_MOSTLY = 0.8
# So many reports of one step alone are of as many epochs.
_FEWEST_ENDS = 3
# A log that tells more of its steps twice does so of step 0, too.
_SELDOM_AGAIN = 0.1
# Of fewer reports nothing is said; a counter that falls more often begins again after three reports or less.
_FEWEST_COUNTS, _MOST_FALLS = 6, 0.3
# So many runs of a counter with and without a loss tell that the latter evaluate.
_FEWEST_RUNS = 3
# So many reports later such a counter has come to the same numbers; of thousands any numbers are the same again.
_SOON = 100
# Their head is printed before the step is done.
_ANNOUNCED = "nemo-rl"
# Their losses may have names of parts.
_OF_ANY_NAME = frozenset({"key-value", "learned"})


def _fill(table: Readings, report: int, more: int) -> None:
    """Puts what another line says into a report that lacks it."""
    for name in ("time_s", "clock_s", "throughput", "loss", "gpu_memory_gib", "learning_rate"):
        column = getattr(table, name)
        if np.isnan(column[report]) and not np.isnan(column[more]):
            table.put(report, **{name: column[more]})
            if name == "throughput":
                table.throughput_unit[report] = table.throughput_unit[more]


def joined(table: Readings, at: At) -> At:
    """Lines that say more of the report before them, put into it: a block of lines is one report."""
    more = table.meaning[at] == table.code("of-last")
    if not more.any():
        return at
    newest = -1
    for place, is_more in zip(at.tolist(), more.tolist(), strict=True):
        if not is_more:
            newest = place
        elif newest >= 0 and table.line[place] - table.line[newest] <= _BLOCK_LINES:
            _fill(table, newest, place)
    reports: At = at[~more]
    if table.format_of(at) == _ANNOUNCED:
        reports = reports[~np.isnan(table.time_s[reports])]
    return reports


def put_together(table: Readings, at: At) -> At:
    """One report for the lines of one step that each tell something else of it: a line for the loss, a line for the time, or
    one for each part of the loss.

    Ranks that do not say who they are tell the same things of a step, and stay apart.
    """
    if len(at) < 2:
        return at
    steps, epochs, lines = table.step[at], np.nan_to_num(table.epoch[at], nan=-1.0), table.line[at]
    follows = (np.diff(steps) == 0) & (np.diff(epochs) == 0) & (np.diff(lines) <= _SAME_STEP_LINES)
    if not follows.any():
        return at
    told = np.array([~np.isnan(getattr(table, name)[at]) for name in _TOLD])
    tells = np.any(told, axis=0)
    stays = np.ones(len(at), bool)
    whole = table.code("")
    losses = table.bar[at].tolist() if table.format_of(at) in _OF_ANY_NAME else [whole] * len(at)
    first, seen = 0, {losses[0]}
    for place, more in enumerate(follows.tolist(), start=1):
        if not more:
            first, seen = place, {losses[place]}
            continue
        both = told[:, first] & told[:, place]
        is_part = losses[place] not in seen and not both[_BUT_LOSS].any()
        if tells[first] and tells[place] and (is_part or not both.any()):
            if told[0, place]:
                table.meaning[at[first]] = table.meaning[at[place]]
            _fill(table, int(at[first]), int(at[place]))
            if both[_LOSS] and whole not in seen:
                # Of several parts without their sum none is the loss.
                table.loss[at[first]] = table.loss[at[place]] if losses[place] == whole else np.nan
            told[:, first] |= told[:, place]
            seen.add(losses[place])
            stays[place] = False
        elif told[_LOSS, first] and not told[_LOSS, place] and table.texts[table.meaning[at[place]]] != "part":
            stays[place] = False  # what followed: an evaluation, a checkpoint
        else:
            first, seen = place, {losses[place]}
    together: At = at[stays]
    return together


def each_once(table: Readings, at: At) -> At:
    """Without the echo of a second log handler, which prints every report of a stream twice, right behind the first.

    Where a report stands there more than twice it is several ranks that print the same: all are kept.
    """
    if not len(at):
        return at
    near = np.diff(table.line[at]) <= 2
    at_ms = written_ms(table, at)
    if at_ms is not None:
        near &= ~(np.abs(np.diff(at_ms)) > _ECHO_MS)
    same = table.same_as_before(at) & near & ~np.isnan(table.step[at][1:])
    if (same[1:] & same[:-1]).any():
        return at
    # A handler does so all the time: the end of one epoch and of the next, with a line between, may tell the same by chance.
    if same.sum() < _ECHOES * len(at):
        same &= np.diff(table.line[at]) == 1
    # The clock may stand in front of the echo alone.
    first, echo = at[:-1][same], at[1:][same]
    for name in ("time_ms", "stamp_ms"):
        column = getattr(table, name)
        table.put(first, **{name: np.where(np.isnan(column[first]), column[echo], column[first])})
    once: At = at[np.append(True, ~same)]
    return once


def fitted(table: Readings, at: At) -> At:
    """Without the bars of Keras's ``evaluate``, which look like those of ``fit`` but for their number of batches.

    Of several numbers the one that takes longest is trained, and any that has three epochs in a row. Of one line each
    nothing is known.
    """
    if table.format_of(at) != "keras":
        return at
    # Whole epochs tell more; of the one that is not whole yet the redraws do.
    whole, drawn = _whole(table, at)
    newest = drawn[(table.line[drawn] > table.line[whole[-1]]) & (table.bar[drawn] == table.bar[whole[-1]])]
    kept = _of_fit(table, whole)
    return np.concatenate([kept, newest]) if len(kept) and kept[-1] == whole[-1] else kept


def _whole(table: Readings, at: At) -> tuple[At, At]:
    """(the ends of Keras's epochs, the redraws beside them); where there is no end, the redraws are what there is."""
    under_way = table.meaning[at] == table.code(LEFT)
    return (at, at[:0]) if under_way.all() else (at[~under_way], at[under_way])


def _of_fit(table: Readings, at: At) -> At:
    """Of several numbers of batches the reports of those that are trained."""
    bars = table.bar[at]
    known = np.unique(bars[bars != table.code("")])
    if len(known) < 2 or len(at) == len(known):
        return at
    steps, lines = np.nan_to_num(table.step[at]), table.line[at]
    again = (steps[1:] < steps[:-1]) | ((steps[1:] == steps[:-1]) & (np.diff(lines) > 1))
    runs = bars[np.append(True, again | (bars[1:] != bars[:-1]))]
    kept = {int(runs[place]) for place in np.flatnonzero((runs[2:] == runs[1:-1]) & (runs[1:-1] == runs[:-2])) + 1}
    seconds = np.nan_to_num(table.time_s[at])
    lasts = [float(np.median(seconds[bars == bar])) * int(table.texts[bar]) for bar in known.tolist()]
    kept.add(int(known[int(np.argmax(lasts))]))
    return at[np.isin(bars, [*kept, table.code("")])]


def _epoch_first(table: Readings, at: At) -> None:
    """Of "Batch 4/300" the second number is no total where it moves more often than the first: batch 300 of epoch 4."""
    told = at[~np.isnan(table.total[at]) & np.isnan(table.epoch[at])]
    steps, totals = table.step[told], table.total[told]
    moved, went_on = int((np.diff(totals) != 0).sum()), int((np.diff(steps) != 0).sum())
    if moved > went_on and (moved > 1 or not went_on):
        table.put(told, epoch=steps, step=totals, total=np.nan)


def by_epoch(table: Readings, at: At) -> At:
    """Numbers the reports of a trainer that speaks only at the end of each epoch ("40/40 …"): by the steps of all epochs so
    far, where a time of one step says that steps are counted; else by the epoch.
    """
    _epoch_first(table, at)
    name = table.format_of(at) if len(at) else ""
    # MindSpore's line does not say that its step is the last of the epoch: that shows when the next epoch ends there, too.
    if not name.startswith("keras") and (name != "mindspore" or len(np.unique(table.epoch[at])) < 2):
        return at
    at, newest = _whole(table, at)
    steps = np.nan_to_num(table.step[at], nan=-1.0)
    counts, times = np.unique(steps, return_counts=True)
    if len(counts) > 2 or (len(counts) == 2 and times.min() * 2 > times.max()):
        return at
    # An evaluation at the end has a count of its own.
    each = counts[times.argmax()]
    epochs: At = at[steps == each]
    numbers = np.arange(1, len(epochs) + 1)
    table.put(epochs, step=numbers, epoch=numbers)
    if not each > 0 or np.isnan(table.time_s[epochs]).all():
        return epochs
    table.step[epochs] *= each
    # What is left of an epoch tells no time beside those that are whole.
    table.step[newest] += each * len(epochs)
    table.meaning[newest] = table.meaning[at[-1]]
    table.put(newest, epoch=len(epochs) + 1, total=np.nan, clock_s=np.nan, time_s=np.nan)
    return np.concatenate([epochs, newest])


def whole_steps(table: Readings, at: At) -> At:
    """Micro-batches summed into the optimizer step they end in; one whose micro-batches are not all there has no time."""
    at = _by_iterations(table, at)
    counters, steps = table.counter[at], table.step[at]
    is_part = table.meaning[at] == table.code("part")
    if not is_part.any() and not (counters > steps).any():
        return at
    whole = []
    parts: dict[int, float] = {}
    for place, part, done, step, last_s in zip(
        at.tolist(), is_part.tolist(), counters.tolist(), steps.tolist(), table.time_s[at].tolist(), strict=True
    ):
        if part:
            if done == done and last_s == last_s:
                parts[int(done)] = last_s
            continue
        if done > step > 0 and last_s == last_s:
            each, left = divmod(int(done), int(step))
            before = [parts.get(int(done) - back) for back in range(1, each)]
            known = [time_s for time_s in before if time_s is not None]
            complete = not left and len(known) == len(before)
            table.time_s[place] = last_s + sum(known) if complete else np.nan
        parts.clear()
        whole.append(place)
    return np.array(whole, dtype=np.intp)


def _by_iterations(table: Readings, at: At) -> At:
    """Reports of micro-batches that count steps, too: one a step, and its time that of a micro-batch times as many as make a
    step. How many, the two counters tell over the whole series; where they tell no whole number there is no time.
    """
    mine = table.meaning[at] == table.code("iteration")
    if not mine.any():
        return at
    rows = at[mine]
    steps, done = table.step[rows], table.counter[rows]
    table.put(rows, counter=np.nan)
    each = _micro_batches(steps, done)
    if each == 1.0:
        table.meaning[rows] = table.code("step")
        return at
    table.meaning[rows] = table.code("interval")
    starts = np.flatnonzero(np.diff(steps, prepend=np.nan) != 0)
    ends = np.append(starts[1:], len(rows)) - 1
    known = ~np.isnan(table.time_s[rows])
    sums = np.add.reduceat(np.where(known, table.time_s[rows], 0.0), starts)
    with np.errstate(divide="ignore", invalid="ignore"):
        table.time_s[rows[ends]] = each * sums / np.add.reduceat(known.astype(float), starts)
    whole: At = at[~mine | np.isin(at, rows[ends])]
    return whole


def _micro_batches(steps: Floats, done: Floats) -> float:
    """How many micro-batches make a step, by counters of both; NaN where no number of them fits every report."""
    begun = np.flatnonzero(np.diff(steps)) + 1
    first = begun if 2 < 2 * len(begun) < len(steps) else np.arange(len(steps))
    moved, passed = np.diff(steps[first]), np.diff(done[first])
    on = (moved >= 0) & (passed > 0)
    tried = [passed[on].sum() / moved[on].sum()] if moved[on].any() else []
    if len(begun) and steps[begun[0]] > 0:
        tried.append(done[begun[0]] / steps[begun[0]])
    if not tried:
        return 1.0 if (done <= steps).all() else float("nan")
    up = np.diff(done) > 0
    passed, moved = np.cumsum(np.diff(done)[up]), np.cumsum(np.diff(steps)[up])
    for each in np.maximum(np.round(tried), 1.0).tolist():
        if (np.abs(passed / each - moved) <= 1.0).all():
            return float(each)
    return float("nan")


def counts(table: Readings, at: At) -> bool:
    """False where what is called a step jumps up and down: the length of an episode, a size.

    A counter that begins again with each epoch, or that several processes print, soon comes to the same numbers.
    """
    at = at[~np.isnan(table.step[at])]
    steps = table.step[at]
    falls = (np.diff(steps) < 0) & np.isnan(table.total[at][1:])
    if len(steps) < _FEWEST_COUNTS or falls.mean() <= _MOST_FALLS:
        return True
    soon = np.arange(len(steps)) // _SOON
    return len(np.unique(soon + 1j * steps)) <= (1 - _MOST_FALLS) * len(steps)


def without_silent_runs(table: Readings, at: At) -> At:
    """Without the runs of a counter that tell no loss where others do: an evaluation that counts in the same words."""
    steps = table.step[at]
    if not len(at) or not (np.isnan(table.loss[at]).any() and np.isfinite(table.loss[at]).any()):
        return at
    starts = np.flatnonzero(np.append(True, np.diff(steps) <= 0))
    many = np.diff(np.append(starts, len(at)))
    told = np.add.reduceat(np.isfinite(table.loss[at]).astype(np.int64), starts)
    silent = (told == 0) & (many > 1)
    whole = (told >= _MOSTLY * many) & (many > 1)
    # They take turns; of two trainings one ends before the other begins.
    turns = int((silent[1:] != silent[:-1]).sum())
    if min(silent.sum(), whole.sum()) < _FEWEST_RUNS or (silent | whole).mean() < _MOSTLY or turns < whole.sum():
        return at
    kept: At = at[~np.repeat(silent, many)]
    return kept


def numbered(table: Readings, at: At) -> At:
    """Numbers the reports of a trainer that prints its loss and nothing else, once a step: the n-th is step n."""
    if len(at) and table.format_of(at) == UNCOUNTED:
        table.step[at] = np.arange(1, len(at) + 1)
    return at


def in_time(table: Readings, at: At) -> At:
    """In the order in which the lines were written, where some came late: a step and its time that fall together."""
    at_ms = written_ms(table, at)
    if at_ms is None or np.isnan(at_ms).any():
        return at
    late = (np.diff(at_ms) < 0) & (np.diff(table.step[at]) < 0)
    return at[np.argsort(at_ms, kind="stable")] if late.any() else at


def segments(table: Readings, at: At) -> list[At]:
    """Cut where the step counter began again; of one that does so with each epoch also where another epoch goes on with it."""
    if not len(at):
        return []
    steps = table.step[at]
    known = ~np.isnan(steps)
    newest = np.maximum.accumulate(np.where(known, np.arange(len(at)), -1))
    told = np.where(newest >= 0, steps[newest], -1.0)
    begun = (np.diff(told) < 0) | _told_again(table, at, told)
    another = np.diff(np.nan_to_num(table.epoch[at], nan=-1.0)) > 0
    if begun.any() and (begun & another).sum() >= _MOSTLY * begun.sum():
        begun |= another
    return np.split(at, np.flatnonzero(begun) + 1)


def _told_again(table: Readings, at: At, steps: Floats) -> NDArray[np.bool_]:
    """Where lines tell a step again, and that is another start, or another epoch that has no number: the first step, where
    hardly any other is told twice, or the one step that all of them tell.
    """
    again = (np.diff(steps) == 0) & (np.diff(table.line[at]) > 1)
    epochs = table.epoch[at]
    if table.format_of(at) in BARS:
        anew = False
    elif again.all() and steps[0] > 0:
        # Where epochs have numbers each may end there; several of one number are of several trainings.
        moved = np.diff(epochs)
        unnumbered = np.isnan(moved)
        anew = len(at) >= _FEWEST_ENDS if unnumbered.all() else bool((moved == 0).any()) and not unnumbered.any()
    else:
        first = steps[steps >= 0].min(initial=np.inf)
        others = again & (steps[1:] > first)
        anew = bool(others.sum() <= _SELDOM_AGAIN * (steps > first).sum())
        again &= (steps[1:] == first) & np.isnan(epochs[1:])
    out: NDArray[np.bool_] = again & anew
    return out


def number_on(table: Readings, at: At, segment: Codes) -> None:
    """Numbers the segments of a node's streams one after the other where the node was started again: each start has a
    stream of its own, which begins when the one before has ended.
    """
    for _, of_node in by_code(table.node, at):
        parts = [part for _, part in by_code(table.stream, of_node)]
        if len(parts) < 2 or any(np.isnan(table.time_ms[part]).any() for part in parts):
            continue
        parts.sort(key=lambda part: float(table.time_ms[part].min()))
        for before, part in pairwise(parts):
            if table.time_ms[part].min() >= table.time_ms[before].max():
                segment[part] += int(segment[before].max()) + 1
