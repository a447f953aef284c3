"""Counters that go by samples, turned into steps where the counts show how many samples a batch has."""

from __future__ import annotations

import numpy as np

from monitor.parse.rows import LEFT
from monitor.parse.table import At, Readings

# Kernels of one optimizer step alone take longer to launch.
_TOO_QUICK_S = 2e-4
_SMALLEST_BATCH = 8
# Of what says itself that it counts images.
_FEWEST_IMAGES = 2
_MOST_COUNTED = 2.0**53
# So many different counts of a bar tell its batch.
_FEWEST_COUNTS = 10
# So many redraws of a bar show whether it counts batches or their samples.
_FEWEST_REDRAWS = 5
# An epoch's whole seconds tell the time of its steps from here on, and of none that is shorter or of more: those are samples,
# which Keras 1 counts of a generator without saying so.
_FEWEST_SECONDS, _FASTEST_S, _MOST_STEPS = 5.0, 2e-3, 5_000
# So many reports behind the first of its epoch tell what that one counts; they come after so many batches at least.
_FEWEST_BEHIND, _LEAST_INTERVAL = 3, 2


def batches_of_keras(table: Readings, at: At, samples_per_epoch: frozenset[int]) -> None:
    """Of Keras's bars that count samples, the steps and their times, where redraws show how many a batch has; else no time.

    Keras said "ms/step" of them, too, until 2.3. It says on how many samples it trains; or the bar jumps by batches.
    """
    if table.format_of(at) != "keras":
        return
    redraws = np.unique(table.step[at[table.meaning[at] == table.code(LEFT)]]).astype(np.int64)
    batch = int(np.gcd.reduce(redraws)) if len(redraws) >= _FEWEST_REDRAWS else 1
    if batch > 1 and redraws[0] != batch:
        batch = 1  # the first batch is drawn always
    whole = at[~np.isnan(table.clock_s[at]) & (table.meaning[at] != table.code(LEFT))]
    with np.errstate(divide="ignore"):
        each_s = table.clock_s[whole] / table.step[whole]
    slow_enough, few_enough = each_s * batch >= _FASTEST_S, table.step[whole] <= _MOST_STEPS * batch
    known = (table.clock_s[whole] >= _FEWEST_SECONDS) & slow_enough & few_enough
    table.put(whole, time_s=np.where(known, each_s, np.nan), clock_s=np.nan)
    for bar in np.unique(table.bar[at]):
        own = at[table.bar[at] == bar]
        if batch == 1 and str(table.texts[bar]) not in map(str, samples_per_epoch):
            continue
        rate = np.where(np.isnan(table.throughput[own]), 1.0 / table.time_s[own], table.throughput[own])
        table.throughput[own] = rate
        table.throughput_unit[own[~np.isnan(rate)]] = table.code("samples/s")
        table.time_s[own] = batch / rate if batch > 1 else np.nan
        if batch > 1:
            table.put(own, step=np.ceil(table.step[own] / batch), total=np.ceil(table.total[own] / batch))


def batches_of_bar(table: Readings, at: At) -> None:
    """Counts a bar over samples by its batches: of each redraw but the last the count is a multiple of the batch's size, and
    it says that it counts images, or no optimizer step is as quick as one of what it counts.
    """
    counts, totals = table.step[at], table.total[at]
    inner = counts[(counts > 0) & (counts != totals) & (counts < _MOST_COUNTED)]
    of_images = bool((table.throughput_unit[at] == table.code("images/s")).any())
    with np.errstate(divide="ignore"):
        times = 1.0 / table.throughput[at] if of_images else table.time_s[at]
    many = len(np.unique(inner)) >= _FEWEST_COUNTS and not np.isnan(times).all()
    if not many or not (of_images or np.nanmedian(times) < _TOO_QUICK_S):
        return
    size = int(np.gcd.reduce(inner.astype(np.int64)))
    if size >= (_FEWEST_IMAGES if of_images else _SMALLEST_BATCH):
        table.put(at, step=np.ceil(counts / size), total=np.ceil(totals / size), time_s=times * size)
        if not of_images:
            table.throughput[at] = table.throughput[at] / size


def batch_of_fraction(table: Readings, at: At) -> float:
    """How many samples a batch has, by the reports of one epoch that count the samples of all; NaN where they count steps.

    "loss: 2.3  [   64/60000]" comes behind the first batch, and from there on 6400 lie between two. A count of batches begins
    with the first of them, or with as many as lie between two reports.
    """
    steps, totals = table.step[at], table.epoch_total[at]
    size, behind = float(steps[0]), steps[1:][steps[1:] != totals[1:]]
    if len(behind) < _FEWEST_BEHIND or not size >= _SMALLEST_BATCH or np.isnan(totals).any():
        return np.nan
    interval = behind[0] - size
    every = (np.diff(behind) == interval).all() and interval >= _LEAST_INTERVAL * size and interval % size == 0
    return size if every else np.nan
