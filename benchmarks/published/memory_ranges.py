"""Do the ranges of memory hold what was measured? Each source held out in turn, where a kind of difference has several."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, groupby
from statistics import fmean

import numpy as np

from benchmarks.published.claim import Claim
from benchmarks.published.pairs import memory_pairs, setup_of, used_gib
from benchmarks.published.rows import Row, changes
from monitor.predict import memory_change
from monitor.predict.memory import GIB
from monitor.predict.memory_change import differences_gib, modelled

#: What a range is meant to hold, and what each source's own pairs are made to hold for that.
INSIDE, OWN = 0.9, 0.95
_KINDS = {"stages": "degrees", "tensor degree": "degrees", "hosts": "sharded states", "interleaving": "interleaving"}
#: Peaks of an allocator, without what a process holds besides.
_ALLOCATOR = "Zero Bubble"


@dataclass(frozen=True, slots=True)
class Difference:
    """One pair: GiB of the start, what the equations say of the difference, and what was measured beyond that."""

    kind: str
    source: str
    start: float
    states: float
    activations: float
    miss: float

    def is_inside(self, share: float) -> bool:
        """Whether it is, with ``share`` as the error of its kind."""
        return (
            abs(self.miss) <= math.hypot(memory_change.NOISE * self.start, share * abs(_SCALES[self.kind](self))) + 1e-9
        )

    def needed(self) -> float:
        """The share that it takes."""
        beyond = math.sqrt(max(0.0, self.miss**2 - (memory_change.NOISE * self.start) ** 2))
        return beyond / abs(_SCALES[self.kind](self)) if beyond else 0.0


_SCALES: Mapping[str, Callable[[Difference], float]] = {
    "activations": lambda one: one.activations,
    "interleaving": lambda one: one.activations,
    "sharded states": lambda one: one.states,
    "degrees": lambda one: one.start,
}
#: The constants that hold these shares.
_IN_USE = {
    "activations": memory_change.ACTIVATIONS_ERROR,
    "interleaving": memory_change.INTERLEAVING_ERROR,
    "sharded states": memory_change.STATES_ERROR,
    "degrees": memory_change.DEGREES_ERROR,
}


def claims() -> list[Claim]:
    """Noise, a kind of difference each, and the whole."""
    return [_noise(), *(_kind(kind) for kind in _SCALES), _whole()]


@cache
def differences() -> Mapping[str, Mapping[str, Sequence[Difference]]]:
    """All pairs that have a figure, by kind and source."""
    found: dict[str, dict[str, list[Difference]]] = defaultdict(lambda: defaultdict(list))
    for pair in memory_pairs():
        start = used_gib(pair.one)
        before, after = modelled(setup_of(pair.one, start)), modelled(setup_of(pair.other))
        if before is None or after is None:
            continue
        states, activations = differences_gib(start, before, after)
        miss = used_gib(pair.other) - start - states - activations
        kind = _KINDS.get(pair.kind, "activations")
        if abs(states) + abs(activations) > 0.5:
            found[kind][pair.source].append(Difference(kind, pair.source, start, states, activations, miss))
    return found


def share_of(by_source: Mapping[str, Sequence[Difference]]) -> float:
    """The share that holds 19 of 20 of each source's pairs, in steps of 0.05 and not below 0.1."""
    needed = [float(np.quantile([one.needed() for one in group], OWN, method="higher")) for group in by_source.values()]
    return max(0.1, math.ceil(max(needed) / 0.05 - 1e-9) * 0.05)


def _kind(kind: str) -> Claim:
    groups = differences()[kind]
    inside = 0
    for source, group in groups.items():
        others = {name: other for name, other in groups.items() if name != source} or groups
        inside += sum(one.is_inside(share_of(others)) for one in group)
    pairs = sum(map(len, groups.values()))
    several = len(groups) > 1
    fitted = math.isclose(share_of(groups), _IN_USE[kind])
    if kind == "activations":
        fitted = fitted and (inside, pairs) == memory_change.ACTIVATIONS_HELD
    width = fmean(
        2 * math.hypot(memory_change.NOISE * one.start, _IN_USE[kind] * _SCALES[kind](one)) / one.start
        for group in groups.values()
        for one in group
    )
    return Claim(
        f"range of memory: {kind}, ± {_IN_USE[kind]:.0%}",
        f"{len(groups)} sources, each held out in turn" if several else "one source, all of its pairs",
        (),
        (),
        f">= {INSIDE:.0%}" if several else "as worked out",
        fitted and (not several or inside >= INSIDE * pairs),
        f"{inside} of {pairs}, {100 * width:.0f} % of the start wide",
        pairs,
    )


def _noise() -> Claim:
    off = []
    rows = [row for row in changes() if row.quantity == "gpu_memory"]
    for _, group in groupby(sorted(rows, key=_configuration), key=_configuration):
        off += [math.log(one.value / other.value) for one, other in combinations(group, 2)]
    found = math.sqrt(fmean(each**2 for each in off))
    return Claim(
        "memory of repeated runs, root mean square",
        "all pairs",
        (),
        (),
        "as in use",
        abs(found - memory_change.NOISE) < 0.001,
        f"{100 * found:.1f} %",
        len(off),
    )


def _configuration(row: Row) -> tuple[str, ...]:
    layout = row.pipeline, row.tensor, row.data, row.size, row.microbatches, row.sequence, row.schedule, row.recomputes
    return row.source, row.locator, row.model, str(row.params_b), row.gpu, row.shard, *map(str, layout)


def _whole() -> Claim:
    """Without any measurement, of models whose attention keeps its scores; of an allocator's peaks the overhead is left out."""
    less, more, inside, pairs = memory_change.WHOLE_LESS, memory_change.WHOLE_MORE, 0, 0
    for row in changes():
        found = modelled(setup_of(row)) if row.quantity == "gpu_memory" and not row.shard.startswith("FULL") else None
        if found is not None:
            middle = (found.total - (found.overhead if row.source.startswith(_ALLOCATOR) else 0.0)) / GIB
            pairs += 1
            inside += (1 - less) * middle <= used_gib(row) <= (1 + more) * middle
    return Claim(
        f"range of memory without a measurement, -{less:.0%} to +{more:.0%}",
        "both sources",
        (),
        (),
        f">= {INSIDE:.0%}",
        inside >= INSIDE * pairs and (inside, pairs) == memory_change.WHOLE_HELD,
        f"{inside} of {pairs}",
        pairs,
    )
