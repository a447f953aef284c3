"""Do the ranges of memory hold what was measured? Each source held out in turn; of a kind of difference with one source each
of its setups, a table and model, with ranges that are widened until they hold those left out."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, groupby
from statistics import fmean

import numpy as np

from benchmarks.published.claim import Claim, held_words, promised, share_line
from benchmarks.published.pairs import memory_pairs, setup_of, used_gib
from benchmarks.published.rows import Row, changes
from monitor.predict import memory
from monitor.predict.memory import GIB, differences_gib, modelled

#: What a range is meant to hold, and what each source's own pairs are made to hold for that.
INSIDE, OWN = 0.9, 0.95
_KINDS = {"degrees": "degrees", "hosts": "sharded states", "interleaving": "interleaving"}
#: Peaks of an allocator, without what a process holds besides.
_ALLOCATOR = "Zero Bubble"


@dataclass(frozen=True, slots=True)
class Difference:
    """One pair: GiB of the start, what the equations say of the difference, and what was measured beyond that."""

    kind: str
    source: str
    setup: str
    start: float
    states: float
    activations: float
    miss: float

    def is_inside(self, share: float) -> bool:
        """Whether it is, with ``share`` as the error of its kind."""
        return abs(self.miss) <= math.hypot(memory.NOISE * self.start, share * abs(_SCALES[self.kind](self))) + 1e-9

    def needed(self) -> float:
        """The share that it takes."""
        beyond = math.sqrt(max(0.0, self.miss**2 - (memory.NOISE * self.start) ** 2))
        return beyond / abs(_SCALES[self.kind](self)) if beyond else 0.0


_SCALES: Mapping[str, Callable[[Difference], float]] = {
    "activations": lambda one: one.activations,
    "interleaving": lambda one: one.activations,
    "sharded states": lambda one: one.states,
    "degrees": lambda one: one.start,
}
#: The constants that hold these shares.
_IN_USE = {
    "activations": memory.ACTIVATIONS_ERROR,
    "interleaving": memory.INTERLEAVING_ERROR,
    "sharded states": memory.STATES_ERROR,
    "degrees": memory.DEGREES_ERROR,
}


def claims() -> list[Claim]:
    """Noise, a kind of difference each, and the whole."""
    return [_noise(), *(_kind(kind) for kind in _SCALES), _whole(), _fully_sharded()]


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
            found[kind][pair.source].append(
                Difference(kind, pair.source, _setup(pair.one), start, states, activations, miss)
            )
    return found


def _setup(row: Row) -> str:
    return f"{row.locator} {row.model} {row.params_b}"


def share_of(by_source: Mapping[str, Sequence[Difference]], wider: float = 1.0) -> float:
    """The share that holds 19 of 20 of each source's pairs, so many times as wide, in steps of 0.05 and not below 0.1."""
    needed = [float(np.quantile([one.needed() for one in group], OWN, method="higher")) for group in by_source.values()]
    return max(0.1, math.ceil(wider * max(needed) / 0.05 - 1e-9) * 0.05)


def groups_of(kind: str) -> Mapping[str, Sequence[Difference]]:
    """What is left out in turn: sources, or the setups of the only one."""
    sources = differences()[kind]
    if len(sources) > 1:
        return sources
    found: dict[str, list[Difference]] = defaultdict(list)
    for one in (each for group in sources.values() for each in group):
        found[one.setup].append(one)
    return found


def _inside(groups: Mapping[str, Sequence[Difference]], wider: float) -> int:
    """Pairs in ranges that were made of the other groups."""
    inside = 0
    for name, group in groups.items():
        share = share_of({other: pairs for other, pairs in groups.items() if other != name}, wider)
        inside += sum(one.is_inside(share) for one in group)
    return inside


def promises() -> list[tuple[str, ...]]:
    """A kind of difference a row: what its range promises, how many pairs it held, and its width."""
    out: list[tuple[str, ...]] = []
    for kind in _SCALES:
        told = held_words(memory.COVERAGE[kind], len(groups_of(kind)))
        width = f"{100 * _width(kind):.0f} % of the start"
        out.append((f"memory: {kind}", promised(memory.COVERAGE[kind]), told, width))
    whole = memory.COVERAGE["whole"]
    reach = 100 * (math.exp(2 * memory.WHOLE_REACH) - 1)
    told = held_words(whole, whole.sources)
    return [*out, ("memory without a measurement, but of FSDP", promised(whole), told, f"{reach:.0f} %")]


def _width(kind: str) -> float:
    """Of the range in use, as a share of the start, on average."""
    return fmean(
        2 * math.hypot(memory.NOISE * one.start, _IN_USE[kind] * _SCALES[kind](one)) / one.start
        for group in differences()[kind].values()
        for one in group
    )


def _kind(kind: str) -> Claim:
    sources, groups = len(differences()[kind]), groups_of(kind)
    pairs = sum(map(len, groups.values()))
    steps = (1 + step / 10 for step in range(50 if sources == 1 else 1))
    wider = next((times for times in steps if _inside(groups, times) >= INSIDE * pairs), 1.0)
    inside = _inside(groups, wider)
    fitted = math.isclose(share_of(groups, wider), _IN_USE[kind])
    fitted = fitted and (inside, pairs, sources) == memory.COVERAGE[kind]
    line, held = share_line(inside, pairs)
    return Claim(
        f"range of memory: {kind}, ± {_IN_USE[kind]:.0%}",
        f"{sources} sources, each held out in turn"
        if sources > 1
        else f"one source, each of its {len(groups)} setups held out in turn",
        (),
        (),
        "as in use" if held is None else line,
        fitted and held is not False,
        f"{inside} of {pairs}, {100 * _width(kind):.0f} % of the start wide",
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
        abs(found - memory.NOISE) < 0.001,
        f"{100 * found:.1f} %",
        len(off),
    )


def _configuration(row: Row) -> tuple[str, ...]:
    layout = row.pipeline, row.tensor, row.data, row.size, row.microbatches, row.sequence, row.schedule, row.recomputes
    return row.source, row.locator, row.model, str(row.params_b), row.gpu, row.shard, *map(str, layout)


def _misses(fully_sharded: bool) -> Mapping[str, Sequence[float]]:
    """By source, how far peaks are from the equations, as logarithms; of an allocator's peaks the overhead is left out."""
    out: dict[str, list[float]] = defaultdict(list)
    for row in changes():
        asked = row.quantity == "gpu_memory" and row.shard.startswith("FULL") == fully_sharded
        found = modelled(setup_of(row)) if asked else None
        if found is not None:
            middle = (found.total - (found.overhead if row.source.startswith(_ALLOCATOR) else 0.0)) / GIB
            out[row.source].append(math.log(used_gib(row) / middle))
    return out


def _reach(by_source: Mapping[str, Sequence[float]]) -> float:
    """The distance, in steps of 0.05, within which 19 of 20 of each source's peaks lie."""
    needed = max(float(np.quantile(np.abs(group), OWN, method="higher")) for group in by_source.values())
    return math.ceil(needed / 0.05 - 1e-9) * 0.05


def _whole() -> Claim:
    """Without any measurement, of models whose attention keeps its scores."""
    groups = _misses(fully_sharded=False)
    peaks, inside = sum(map(len, groups.values())), 0
    for source, group in groups.items():
        reach = _reach({name: other for name, other in groups.items() if name != source})
        inside += sum(abs(miss) <= reach for miss in group)
    fitted = math.isclose(_reach(groups), memory.WHOLE_REACH)
    fitted = fitted and (inside, peaks, len(groups)) == memory.COVERAGE["whole"]
    less, more = (math.expm1(sign * memory.WHOLE_REACH) for sign in (-1, 1))
    return Claim(
        f"range of memory without a measurement, {less:.0%} to +{more:.0%}",
        f"{len(groups)} sources, each held out in turn",
        (),
        (),
        f">= {INSIDE:.0%}",
        fitted and inside >= INSIDE * peaks,
        f"{inside} of {peaks}",
        peaks,
    )


def _fully_sharded() -> Claim:
    """Of FSDP there is one source, whose peaks are lower throughout: no share is promised."""
    shares = [math.exp(miss) for group in _misses(fully_sharded=True).values() for miss in group]
    return Claim(
        "memory of FSDP without a measurement, share of the equations'",
        "nothing: no share is promised",
        (),
        (),
        "lowest as in use",
        math.isclose(min(shares), memory.FSDP_LEAST, abs_tol=0.005),
        f"{min(shares):.2f} to {max(shares):.2f}",
        len(shares),
    )
