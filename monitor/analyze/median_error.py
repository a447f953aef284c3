"""How far may the median of a run's step times be from the one that the same job would settle on? By a block bootstrap.

Step times are correlated: thermal states, data shards and neighbors last for a while. So blocks of neighboring times are
drawn (moving blocks, Künsch 1989). Their length is that of Politis and White (2004; corrected 2009) for the signs of the
times about their median, which is what a median answers to, but no less than a fifth of the run and than 40 steps: a short
run does not show how long its noise keeps. With so few blocks the error has few degrees of freedom, which the interval
has to take into account. A level that visibly moves from fifth to fifth is no noise that averages out: it is added.

Constants were chosen on simulated pairs; ``benchmarks/comparison.py`` draws others, and says what comes of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]

_DRAWS = 200
_SEED = 20041
# Of fewer values no correlation is told.
_FEWEST = 16
#: Longer series are taken as medians of so many pieces.
_MOST = 1_000
_FIFTHS = 5
_LEAST_BLOCK_STEPS = 40.0
# A level that moves: such a spread between fifths comes of noise alone in two runs of a hundred.
_MOVES = 0.02
# The mean of a walk is this many times as far from its beginning as from its own pieces (variances: n/3 and n/6).
_WALK = 2.0
# So many times the error of independent steps is worth a word.
_LASTS = 3.0
_GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True, slots=True)
class Level:
    """The median of a run in logarithms, its standard error, and how many degrees of freedom that has."""

    log_median: float
    error: float
    count: int
    """Of the values that blocks were made of,"""
    stride: float
    """each so many steps after the one before."""
    noise_lasts: float
    """The length of a block by the noise itself."""
    most_freedom: float
    lasts: bool
    """The noise lasts: the error is several times that of as many independent steps."""

    def of_longer(self, times: float) -> tuple[float, float]:
        """Error and degrees of freedom of a run that is so many times as long; 1 for this one."""
        count = self.count * times
        freedom = max(count / _length(count, self.noise_lasts, self.stride) - 1, 1.0)
        return self.error / times**0.5, min(freedom, self.most_freedom)


def level(times_s: Floats, unit_s: float = 0.0, stride: float = 1.0) -> Level:
    """The level of positive times in their order, each ``stride`` steps after the one before.

    Times that are printed in whole units of ``unit_s`` are spread over their unit; where they hardly leave one, how far
    that is from the truth is not known, and part of the error.
    """
    within = (np.arange(len(times_s)) * _GOLDEN) % 1 - 0.5 if np.ptp(times_s) > 0 else 0.0
    values = np.log(np.maximum(times_s + unit_s * within, 1e-3 * times_s))
    middle = float(np.median(values))
    size = -(-len(values) // _MOST)
    if size > 1:
        values, stride = _medians(values, len(values) // size), stride * size
    count = len(values)
    own = min(_block_length(values), count / 3)
    moved, alone = _moved(values, own), _error(values, 1.0)
    error = max(_error(values, _length(count, own, stride)), moved)
    lasts = error > _LASTS * alone > 0
    # A uniform error over one unit: noise that reaches beyond it averages it out.
    if unit_s and float(np.subtract(*np.quantile(times_s, [0.9, 0.1]))) < 1.5 * unit_s:
        error = float(np.hypot(error, unit_s / 12**0.5 / float(np.median(times_s))))
    return Level(middle, error, count, stride, own, _FIFTHS - 1.0 if moved else np.inf, lasts)


def _medians(values: Floats, pieces: int) -> Floats:
    """Those of so many pieces in their order, as even as can be."""
    short, longer = divmod(len(values), pieces)
    cut = longer * (short + 1)
    halves = (values[:cut].reshape(longer, short + 1), values[cut:].reshape(pieces - longer, short))
    out: Floats = np.concatenate([np.median(half, axis=1) for half in halves if len(half)])
    return out


def _length(count: float, own: float, stride: float) -> float:
    """Of a block."""
    return min(max(own, count / _FIFTHS, _LEAST_BLOCK_STEPS / stride), count / 3)


def _error(values: Floats, length: float) -> float:
    """The standard deviation of the median over resamples made of blocks, for as many values."""
    count, size = len(values), max(1, min(round(length), len(values) - 1))
    blocks = -(-count // size)
    starts = np.random.default_rng(_SEED).integers(0, count - size + 1, (_DRAWS, blocks))
    places = (starts[:, :, None] + np.arange(size)).reshape(_DRAWS, -1)[:, :count]
    drawn = np.median(values[places], axis=1)
    # Blocks overlap, so that they differ less than ones that stand apart.
    return float(drawn.std() * np.sqrt(count / (count - size)))


def _moved(values: Floats, own_length: float) -> float:
    """By how much the level of the whole is moved where its fifths differ by more than noise; 0 where they do not."""
    count = len(values)
    if count < 4 * _FIFTHS:
        return 0.0
    fifths = np.array([np.median(piece) for piece in np.array_split(values, _FIFTHS)])
    between, noise = float(fifths.var(ddof=1)), _FIFTHS * _error(values, own_length) ** 2
    if noise <= 0:
        return float(np.sqrt(_WALK * between))
    chance = float(special.fdtrc(_FIFTHS - 1, max(count / own_length - 1, 1.0), between / noise))
    return float(np.sqrt(_WALK * (between - noise))) if chance < _MOVES and between > noise else 0.0


def _block_length(values: Floats) -> float:
    """Politis and White's automatic length for the moving-block bootstrap of a mean, of the signs about the median."""
    signs = np.sign(values - np.median(values))
    count = len(signs)
    signs -= signs.mean()
    power = float(signs @ signs)
    if count < _FEWEST or power <= 0:
        return 1.0
    together = max(5, int(np.ceil(np.log10(count) ** 0.5)))
    most = min(int(np.ceil(count**0.5)) + together, count - 1)
    correlation = np.array([signs[lag:] @ signs[: count - lag] for lag in range(1, most + 1)]) / power
    small = np.abs(correlation) < 2 * np.sqrt(np.log10(count) / count)
    # The first lag behind which a few in a row are small, else the last that is not.
    runs = np.flatnonzero(np.convolve(small, np.ones(together), "valid") >= together)
    last = int(runs[0]) if len(runs) else int(np.flatnonzero(~small)[-1]) + 1
    width = min(2 * max(last, 1), most)
    lags = np.arange(1, width + 1)
    weights = np.clip(2 * (1 - lags / width), 0, 1) * correlation[:width]
    bend, power_at_zero = 2 * float(weights @ lags), 1 + 2 * float(weights.sum())
    if power_at_zero <= 0:
        return 1.0
    return float(np.clip((1.5 * bend**2 / power_at_zero**2) ** (1 / 3) * count ** (1 / 3), 1, 3 * count**0.5))
