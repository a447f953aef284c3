"""Do the ranges of ``monitor plan`` hold what was measured? By kind of change, each source held out in turn.

A kind's spread is that of the source which is hardest to predict: so many multiples of ``spread.unit``, below and above, that
95 of 100 of its pairs lie inside on that side. ``spread.SPREADS`` is this, of all sources; coverage is counted with the
source's own pairs left out.
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
from monitor.predict.spread import NOISE, Spread, one_after_the_other, unit, widened
from monitor.predict.time_change import logs

#: On each side of a range.
INSIDE = 0.95
#: In the order of the page.
KINDS = (
    "microbatches",
    "size",
    "stages",
    "interleaving",
    "recomputation",
    "recomputation of many replicas",
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
    low, middle, high = one_after_the_other([logs(effect.model_pct) for effect in change.effects])
    measured = math.log(seconds_a_sample(pair.other) / seconds_a_sample(pair.one))
    return Residual(pair, measured, low, middle, high, sizes[0])


def spread_of(by_source: Mapping[str, Sequence[Residual]]) -> Spread:
    """The spread of these sources; none without any."""
    multiples = [[each.multiple() for each in group] for group in by_source.values() if group]
    if not multiples:
        return Spread(0.0, 0.0)
    sides = [max(_quantile([pair[side] for pair in group]) for group in multiples) for side in (0, 1)]
    # Rounded up: what lies on the edge is inside.
    below, above = (math.ceil(10 * side - 1e-9) / 10 for side in sides)
    return Spread(below, above)


def _quantile(values: Iterable[float]) -> float:
    return float(np.quantile(list(values), INSIDE, method="higher"))


def calibrated(kind: str) -> dict[str, Sequence[Residual]]:
    """The pairs of a kind that count, by source."""
    return {source: group for source, group in residuals()[kind].items() if not source.startswith(UNEXPLAINED)}


def spreads() -> dict[str, Spread]:
    """What ``spread.SPREADS`` must be."""
    found = {}
    for kind in KINDS:
        out, groups = held(kind), calibrated(kind)
        found[kind] = replace(
            spread_of(groups), pairs=out.pairs, sources=len(groups), held=out.inside if len(groups) > 1 else 0
        )
    return found


@dataclass(frozen=True, slots=True)
class Held:
    """How a kind's ranges hold the pairs of sources that they were not made of; with one source, its own."""

    kind: str
    inside: int
    pairs: int
    width: float
    """Mean over the pairs of how much larger the high end is than the low one, as a share of the low one."""


@cache
def held(kind: str) -> Held:
    """Each source held out in turn."""
    groups = calibrated(kind)
    whole = spread_of(groups)
    inside = 0
    widths = []
    for source, group in groups.items():
        spread = (
            spread_of({name: other for name, other in groups.items() if name != source}) if len(groups) > 1 else whole
        )
        inside += sum(each.is_inside(spread) for each in group)
        for each in group:
            low, high = each.range(whole)
            widths.append(math.expm1(high - low))
    return Held(kind, inside, len(widths), sum(widths) / len(widths) if widths else 0.0)
