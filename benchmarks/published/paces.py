"""Is a step on another GPU as much faster as it is said? Published runs of one model on two types, a model held out in turn."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from statistics import median

import numpy as np

from benchmarks.published.claim import Claim, held_words, promised
from benchmarks.published.rows import changes
from monitor.predict.spread import COVERAGE, PROMISED, RATIOS, Coverage

_BETWEEN_PCT = (5.0, 95.0)
_GPUS = {"ml.p4d.24xlarge": "a100_40gb", "ml.p4de.24xlarge": "a100_80gb", "ml.p5.48xlarge": "h100_80gb"}
Ratios = Mapping[str, Sequence[float]]


def claims() -> list[Claim]:
    """Two types each."""
    return [_pace(pair) for pair in RATIOS]


def promises() -> list[tuple[str, ...]]:
    """Two types a row."""
    out: list[tuple[str, ...]] = []
    for pair, (low, _, high) in RATIOS.items():
        before, after = (name.split(".")[1] for name in pair)
        told = held_words(COVERAGE[pair], len(ratios(*pair)), "models")
        width = f"{100 * (high / low - 1):.0f} %"
        out.append((f"pace of {after} over {before}", promised(COVERAGE[pair]), told, width))
    return out


@cache
def ratios(before: str, after: str) -> Ratios:
    """Throughput of the second over the first, as logarithms by model: each length of sequences at its best run in bf16."""
    best: dict[tuple[str, int | None, str], float] = defaultdict(float)
    for row in changes():
        if row.model.startswith("MPT") and row.quantity == "throughput" and row.bits == 16:
            key = row.model, row.sequence, row.gpu
            best[key] = max(best[key], row.value)
    found: dict[str, list[float]] = defaultdict(list)
    for (model, sequence, gpu), value in best.items():
        other = best.get((model, sequence, _GPUS[after]))
        if gpu == _GPUS[before] and other:
            found[model].append(math.log(other / value))
    return found


def _range(by_model: Ratios, wider: float) -> tuple[float, float]:
    low, high = np.percentile([each for group in by_model.values() for each in group], _BETWEEN_PCT)
    return float(low) - wider, float(high) + wider


def _inside(by_model: Ratios, wider: float) -> int:
    """Pairs in ranges that were made of the other models."""
    inside = 0
    for model, group in by_model.items():
        low, high = _range({name: each for name, each in by_model.items() if name != model}, wider)
        inside += sum(low <= each <= high for each in group)
    return inside


def pace(before: str, after: str) -> tuple[tuple[float, float, float], tuple[int, int]]:
    """What ``RATIOS`` must be, and how many of how many pairs it holds that it was not made of."""
    by_model = ratios(before, after)
    every = [each for group in by_model.values() for each in group]
    wider = next(step / 100 for step in range(100) if 10 * _inside(by_model, step / 100) >= PROMISED * len(every))
    low, high = _range(by_model, wider)
    return (math.exp(low), math.exp(median(every)), math.exp(high)), (_inside(by_model, wider), len(every))


def _pace(pair: tuple[str, str]) -> Claim:
    found, (inside, pairs) = pace(*pair)
    same = all(abs(one - other) < 0.006 for one, other in zip(found, RATIOS[pair], strict=True))
    low, middle, high = RATIOS[pair]
    before, after = (name.split(".")[1] for name in pair)
    return Claim(
        f"pace of {after} over {before}: {middle:.2f} ({low:.2f} to {high:.2f})",
        f"one source, each of its {len(ratios(*pair))} models held out in turn",
        (),
        (),
        f">= {PROMISED / 10:.0%}",
        same and Coverage(inside, pairs, 1) == COVERAGE[pair] and 10 * inside >= PROMISED * pairs,
        f"{inside} of {pairs}",
        pairs,
    )
