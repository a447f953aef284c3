"""Many printed numbers at once: what ``monitor.parse.numbers`` does for one, over columns of texts, NaN for what is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monitor.parse.numbers import LONGEST_STEP_S, count, number

Floats = NDArray[np.float64]
Columns = Mapping[str, Sequence[Any] | Floats | str]
"""Readings as columns by the fields' names; a text that is the same for all of them stands alone."""
# A number of more digits is no count, and no float holds it exactly.
_LARGEST_COUNT = 1e15


def numbers(texts: Sequence[str | None]) -> Floats:
    """The numbers that the texts print, as ``number`` reads each."""
    try:
        return np.fromiter(map(float, texts), np.float64, len(texts))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return np.array([number(text) for text in texts], np.float64)


def counts(texts: Sequence[str | None]) -> Floats:
    """Whole numbers, as ``count`` reads each; the texts are digits, or missing."""
    try:
        values = np.fromiter(map(float, texts), np.float64, len(texts))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return np.array([count(text) for text in texts], np.float64)
    return np.where(values < _LARGEST_COUNT, values, np.nan)


def durations(values_s: Floats) -> Floats:
    """The values that can be durations of a step, as ``duration_s`` judges each."""
    return np.where((values_s > 0) & (values_s < LONGEST_STEP_S), values_s, np.nan)
