"""Columns of numbers, NaN where there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monitor.parse.numbers import LONGEST_STEP_S, SHORTEST_STEP_S

_MOST_DECIMALS = 10

Floats = NDArray[np.float64]
Columns = Mapping[str, Sequence[Any] | NDArray[Any] | str | float]
"""Readings as columns by the fields' names; a text or a number that is the same for all of them stands alone."""


def durations(values_s: Floats) -> Floats:
    """The values that can be durations of a step, as ``duration_s`` judges each."""
    return np.where((values_s > SHORTEST_STEP_S) & (values_s < LONGEST_STEP_S), values_s, np.nan)


def last_digit(printed: Floats) -> float:
    """What the last digit of numbers counts: 0.01 for 0.25 and 1.5; 0 where they have too many digits to tell."""
    for decimals in range(_MOST_DECIMALS):
        scaled = printed * 10.0**decimals
        if np.isclose(scaled, np.round(scaled), rtol=1e-9, atol=1e-9).all():
            return 10.0**-decimals
    return 0.0
