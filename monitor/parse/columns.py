"""Columns of numbers, NaN where there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monitor.parse.numbers import LONGEST_STEP_S

Floats = NDArray[np.float64]
Columns = Mapping[str, Sequence[Any] | NDArray[Any] | str]
"""Readings as columns by the fields' names; a text that is the same for all of them stands alone."""


def durations(values_s: Floats) -> Floats:
    """The values that can be durations of a step, as ``duration_s`` judges each."""
    return np.where((values_s > 0) & (values_s < LONGEST_STEP_S), values_s, np.nan)
