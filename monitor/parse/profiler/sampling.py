"""Which lines of an object belong to one sample? Those of one are written within milliseconds of each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

# Samples are at least 0.1 s apart.
_APART = 0.45
_SHORTEST_S = 0.1


def samples(seconds: Floats, device: Whole) -> tuple[Floats, Whole]:
    """When each sample was taken, and which of them each row belongs to: times that lie close together are one."""
    if not len(seconds):
        return seconds, device
    apart_s = _APART * interval_s(seconds, device)
    order = np.argsort(seconds, kind="stable")
    begins = np.append(True, np.diff(seconds[order]) > apart_s)
    sample = np.empty_like(device)
    sample[order] = np.cumsum(begins) - 1
    return seconds[order][begins], sample


def interval_s(seconds: Floats, device: Whole) -> float:
    """How far samples are apart: the median distance between times of one device; 0.1 s where there is but one."""
    one = np.unique(seconds[device == device[0]])
    gaps = np.diff(one)
    # The two figures of a device may be written some milliseconds apart.
    gaps = gaps[gaps > _APART * _SHORTEST_S]
    return float(np.median(gaps)) if len(gaps) else _SHORTEST_S
