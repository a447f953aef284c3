"""Which point of a curve should be advised? The narrowest window that is as fast as any that fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from monitor.predict.curve import Point

#: So much slower than the best is the same: less memory for the same speed.
AS_GOOD = 1.005
#: No advice fills more of a device's memory than this.
FULLEST = 0.92


@dataclass(frozen=True, slots=True)
class Advised:
    """A parameter's value to take, and who says so."""

    parameter: str
    value: Any
    source: str


def advised_window(points: Sequence[Point], limit_gib: float | None) -> Advised | None:
    """The least ``active_microbatches`` within 0.5 % of the best that fits. None for other curves, and where it does
    nothing. What is not known of the memory does not speak against a point."""
    timed = [
        (point, point.step_time_relative)
        for point in points
        if point.parameter == "active_microbatches"
        and point.step_time_relative is not None
        and (point.gpu_memory_gib is None or not limit_gib or point.gpu_memory_gib <= FULLEST * limit_gib)
    ]
    if not timed:
        return None
    best = min(relative for _, relative in timed)
    if max(relative for _, relative in timed) <= AS_GOOD * best:
        return None
    point = next(point for point, relative in timed if relative <= AS_GOOD * best)
    return Advised(point.parameter, point.value, "the pipeline model")
