"""What grows on and on is told from plateaus, single steps, teeth and noise; when it would be full follows from its pace."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from monitor.analyze.memory import Growth, grown
from tests.builders import START

N = 240
AT = np.linspace(0, 1, N)
TEETH = (np.arange(N) % 24) / 24


def _grown(values: NDArray[np.float64], noise: float = 0.5, period_s: int = 60, seed: int = 1) -> Growth | None:
    noisy = values + np.random.default_rng(seed).normal(0, noise, len(values))
    times = pd.Series(pd.date_range(START, periods=len(values), freq=f"{period_s}s"))
    return grown("algo-1", times, pd.Series(noisy))


@pytest.mark.parametrize(
    ("shape", "grows"),
    [
        (50 + 40 * AT, True),
        (50 + 20 * AT**2, True),
        (40 + 40 * AT + 12 * TEETH, True),  # teeth that rise
        (40 + 30 * np.floor(AT * 12) / 12, True),  # a checkpoint more now and then
        (np.full(N, 80.0), False),
        (np.where(AT < 0.5, 50.0, 80.0), False),  # taken once
        (np.minimum(30 + 200 * AT, 80), False),  # a cache that fills
        (50 + 30 * (1 - np.exp(-8 * AT)), False),  # a level that settles
        (50 + 30 * TEETH, False),
        (50 + 30 * np.flip(AT), False),
        (np.where(np.arange(N) == 200, 95.0, 50.0), False),  # one high value
        (np.where(AT > 0.97, 90.0, 50.0), False),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_growth_is_told_from_what_looks_like_it(shape: NDArray[np.float64], grows: bool, seed: int) -> None:
    assert (_grown(shape, seed=seed) is not None) == grows


@settings(deadline=None, max_examples=40)
@given(st.floats(0.2, 2.0), st.sampled_from([60, 300]), st.integers(0, 9))
def test_the_pace_of_a_line_is_found_and_its_interval_holds_it(
    points_a_period: float, period_s: int, seed: int
) -> None:
    found = _grown(20 + points_a_period * np.arange(40), noise=0.3, period_s=period_s, seed=seed)
    assert found is not None
    low, middle, high = found.per_hour
    per_hour = points_a_period * 3600 / period_s
    assert low <= middle <= high
    assert middle == pytest.approx(per_hour, rel=0.1)
    assert found.full_at(middle) - found.end == pytest.approx(
        timedelta(hours=(100 - found.level) / middle) if found.level < 100 else timedelta(), abs=timedelta(seconds=1)
    )


@pytest.mark.parametrize("seed", range(40))
def test_noise_that_hangs_together_is_no_growth_worth_a_word(seed: int) -> None:
    rng = np.random.default_rng(seed)
    level = np.zeros(N)
    for at in range(1, N):
        level[at] = 0.9 * level[at - 1] + rng.normal(0, 1.0)
    found = _grown(60 + level, seed=seed)
    assert found is None or found.gained < 10


def test_a_few_points_or_minutes_are_no_trend() -> None:
    assert _grown(np.linspace(10, 90, 8)) is None
    assert _grown(np.linspace(10, 90, 15)) is None
    assert grown("algo-1", pd.Series([], dtype="datetime64[ms, UTC]"), pd.Series([], dtype="float64")) is None
