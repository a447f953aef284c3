"""Whether one job is faster than another, by how much, and how sure that is. Two runs' step times go in, an interval comes out.

The interval is that of the ratio of the medians, 95 %, symmetric in the logarithm, so that two jobs that change places have
each other's inverse. In it is what a block bootstrap says of each run (``median_error``) and what two runs of one
configuration differ by for reasons of their own: other instances, another hour. A verdict is given where the interval does
not hold 0; so differences within some 1.4 % are never one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from monitor.analyze.pace import FEWEST_REPORTS, WAYS, By, StableSteps, grouped, unit_of

Verdict = Literal["faster", "slower", "cannot tell"]
Range = tuple[float, float, float]
Floats = NDArray[np.float64]

CONFIDENCE = 0.95
#: Standard deviation of one run's level among runs of the same configuration. An assumption: nobody has published it for
#: SageMaker. Single GPUs of one model differ by 8 % on average (arXiv 2208.11035), a job of many by far less.
RUN_TO_RUN = 0.005
# Windows that differ by more than this are made alike.
_UNALIKE = 1.5
_MOST_STEPS = 1_000_000
_DECIMALS = 9


@dataclass(frozen=True, slots=True)
class StepTimeChange:
    """Step times of B against A's."""

    by: By
    log_ratio: float
    levels: tuple[Level, Level]
    steps: tuple[int, int]
    strides: tuple[float, float]
    counts: tuple[int, int]
    """Of times, each of which stands for a stride of steps."""

    @property
    def half_width(self) -> float:
        """Of the interval, in the logarithm."""
        return _half_width(self.levels, (1.0, 1.0))

    def percent(self, work_ratio: float = 1.0) -> Range:
        """(low, middle, high) percent by which B's time is longer: of one step or, where B's steps have ``work_ratio``
        times the work of A's, of the same work."""
        middle = self.log_ratio - float(np.log(work_ratio))
        low, mid, high = (_percent(middle + side * self.half_width) for side in (-1, 0, 1))
        return low, mid, high

    def verdict(self, work_ratio: float = 1.0) -> Verdict:
        low, _, high = self.percent(work_ratio)
        return "faster" if high < 0 else "slower" if low > 0 else "cannot tell"

    def more_steps(self, work_ratio: float = 1.0) -> int | None:
        """How many steps more of each job would tell, if the middle stays where it is; 0 where they are told already, None
        where no number would."""
        return self._until(abs(self.log_ratio - float(np.log(work_ratio))))

    def more_steps_for(self, percent: float) -> int | None:
        """How many steps more of each would tell a difference of so many percent."""
        return self._until(float(np.log1p(percent / 100)))

    def _until(self, wanted: float) -> int | None:
        def would_do(more: int) -> bool:
            first, second = ((n + more / each) / n for n, each in zip(self.counts, self.strides, strict=True))
            return _half_width(self.levels, (first, second)) < wanted

        if would_do(0):
            return 0
        if not would_do(_MOST_STEPS):
            return None
        few, many = 0, _MOST_STEPS
        while many - few > 1:
            middle = (few + many) // 2
            few, many = (few, middle) if would_do(middle) else (middle, many)
        return _rounded_up(many)

    @property
    def smallest_percent(self) -> float:
        """The smallest difference that would be told with these steps."""
        return _percent(self.half_width)


def change(
    before: Mapping[By, StableSteps], after: Mapping[By, StableSteps], by: By | None = None
) -> StepTimeChange | None:
    """The change by the best way that both sides have, or ``by`` the one that is asked for; None where they share none."""
    shared = [way for way in WAYS if way in before and way in after and by in {None, way}]
    if not shared:
        return None
    a, b = _alike(before[shared[0]], after[shared[0]])
    if min(len(a.times_s), len(b.times_s)) < FEWEST_REPORTS:
        return None
    units = _units(a.times_s, b.times_s)
    levels = (level(a.times_s, units[0], a.stride), level(b.times_s, units[1], b.stride))
    return StepTimeChange(
        shared[0],
        levels[1].log_median - levels[0].log_median,
        levels,
        (a.steps, b.steps),
        (a.stride, b.stride),
        (len(a.times_s), len(b.times_s)),
    )


def _alike(a: StableSteps, b: StableSteps) -> tuple[StableSteps, StableSteps]:
    """Both as means over about as many steps: the median of single steps is not the one of means of skewed times."""
    return _over(a, b.window), _over(b, a.window)


def _over(steps: StableSteps, window: float) -> StableSteps:
    if window < _UNALIKE * steps.window:
        return steps
    size = max(1, round(window / steps.window))
    return StableSteps(
        grouped(steps.times_s, size),
        steps.by,
        steps.stride * size,
        steps.window * size,
        steps.first_step,
        steps.last_step,
        steps.share,
    )


def _units(a: Floats, b: Floats) -> tuple[float, float]:
    """The units in which times were printed; one that never changes has the finer of what its digits and the other's show."""
    found = [unit_of(times) for times in (a, b)]
    digits = min(_last_digit(a), _last_digit(b))
    for place, times in enumerate((a, b)):
        if np.ptp(times) == 0:
            found[place] = digits
    return found[0], found[1]


def _last_digit(times: Floats) -> float:
    sample = times[:50]
    for decimals in range(_DECIMALS):
        if np.allclose(sample, np.round(sample, decimals), rtol=0, atol=10.0 ** -(_DECIMALS + 2)):
            return float(10.0**-decimals)
    return 0.0


def _half_width(levels: tuple[Level, Level], grown: tuple[float, float]) -> float:
    """Half of the interval, were the runs ``grown`` times as long: errors fall with the root, and are known better."""
    # Imported late: a third of a second that every command would wait for at its start.
    from scipy import special

    errors, freedoms = zip(*(one.of_longer(times) for one, times in zip(levels, grown, strict=True)), strict=True)
    squares = [error**2 for error in errors]
    within = 0.0
    if sum(squares) > 0:
        # Welch and Satterthwaite's degrees of freedom.
        freedom = sum(squares) ** 2 / sum(s**2 / f for s, f in zip(squares, freedoms, strict=True))
        within = float(special.stdtrit(max(freedom, 1.0), 0.5 + CONFIDENCE / 2)) * sum(squares) ** 0.5
    between = float(special.ndtri(0.5 + CONFIDENCE / 2)) * 2**0.5 * RUN_TO_RUN
    return float(np.hypot(within, between))


def _percent(logarithm: float) -> float:
    return float(100 * np.expm1(logarithm))


def _rounded_up(number: int) -> int:
    """To two digits."""
    unit = int(10 ** max(0, len(str(number)) - 2))
    return -(-number // unit) * unit


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
    from scipy import special

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
