"""How long a step takes: the spread by node and over all; how far the job has come, and how long until the last step: seconds
that 80 of 100 jobs keep to, from how this one has moved on so far.

What is left is a sum of three parts, each with its own uncertainty; the band is the 10th to the 90th percentile of draws.

**Steps.** Their time is a level that wanders (a random walk of variance q a report) with noise around it (variance
s). The mean of the last w reports misses the mean of the next l by a variance of s (1/w + 1/l) + q (w + l) / 3; w is
chosen to make that least, w = sqrt(3 s / q), and the mean of the last w reports is the forecast. s and q are read off
the differences between the means of neighboring blocks of h reports, whose mean square is 2 s / h + 2 q h / 3: a pace
that stays correlated for a while shows in long blocks as a larger s, drift as a q. A pace may also change for the
first time: ``UNSEEN`` is the relative standard deviation of that over as much work as has been seen.

**Checkpoints, evaluations, and pauses that come back** in equal distances of steps are counted exactly: as many as fit in.

**All else that held the job up** (restarts with the work done again, single slow steps) comes at random, at the rate seen: the
rate is gamma distributed after k events (k, over the steps seen), their number Poisson, their costs drawn from those seen.
What has never happened is not foreseen.

Source: local level model and its variogram (Harvey, Forecasting, structural time series models); the constants were
fitted on one half of simulated jobs and checked on the other (``benchmarks/time_to_finish.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from monitor.analyze.journal import codes
from monitor.analyze.lost import LostWork, without
from monitor.model import Job, StepSpread, StepStats


def spread(steps: pd.DataFrame) -> StepSpread | None:
    """The spread of the rows given, without warm-up; None of no rows. Times are None where no line gives one."""
    if steps.empty:
        return None
    times_s, reports = _steady(steps), int(steps["reports"].sum())
    return StepSpread(reports, *_percentiles(times_s)) if len(times_s) else StepSpread(reports, None, None, None)


def by_node(steps: pd.DataFrame) -> dict[str, StepSpread]:
    """node -> spread, for the nodes that the log attributes steps to."""
    known = steps[steps["node"] != ""]
    # A frame a node takes a hundred times as long as its figures do.
    node, names = pd.factorize(known["node"], sort=True)
    times_s, warm_up = known["step_time_s"].to_numpy("float64"), known["warm_up"].to_numpy("bool")
    steady = ~np.isnan(times_s) & ~warm_up
    # Where a node has warm-up alone that is what there is.
    only = np.bincount(node[steady], minlength=len(names)) == 0
    steady |= ~np.isnan(times_s) & only[node]
    at = np.flatnonzero(steady)[np.argsort(node[steady], kind="stable")]
    reports = np.bincount(node, known["reports"].to_numpy("float64"), minlength=len(names))
    parts = np.split(times_s[at], np.searchsorted(node[at], np.arange(1, len(names))))
    found = {}
    for name, own_s, count in zip(names, parts, reports.tolist(), strict=False):
        found[str(name)] = StepSpread(int(count), *(_percentiles(own_s) if len(own_s) else (None, None, None)))
    return found


def _percentiles(times_s: NDArray[np.float64]) -> tuple[float, float, float]:
    """The median, and the times that a tenth and nine tenths are below."""
    p10, p50, p90 = np.quantile(times_s, [0.1, 0.5, 0.9]).tolist()
    return p50, p10, p90


def summary(steps: pd.DataFrame, job: Job, lost: LostWork | None = None) -> StepStats | None:
    """The job's step statistics; None where no step was recognized. A step that was ``lost`` and done again counts once.

    The time to finish is left to ``monitor.analyze.step_time``.
    """
    overall = spread(steps)
    if overall is None:
        return None
    times = steps["step_time_s"].dropna()
    # All columns of a million rows are not copied for three.
    kept = without(steps[["segment", "step", "timestamp"]], lost)
    last = kept[kept["segment"] == kept["segment"].max()]
    done_steps = _done(last)
    total_steps = _planned(steps, job)
    if total_steps is not None and (done_steps or 0) > total_steps:
        total_steps = None
    return StepStats(
        count=overall.count,
        distinct=_of_the_most(steps)
        if is_aggregated(steps)
        else _distinct(kept, ["step"] if lost else ["segment", "step"]),
        first_step_s=None if times.empty else float(times.iloc[0]),
        median_s=overall.median_s,
        p10_s=overall.p10_s,
        p90_s=overall.p90_s,
        nodes_observed=own_timings(steps),
        formats=tuple(sorted(steps["format"].unique())),
        done=done_steps,
        total=total_steps,
        lost_steps=lost.steps if lost else 0,
        lost_seconds=lost.seconds if lost else None,
    )


def is_aggregated(steps: pd.DataFrame) -> bool:
    """True where rows stand for many reports each: their times are medians of a minute or more."""
    return bool((steps["reports"] > 1).any() or (steps["kind"] == "aggregated").any())


def _distinct(steps: pd.DataFrame, names: list[str]) -> int:
    """How many different steps were reported."""
    return int(steps.drop_duplicates(names)["step"].notna().sum())


def _of_the_most(steps: pd.DataFrame) -> int:
    """Of sums over minutes: as many steps as the process that reported the most did."""
    by_writer = steps.groupby(["stream", "rank"], dropna=False, observed=True)["reports"].sum()
    return int(by_writer.max())


# Where a log does not print how many steps are planned, the script was told under one of these names.
_PLANNED = (
    "max_steps",
    "train_iters",
    "max_iters",
    "total_steps",
    "num_train_steps",
    "num_training_steps",
    "train_steps",
)


def _done(steps: pd.DataFrame) -> int | None:
    """Steps done by the last report; a loop that counts from 0 has done one more than it prints."""
    numbers = steps["step"].dropna()
    if numbers.empty:
        return None
    first, gaps = int(numbers.iloc[0]), numbers.drop_duplicates().diff().dropna()
    gaps = gaps[gaps > 0]
    interval = int(gaps.min()) if len(gaps) else 1
    from_zero = first == 0 or (interval > 1 and first % interval == interval - 1)
    return int(numbers.max()) + (1 if from_zero else 0)


def _planned(steps: pd.DataFrame, job: Job) -> int | None:
    total = steps["total"].max()
    if not pd.isna(total):
        return int(total)
    for name in _PLANNED:
        value = job.configuration[name].value if name in job.configuration else None
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None


def variation(steps: pd.DataFrame) -> float | None:
    """MAD / median of the step times without warm-up: 0.03 and less is steady. None of fewer than ten."""
    times_s = _steady(steps)
    if len(times_s) < 10:
        return None
    median_s = np.median(times_s)
    return float(np.median(np.abs(times_s - median_s)) / median_s)


def _steady(steps: pd.DataFrame) -> NDArray[np.float64]:
    times_s, warm_up = steps["step_time_s"].to_numpy("float64"), steps["warm_up"].to_numpy("bool")
    known = ~np.isnan(times_s)
    steady: NDArray[np.float64] = times_s[known & ~warm_up]
    return steady if len(steady) else times_s[known]


# So many steps must be common to two nodes before their figures are called the same ...
LEAST_STEPS = 5
# ... in this share of them every figure must be: one line may be lost or cut ...
LEAST_SHARE = 0.9
# ... and so many of them must differ from one another: a time that never moves agrees by itself.
LEAST_DIFFERENT = 0.5
_FIGURES = ["step_time_s", "throughput"]
_KEY = ["segment", "step", "node"]


# A node is compared with so many others at most: thousands that print much alike would be millions of pairs.
_MOST_COMPARED = 16


@dataclass(frozen=True, slots=True)
class _Printed:
    """What one node printed."""

    step: NDArray[np.int64]
    """A number for each step that it reported."""
    figure: NDArray[np.int64]
    """The same number for the same time and throughput."""
    known: NDArray[np.int8]
    """1 where it printed a time, 2 a throughput, 3 both."""


def own_timings(steps: pd.DataFrame) -> int:
    """How many nodes tell a timing of their own; nodes whose figures are the same step for step count as one.

    The same time and throughput in all digits is one figure, reduced over all ranks and printed by each of them: it says
    nothing of the single node.
    """
    named = steps["node"] != ""
    every = int(steps.loc[named, "node"].nunique())
    if every < 2:
        return every
    rows = steps.loc[named & steps["step"].notna(), ["format", *_KEY, *_FIGURES]]
    return max(1, every - sum(_repeating(written) for _, written in rows.groupby("format", observed=True)))


def _repeating(rows: pd.DataFrame) -> int:
    """How many nodes print the figures of another one."""
    step, node = codes(rows["segment"], rows["step"]), codes(rows["node"])
    if len(np.unique(cells := node * (int(step.max()) + 1) + step)) < len(cells):
        # One report a step and node is the rule; a median of each is only made where it is not.
        return _repeating(rows.groupby(_KEY, observed=True, dropna=False)[_FIGURES].median().reset_index())
    time_s, throughput = (rows[name].to_numpy("float64") for name in _FIGURES)
    figure = codes(time_s, throughput)
    known = (~np.isnan(time_s) + 2 * ~np.isnan(throughput)).astype(np.int8)
    order = np.argsort(node, kind="stable")
    step, figure, known = step[order], figure[order], known[order]
    printed = np.split(np.arange(len(order)), np.flatnonzero(np.diff(node[order])) + 1)
    # Who prints what nobody else does at that step is like nobody: most nodes, as a rule.
    cell = codes(step, figure)
    shared = (np.bincount(cell)[cell] > 1) & (known > 0)
    different: list[tuple[NDArray[np.int64], NDArray[np.int8]]] = []
    repeating = 0
    for at in printed:
        own = at[shared[at]]
        if len(own) < LEAST_SHARE * LEAST_STEPS or len(np.unique(figure[own])) < LEAST_DIFFERENT * LEAST_STEPS:
            continue
        one = _Printed(step[at], figure[at], known[at])
        if any(_same(one, *other) for other in different):
            repeating += 1
        elif len(different) < _MOST_COMPARED:
            size = int(step.max()) + 1
            by_step, seen = np.full(size, -1), np.zeros(size, np.int8)
            by_step[one.step], seen[one.step] = one.figure, one.known
            different.append((by_step, seen))
    return repeating


def _same(one: _Printed, figure: NDArray[np.int64], known: NDArray[np.int8]) -> bool:
    """Whether a node's figures are those of another, which are given by step."""
    both = one.known & known[one.step] != 0
    equal = both & (one.figure == figure[one.step])
    common = np.count_nonzero(both)
    if common < LEAST_STEPS or np.count_nonzero(equal) < LEAST_SHARE * common:
        return False
    return len(np.unique(one.figure[both])) >= LEAST_DIFFERENT * int(common)


Floats = NDArray[np.float64]

#: Fewer gaps between reports tell nothing about the next ones.
FEWEST_GAPS = 5
UNSEEN = 0.01
_BAND = (10.0, 50.0, 90.0)
_DRAWS = 2000
_LEVELS = 128
# A report is late, and not just noisy, beyond so many robust standard deviations and this share of its steps.
_LATE_SIGMA = 6.0
_LATE_SHARE = 0.25
_ALIKE = 0.1
# Where lines come in blocks, most gaps are nearly nothing.
_BLOCKS = 0.2
_MARKED = ("checkpoint", "evaluation")


def seconds_to_finish(
    journal: pd.DataFrame, done: int | None, total: int | None, now: datetime, lost: LostWork | None = None
) -> tuple[float, float, float] | None:
    """(low, mid, high) seconds from ``now`` to the last step's report: 10th, 50th and 90th percentile.

    ``journal`` is that of ``monitor.analyze.journal``; ``done`` and ``total`` are counts of steps. None where one of them is not
    known, where fewer than five gaps are, or where the counter begins again (by epochs) and so says nothing of the whole.
    """
    if done is None or total is None or journal.empty:
        return None
    progress = _progress(journal, lost)
    if progress is None:
        return None
    left = total - done
    if left <= 0:
        return (0.0, 0.0, 0.0)
    rng = np.random.default_rng(7)  # the same journal has the same band
    level, events = _split(progress)
    seconds = left * _pace(level, progress.steps, left, rng)
    for these in _kinds(progress, events):
        seconds = seconds + _held_up(progress, these, events[these], left, rng)
    low, mid, high = np.percentile(np.maximum(seconds, 0.0), _BAND)
    # What has passed since the last report is of the next step, and of no more than that.
    since = 0.0 if pd.isna(progress.last) else (now - progress.last).total_seconds()
    since = min(max(since, 0.0), float(np.median(level) * np.median(progress.steps)))
    return (max(0.0, float(low) - since), max(0.0, float(mid) - since), max(0.0, float(high) - since))


@dataclass(frozen=True, slots=True)
class _Progress:
    """Reports that came further than any before, each with the steps and the seconds since the one before it."""

    number: Floats
    steps: Floats
    gap_s: Floats
    marked: dict[str, NDArray[np.bool_]]
    last: pd.Timestamp


def _progress(journal: pd.DataFrame, lost: LostWork | None) -> _Progress | None:
    timed = bool(journal["at"].notna().all())
    number = journal["step"].to_numpy("float64", na_value=np.nan)
    # Lines written out of turn, by another process or in blocks, fall back by little.
    fell = journal["steps"].isna().to_numpy()[1:] & (np.diff(number) <= 0)
    if fell.any() and lost is None and not journal["restart"].to_numpy()[1:][fell].all():
        return None
    if timed:
        at = np.maximum.accumulate(journal["at"].to_numpy("datetime64[ms]").astype("int64")) / 1000
    else:
        own = journal["time_s"].to_numpy("float64")
        known = np.isfinite(own)
        journal, number = journal[known], number[known]
        counts = journal["steps"].to_numpy("float64")
        usual = np.nanmedian(counts) if np.isfinite(counts).any() else 1.0
        at = np.cumsum(own[known] * np.where(np.isfinite(counts), counts, usual))
    further = number > np.maximum.accumulate(np.append(-np.inf, number[:-1]))
    rows = np.flatnonzero(further)
    if timed and journal["wall_s"].isna().all() and len(rows) > FEWEST_GAPS:
        gaps = np.diff(at[rows])
        # The last line of each block.
        rows = rows[np.append(gaps > _BLOCKS * gaps.mean(), True)]
    # Tracing and compilation come once.
    first = int(np.argmin(journal["warm_up"].to_numpy()[rows])) if len(rows) else 0
    rows = rows[max(0, first - 1) :]
    if len(rows) <= FEWEST_GAPS:
        return None
    marked = {}
    for name in _MARKED:
        told = np.cumsum(journal[name].to_numpy(dtype="int64"))
        marked[name] = np.diff(told[rows]) > 0
    return _Progress(number[rows][1:], np.diff(number[rows]), np.diff(at[rows]), marked, journal["at"].iloc[-1])


def _split(progress: _Progress) -> tuple[Floats, Floats]:
    """(seconds a step without, seconds held up by) what is no ordinary step, for each report."""
    each = progress.gap_s / progress.steps
    count = len(each)
    plain = ~(progress.marked["checkpoint"] | progress.marked["evaluation"])
    if plain.sum() < FEWEST_GAPS:
        plain = np.ones(count, dtype=bool)
    block = np.minimum(np.arange(count) * _levels(count) // count, _levels(count) - 1)
    medians = pd.Series(np.where(plain, each, np.nan)).groupby(block).median()
    level = medians.ffill().bfill().to_numpy("float64")[block]
    noise = 1.4826 * float(np.median(np.abs(each - level)[plain]))
    late = each - level > np.maximum(_LATE_SIGMA * noise, _LATE_SHARE * level)
    late |= ~plain & (each - level > 3 * noise)
    held_up = np.where(late, (each - level) * progress.steps, 0.0)
    return np.asarray(np.where(late, level, each)), np.asarray(held_up)


def _levels(count: int) -> int:
    return int(min(_LEVELS, max(1, count // 16)))


def _pace(each: Floats, steps: Floats, left: int, rng: np.random.Generator) -> Floats:
    """Draws of the mean seconds of the steps that are left."""
    count, ahead = len(each), max(1.0, left / float(np.mean(steps)))
    noise, walk = _variances(each)
    width = count if walk <= 0 else int(np.clip(np.sqrt(3 * noise / walk), min(count, 4), count))
    mean = float(np.average(each[-width:], weights=steps[-width:]))
    variance = noise * (1 / width + 1 / ahead) + walk * (width + ahead) / 3
    variance += (UNSEEN * mean) ** 2 * ahead / count
    freedom = float(np.clip(count / 4, 3, 30))
    drawn = mean + np.sqrt(variance) * rng.standard_t(freedom, _DRAWS)
    return np.asarray(np.maximum(drawn, 0.2 * mean))


def _variances(each: Floats) -> tuple[float, float]:
    """(s, q) of the local level model, from the differences of neighboring block means over doubling lengths."""
    lengths, squares, weights = [], [], []
    length = 1
    while len(each) // length >= 4:
        blocks = each[len(each) % length :].reshape(-1, length).mean(axis=1)
        square = float(np.mean(np.diff(blocks) ** 2))
        if square > 0:
            lengths.append(length)
            squares.append(square)
            # Short blocks are many and say little about long times.
            weights.append(min(len(blocks) - 1, 16))
        length *= 2
    if not lengths:
        return 0.0, 0.0
    h, weight = np.array(lengths, dtype=float), np.array(weights, dtype=float)
    ratios = np.append(0.0, np.logspace(-8, 1, 55))
    shape = 2 / h + 2 / 3 * ratios[:, None] * h
    away = np.log(np.array(squares)) - np.log(shape)
    scale = np.average(away, axis=1, weights=weight)
    misfit = np.average((away - scale[:, None]) ** 2, axis=1, weights=weight)
    best = int(np.argmin(misfit))
    noise = float(np.exp(scale[best]))
    return noise, noise * float(ratios[best])


def _kinds(progress: _Progress, events: Floats) -> list[NDArray[np.intp]]:
    """The places of the reports that were held up, by what for."""
    held = events > 0
    checkpoint = held & progress.marked["checkpoint"]
    evaluation = held & progress.marked["evaluation"] & ~checkpoint
    kinds = [np.flatnonzero(mask) for mask in (checkpoint, evaluation, held & ~checkpoint & ~evaluation)]
    return [places for places in kinds if len(places)]


def _held_up(
    progress: _Progress, places: NDArray[np.intp], costs: Floats, left: int, rng: np.random.Generator
) -> Floats:
    """Draws of the seconds that events of one kind will take in the steps that are left."""
    seen = float(progress.steps.sum())
    number = progress.number[places]
    period = _period(number, float(progress.steps.max()))
    # The last report may be of an earlier step than has been reached, after a restart.
    end = progress.number[-1] + left
    if period is not None:
        counts = np.full(_DRAWS, max(0.0, np.ceil((end - number[-1]) / period) - 1))
    else:
        counts = rng.poisson(rng.gamma(len(costs), 1 / seen, _DRAWS) * left).astype("float64")
    if len(costs) > 200:
        mean, spread = np.full(_DRAWS, costs.mean()), np.full(_DRAWS, costs.std())
    else:
        shares = rng.dirichlet(np.ones(len(costs)), _DRAWS)
        mean = shares @ costs
        spread = np.sqrt(np.maximum(shares @ costs**2 - mean**2, 0.0))
    drawn = counts * mean + np.sqrt(counts) * spread * rng.standard_normal(_DRAWS)
    return np.asarray(np.maximum(drawn, 0.0))


def _period(number: Floats, interval: float) -> float | None:
    """The steps between events that come back in equal distances; None where they do not."""
    distances = np.diff(number)
    if len(distances) < 2:
        return None
    usual = float(np.median(distances))
    alike = np.abs(distances - usual) <= max(interval, _ALIKE * usual)
    return float((number[-1] - number[0]) / len(distances)) if alike.all() else None
