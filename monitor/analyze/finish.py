"""How long until the last step? Seconds that 80 of 100 jobs keep to, from how this one has moved on so far.

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

from monitor.analyze.lost import LostWork

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
