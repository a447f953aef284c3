"""How does the time of a microbatch depend on its size? Small ones leave a GPU's units empty.

One microbatch of b samples takes alpha + beta b: launches, latencies and half-filled kernels cost alpha whatever b is. What
alpha is worth was measured on GPT-like models of 1.5 to 200 billion parameters: 0.1 to 0.2 samples' time; the constant below
was fitted to one part of published sweeps and held against the rest (``benchmarks/predictions.py``).
"""

from __future__ import annotations

import math

#: alpha / beta: the fixed part of a microbatch's time, in samples; and how far other models differ.
FIXED_SAMPLES = 0.19
FIXED_SAMPLES_RANGE = (0.05, 0.35)
#: Full recomputation does the forward once more: 4 in place of 3 forwards' work; published pairs are within 6 % of it.
RECOMPUTATION = 4 / 3
RECOMPUTATION_RESIDUAL = 0.06


def microbatch_time_ratio(to_size: float, from_size: float, fixed_samples: float = FIXED_SAMPLES) -> float:
    """The time of a microbatch of ``to_size`` samples over that of one of ``from_size``."""
    return (fixed_samples + to_size) / (fixed_samples + from_size)


def fixed_samples_of(size_1: float, time_1_s: float, size_2: float, time_2_s: float) -> float | None:
    """alpha / beta from two measured sizes; None where the larger one does not take longer."""
    beta = (time_2_s - time_1_s) / (size_2 - size_1)
    return None if beta <= 0 else max(0.0, time_1_s / beta - size_1)


def best_microbatch_size(batch: float, stages: int, fixed_samples: float = FIXED_SAMPLES) -> float:
    """The size at which T(b) = (B/b + p - 1)(alpha + beta b) is least: sqrt(alpha B / (beta (p - 1))).

    Without a pipeline larger is faster: the whole batch.
    """
    if stages <= 1:
        return batch
    return min(batch, math.sqrt(fixed_samples * batch / (stages - 1)))


def recomputation_change_pct(recompute: bool) -> tuple[float, float, float]:
    """(low, middle, high) percent of step time when full recomputation is switched on, or off; negative is faster."""
    ratios = [RECOMPUTATION * (1 + sign * RECOMPUTATION_RESIDUAL) for sign in (-1, 0, 1)]
    if not recompute:
        ratios = [1 / ratio for ratio in reversed(ratios)]
    low, middle, high = (100 * (ratio - 1) for ratio in ratios)
    return low, middle, high
