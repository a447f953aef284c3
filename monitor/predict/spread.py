"""The spread of measured changes around predicted ones, by kind of change: what the ranges of step times are made of; and
published ratios of the throughput of instance types, on as many GPUs.

Every kind was held against published pairs of runs that differ in nothing else. A range reaches as far as the pairs of the
source that was hardest to predict, below and above on their own; ``benchmarks/predictions.py`` works these numbers out, and
how many pairs of a source lie in a range made from the other sources alone. Where a kind has one source, its setups (models, or
numbers of GPUs) take the place of sources, and the range is as wide as it takes to hold those that were left out: that says
nothing of other machines. A kind with less than that has no spread, and no figure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

Range = tuple[float, float, float]
Promise = Literal["none", "few", "one source", "share"]
"""What a range promises: no share, since nothing was published or since too few pairs were; a share of changes within its only
source; or a share of changes elsewhere too."""

#: Two runs of one setup differ by so much, as a logarithm: root mean square of the repeated runs in bigscience's gpt2.md (0 to
#: 6 %). No range is narrower, on each side.
NOISE = 0.035
#: And by so much more the larger the change is.
SLOPE = 0.10
#: Of 10 measured changes, what a range is meant to hold.
PROMISED = 9
#: A range that holds all of n alike pairs holds the next one in n of n + 1 cases (conformal prediction). From fewer pairs than
#: these no range can promise so much.
FEWEST = 9


class Coverage(NamedTuple):
    """How many of how many published pairs lie in ranges that were made of the other sources alone (with one source, of its
    other setups), and of how many sources they are."""

    held: int = 0
    pairs: int = 0
    sources: int = 0

    @property
    def promise(self) -> Promise:
        """What such a range promises."""
        if not self.sources:
            return "none"
        if self.pairs < FEWEST or 10 * self.held < PROMISED * self.pairs:
            return "few"
        return "one source" if self.sources == 1 else "share"

    def words(self, what: str = "range") -> str:
        """``range for 9 of 10 changes (held 21 of 21 published ones that it was not made of)``; of one source that it is that,
        and of few pairs how many it held."""
        held = f"held {self.held} of {self.pairs}"
        if self.promise == "none":
            return f"its {what} promises no share of changes, since none were published"
        if self.promise == "few" and self.sources == 1:
            return (
                f"{what} that {held} changes of its only source's other setups: too few to promise a share; other machines are "
                "untested"
            )
        if self.promise == "few":
            return f"{what} that {held} published changes that it was not made of: too few to promise a share"
        if self.promise == "one source":
            return (
                f"{what} for {PROMISED} of 10 changes within its only source ({held} of its other setups); other machines are "
                "untested"
            )
        return f"{what} for {PROMISED} of 10 changes ({held} published ones that it was not made of)"


_UNTESTED = Coverage()


@dataclass(frozen=True, slots=True)
class Spread:
    """``below`` and ``above`` are multiples of ``unit``, of changes whose size is above 0; the way back is the opposite."""

    below: float
    above: float
    coverage: Coverage = _UNTESTED

    def reach(self, size: float) -> tuple[float, float]:
        """How far below and above a prediction a measurement is expected, as logarithms; ``size`` is that of the change."""
        below, above = (math.hypot(NOISE, multiple * unit(size)) for multiple in (self.below, self.above))
        return (below, above) if size >= 0 else (above, below)


def weakest(promises: Iterable[Promise]) -> Promise:
    """What can be promised of ranges put together; of none of them, nothing."""
    order: tuple[Promise, ...] = get_args(Promise)
    return min(promises, key=order.index, default="none")


def promise_words(promise: Promise) -> str:
    """Behind ``the range``: ``is for 9 of 10 changes``."""
    return {
        "none": "promises no share of changes",
        "few": "promises no share of changes: too few were published",
        "one source": f"is for {PROMISED} of 10 changes, within its only source",
        "share": f"is for {PROMISED} of 10 changes",
    }[promise]


def unit(size: float) -> float:
    """The scale of a change: noise for the smallest, then a share of its size. ``size`` is the logarithm of the factor by
    which the step changes or, where its parameter says more, of the factor by which that does."""
    return math.hypot(NOISE, SLOPE * size)


def widened(found: Range, sizes: Iterable[tuple[Spread, float]]) -> Range:
    """A range of logarithms, as much wider as its spreads say. Distances are independent: they add as squares."""
    low, middle, high = found
    reaches = [spread.reach(size) for spread, size in sizes]
    return (
        middle - math.hypot(middle - low, *(below for below, _ in reaches)),
        middle,
        middle + math.hypot(high - middle, *(above for _, above in reaches)),
    )


def one_after_the_other(ranges: Sequence[Range]) -> Range:
    """Ranges of logarithms in one: middles add, and so do the squares of the distances."""
    middle = sum(each[1] for each in ranges)
    low, high = (math.hypot(*(each[1] - each[side] for each in ranges)) for side in (0, 2))
    return middle - low, middle, middle + high


#: Of a kind that no measurement was held against.
NONE = Spread(0.0, 0.0)
#: By kind of change: what ``benchmarks/published/calibration.py`` works out.
SPREADS: Mapping[str, Spread] = {
    "microbatches": Spread(0.0, 0.0, Coverage(21, 21, 2)),
    "size": Spread(0.3, 0.1, Coverage(23, 25, 3)),
    "stages": Spread(0.0, 3.6, Coverage(5, 6, 2)),
    "interleaving": Spread(2.4, 0.0, Coverage(6, 6, 1)),
    "recomputation": Spread(0.0, 0.0, Coverage(6, 6, 3)),
    "recomputation of many replicas": Spread(10.7, 0.0, Coverage(5, 5, 1)),
    "accumulation": Spread(3.6, 0.0, Coverage(4, 4, 1)),
    "hosts": Spread(0.2, 2.4, Coverage(179, 197, 5)),
    "sequence length": Spread(0.3, 1.4, Coverage(58, 64, 1)),
    "model": Spread(1.9, 0.0, Coverage(46, 47, 1)),
}


@dataclass(frozen=True, slots=True)
class Machine:
    """An instance type whose GPUs' pace is known beside others'; memory of one GPU in GiB."""

    gpu: str
    gpu_memory_gib: float


#: All have eight GPUs with NVLink, and EFA.
MACHINES: Mapping[str, Machine] = {
    "ml.p4d.24xlarge": Machine("A100 40 GB", 40.0),
    "ml.p4de.24xlarge": Machine("A100 80 GB", 80.0),
    "ml.p5.48xlarge": Machine("H100 80 GB", 80.0),
}
#: Throughput of the second over the first in bf16, of one model and length of sequences in MosaicML's tables of llm-foundry
#: (FSDP, 0.1 to 70 billion parameters, each at its best microbatch). The middle is the median, and the range is as wide as it
#: takes to hold 9 of 10 pairs of models that it was not made of (``benchmarks/published/paces.py``).
RATIOS: Mapping[tuple[str, str], Range] = {
    ("ml.p4de.24xlarge", "ml.p5.48xlarge"): (1.79, 2.16, 2.60),
    ("ml.p4d.24xlarge", "ml.p5.48xlarge"): (2.16, 2.47, 2.92),
    ("ml.p4d.24xlarge", "ml.p4de.24xlarge"): (1.02, 1.06, 1.15),
}
#: Of ranges that were made of the other models.
COVERAGE: Mapping[tuple[str, str], Coverage] = {
    ("ml.p4de.24xlarge", "ml.p5.48xlarge"): Coverage(9, 10, 1),
    ("ml.p4d.24xlarge", "ml.p5.48xlarge"): Coverage(9, 9, 1),
    ("ml.p4d.24xlarge", "ml.p4de.24xlarge"): Coverage(12, 13, 1),
}


def others(instance_type: str) -> tuple[str, ...]:
    """The types whose pace beside this one was published."""
    return tuple(name for name in MACHINES if name != instance_type and speed(instance_type, name) is not None)


def speed(before: str, after: str) -> Range | None:
    """(low, middle, high) of how many times as many samples ``after`` does in the same time; None where nobody published it."""
    found = RATIOS.get((before, after))
    if found is not None:
        return found
    back = RATIOS.get((after, before))
    return None if back is None else (1 / back[2], 1 / back[1], 1 / back[0])


def pace_words(before: str, after: str) -> str:
    """What the range of a pace promises."""
    return (COVERAGE.get((before, after)) or COVERAGE[after, before]).words()


def cost_a_sample(before: str, after: str, usd_before: float, usd_after: float) -> Range | None:
    """(low, middle, high) of what a sample costs on ``after``, as a share of what it costs on ``before``."""
    found = speed(before, after)
    if found is None or usd_before <= 0:
        return None
    low, middle, high = (usd_after / usd_before / each for each in reversed(found))
    return low, middle, high
