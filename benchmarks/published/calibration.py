"""Do the ranges of ``monitor plan`` hold what was measured? By kind of change, each source held out in turn.

A kind's spread is that of the source which is hardest to predict: so many multiples of ``spread.unit``, below and above, that
95 of 100 of its pairs lie inside on that side. ``spread.SPREADS`` is this, of all sources; coverage is counted with the
source's own pairs left out. A kind with one source is held out by setup within it: a model's pairs, or where there is one
model those of a number of GPUs, in ranges that were made of the other setups; there the spread is widened until they hold.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from benchmarks.published.pairs import UNEXPLAINED, Pair, seconds_a_sample, setup_of, time_pairs
from monitor.predict.outcome import outcome
from monitor.predict.spread import NOISE, PROMISED, Coverage, Spread, one_after_the_other, unit, widened
from monitor.predict.time_change import logs

#: On each side of a range.
INSIDE = 0.95
#: Of pairs that a range was not made of, what it is widened to hold where all are of one source.
WITHIN = PROMISED / 10
#: In the order of the page.
KINDS = (
    "microbatches",
    "size",
    "stages",
    "interleaving",
    "recomputation",
    "recomputation of many replicas",
    "accumulation",
    "hosts",
    "sequence length",
    "model",
)


@dataclass(frozen=True, slots=True)
class Residual:
    """One pair: what was measured and predicted, as logarithms of the change of time by sample."""

    pair: Pair
    measured: float
    low: float
    middle: float
    high: float
    size: float

    def multiple(self) -> tuple[float, float]:
        """How many units below and above the model's own range must reach for the measurement to lie inside."""
        miss, one = self.measured - self.middle, unit(self.size)
        known = NOISE**2 + ((self.middle - self.low) if miss < 0 else (self.high - self.middle)) ** 2
        missing = math.sqrt(max(0.0, miss**2 - known)) / one
        below, above = (missing, 0.0) if miss < 0 else (0.0, missing)
        return (below, above) if self.size >= 0 else (above, below)

    def range(self, spread: Spread) -> tuple[float, float]:
        """The logarithms between which the change is predicted."""
        low, _, high = widened((self.low, self.middle, self.high), [(spread, self.size)])
        return low, high

    def is_inside(self, spread: Spread) -> bool:
        low, high = self.range(spread)
        return low - 1e-9 <= self.measured <= high + 1e-9


@cache
def residuals() -> Mapping[str, Mapping[str, Sequence[Residual]]]:
    """All pairs whose change ``plan`` has a figure for, by kind and source."""
    found: dict[str, dict[str, list[Residual]]] = defaultdict(lambda: defaultdict(list))
    for pair in time_pairs():
        residual = _residual(pair)
        if residual is not None:
            found[pair.kind][pair.source].append(residual)
    return found


def _residual(pair: Pair) -> Residual | None:
    change = outcome(setup_of(pair.one), setup_of(pair.other)).time
    sizes = [size for effect in change.effects for kind, size in effect.kinds if kind == pair.kind]
    if change.unknown or not sizes:
        return None
    # What else differs, such as what is done once a step, has its range in use; that of the kind itself is worked out here.
    ranges = [
        logs(effect.model_pct if any(kind == pair.kind for kind, _ in effect.kinds) else effect.change_pct)
        for effect in change.effects
    ]
    low, middle, high = one_after_the_other(ranges)
    measured = math.log(seconds_a_sample(pair.other) / seconds_a_sample(pair.one))
    return Residual(pair, measured, low, middle, high, sizes[0])


def spread_of(by_source: Mapping[str, Sequence[Residual]], wider: float = 1.0) -> Spread:
    """The spread of these sources or setups, ``wider`` times as far as they need; none without any."""
    multiples = [[each.multiple() for each in group] for group in by_source.values() if group]
    if not multiples:
        return Spread(0.0, 0.0)
    sides = [max(_quantile([pair[side] for pair in group]) for group in multiples) for side in (0, 1)]
    # Rounded up: what lies on the edge is inside.
    below, above = (math.ceil(10 * wider * side - 1e-9) / 10 for side in sides)
    return Spread(below, above)


def _quantile(values: Iterable[float]) -> float:
    return float(np.quantile(list(values), INSIDE, method="higher"))


def calibrated(kind: str) -> dict[str, Sequence[Residual]]:
    """The pairs of a kind that count, by source."""
    return {source: group for source, group in residuals()[kind].items() if not source.startswith(UNEXPLAINED)}


def groups_of(kind: str) -> dict[str, Sequence[Residual]]:
    """What is left out in turn: sources, or the setups of the only one."""
    sources = calibrated(kind)
    if len(sources) > 1:
        return sources
    (pairs,) = sources.values()
    models = {each.pair.one.model for each in pairs}
    found: dict[str, list[Residual]] = defaultdict(list)
    for each in pairs:
        found[each.pair.one.model if len(models) > 1 else f"{each.pair.one.gpus} GPUs"].append(each)
    return dict(found)


@cache
def wider(kind: str) -> float:
    """How many times as far as its setups need a range of one source reaches, so that it holds those left out."""
    groups = groups_of(kind)
    if len(calibrated(kind)) > 1:
        return 1.0
    pairs = sum(map(len, groups.values()))
    return next(times for step in range(50) if _inside(groups, times := 1 + step / 10) >= WITHIN * pairs)


def _inside(groups: Mapping[str, Sequence[Residual]], times: float) -> int:
    """Pairs in ranges that were made of the other groups."""
    inside = 0
    for name, group in groups.items():
        spread = spread_of({other: pairs for other, pairs in groups.items() if other != name}, times)
        inside += sum(each.is_inside(spread) for each in group)
    return inside


def spreads() -> dict[str, Spread]:
    """What ``spread.SPREADS`` must be."""
    found = {}
    for kind in KINDS:
        out = held(kind)
        spread = spread_of(groups_of(kind), wider(kind))
        found[kind] = replace(spread, coverage=Coverage(out.inside, out.pairs, len(calibrated(kind))))
    return found


@dataclass(frozen=True, slots=True)
class Held:
    """How a kind's ranges hold the pairs of sources that they were not made of; with one source, of its other setups."""

    kind: str
    inside: int
    pairs: int
    width: float
    """Mean over the pairs of how much larger the high end is than the low one, as a share of the low one."""


@cache
def held(kind: str) -> Held:
    """Each source, or each setup of the only one, held out in turn."""
    groups = groups_of(kind)
    whole = spread_of(groups, wider(kind))
    ranges = [each.range(whole) for group in groups.values() for each in group]
    widths = [math.expm1(high - low) for low, high in ranges]
    return Held(kind, _inside(groups, wider(kind)), len(widths), sum(widths) / len(widths))
