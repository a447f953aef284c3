"""Did the level of a series rise, at once or gradually, and stay there?

Change points by ``ruptures.KernelCPD`` (linear kernel: the l2 cost) with the penalty 3 ln(n) (1.4826 MAD)^2; each is then
verified by the medians of adjacent windows, as FALCON does with its threshold of 10 %. A cheap look at block medians comes
first: the library is loaded for a series that may have risen only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEAST_RISE = 0.10
MOST_POINTS = 5_000
# Reports on either side of a change, before it is one.
FEWEST_REPORTS = 10
_MIN_SIZE = 4
_WINDOW = 100
_SIGMAS = 5.0
_MAD = 1.4826
# The standard error of a median is this times that of a mean, for normal noise.
_MEDIAN_ERROR = 1.2533
# The cheap look: so many blocks, and a rise of their medians a little below the one that is asked for.
_BLOCKS = 40
_MIN_BLOCK = 5
# Blocks that climb nearly always: the rank correlation of level and time.
_CLIMBS = 0.8
_MAYBE = 0.8 * LEAST_RISE


@dataclass(frozen=True, slots=True)
class Rise:
    """The level before and after position ``at`` of the series; to the end it never falls back."""

    at: int
    before: float
    after: float
    gradual: bool = False
    """It rose bit by bit from ``at`` on; ``after`` is the level of the end."""

    @property
    def ratio(self) -> float:
        return self.after / self.before


def lasting_rise(values: Floats) -> Rise | None:
    """The largest rise of at least 10 % that lasts to the end; None where there is none. NaN are left out.

    A series without one such change that climbs all the time, by 10 % from its first to its last fifth, rose gradually.
    """
    places = np.flatnonzero(np.isfinite(values) & (values > 0))
    known = values[places]
    if len(known) < 2 * FEWEST_REPORTS or not _may_have_risen(known):
        return None
    size = -(-len(known) // MOST_POINTS)
    thin = _block_medians(known, size)
    cuts = [0, *_change_points(thin), len(thin)]
    found = _verified(known, [min(cut * size, len(known)) for cut in cuts]) or _gradual(known)
    return None if found is None else replace(found, at=int(places[found.at]))


def _may_have_risen(values: Floats) -> bool:
    """Whether the end lies above an earlier stretch: medians of blocks, and the lowest of what is still to come."""
    blocks = _block_medians(values, max(_MIN_BLOCK, len(values) // _BLOCKS))
    pairs = np.convolve(blocks, [0.5, 0.5], "valid") if len(blocks) > 2 else blocks
    to_come = np.minimum.accumulate(pairs[::-1])[::-1]
    return bool((to_come[1:] >= (1 + _MAYBE) * np.minimum.accumulate(pairs)[:-1]).any())


def _block_medians(values: Floats, size: int) -> Floats:
    if size <= 1:
        return values
    whole = len(values) // size * size
    medians: Floats = np.median(values[:whole].reshape(-1, size), axis=1)
    return medians if whole == len(values) else np.append(medians, np.median(values[whole:]))


def _change_points(values: Floats) -> list[int]:
    import ruptures

    middle = float(np.median(values))
    spread = max(_MAD * float(np.median(np.abs(values - middle))), 0.005 * middle)
    # One step of a hundred times the usual length is no level.
    clipped = np.minimum(values, 3 * max(middle, float(np.median(values[-len(values) // 4 :]))))
    search = ruptures.KernelCPD(kernel="linear", min_size=_MIN_SIZE).fit(clipped.reshape(-1, 1))
    return [int(cut) for cut in search.predict(pen=3 * np.log(len(values)) * spread**2)[:-1]]


def _verified(values: Floats, cuts: list[int]) -> Rise | None:
    """The change after which every level stays 10 % above the one before it, with the largest ratio of levels."""
    joined = _levels(values, cuts)
    levels = [level for _, _, level in joined]
    best: Rise | None = None
    for n in range(1, len(joined)):
        at = joined[n][0]
        after = values[at:]
        if min(levels[n:]) < (1 + LEAST_RISE) * levels[n - 1] or len(after) < FEWEST_REPORTS:
            continue
        if not _stands_out(values[max(joined[n - 1][0], at - _WINDOW) : at], after[:_WINDOW]):
            continue
        rise = Rise(at, levels[n - 1], float(np.median(after)))
        best = rise if best is None or rise.ratio > best.ratio else best
    return best


def _levels(values: Floats, cuts: list[int]) -> list[tuple[int, int, float]]:
    """Begin, end and median of each level. A few reports are none: they belong to that beside them which is nearer."""
    spans = [(a, b, float(np.median(values[a:b]))) for a, b in pairwise(cuts) if b > a]
    while len(spans) > 1:
        place = min(range(len(spans)), key=lambda n: spans[n][1] - spans[n][0])
        begin, end, level = spans[place]
        if end - begin >= FEWEST_REPORTS:
            break
        beside = (n for n in (place - 1, place + 1) if 0 <= n < len(spans))
        first = min(place, min(beside, key=lambda n: abs(np.log(spans[n][2] / level))))
        a, b = spans[first][0], spans[first + 1][1]
        spans[first : first + 2] = [(a, b, float(np.median(values[a:b])))]
    return spans


def _stands_out(before: Floats, after: Floats) -> bool:
    """Whether the medians of two adjacent windows differ by 10 % and by five standard errors."""
    low, high = float(np.median(before)), float(np.median(after))
    error = 0.0
    for part, middle in ((before, low), (after, high)):
        spread = _MAD * float(np.median(np.abs(part - middle)))
        error += (_MEDIAN_ERROR * spread) ** 2 / len(part)
    return high >= (1 + LEAST_RISE) * low and high - low > _SIGMAS * float(np.sqrt(error))


def _gradual(values: Floats) -> Rise | None:
    blocks = _block_medians(values, max(_MIN_BLOCK, len(values) // _BLOCKS))
    if len(blocks) < 2 * FEWEST_REPORTS:
        return None
    ranks = np.argsort(np.argsort(blocks))
    fifth = max(FEWEST_REPORTS, len(values) // 5)
    before, after = float(np.median(values[:fifth])), float(np.median(values[-fifth:]))
    climbs = float(np.corrcoef(ranks, np.arange(len(ranks)))[0, 1]) >= _CLIMBS
    if not climbs or not _stands_out(values[:fifth], values[-fifth:]):
        return None
    to_come = np.minimum.accumulate(blocks[::-1])[::-1]
    first = int(np.argmax(to_come >= before + 0.25 * (after - before)))
    return Rise(min(first * max(_MIN_BLOCK, len(values) // _BLOCKS), len(values) - 1), before, after, gradual=True)
