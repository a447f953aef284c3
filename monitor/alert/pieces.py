"""Figures that change continuously, in straight pieces: cut where they cross a threshold, so that each part is on one
side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.alert.conditions import Threshold
from monitor.alert.track import Floats, Track


@dataclass(frozen=True, slots=True)
class Pieces:
    """From ``low`` at ``begins`` to ``high`` at ``ends``, growing evenly; all arrays are of one length."""

    node: str | None
    begins: Floats
    ends: Floats
    low: Floats
    high: Floats
    usual: Floats


def cut(pieces: Pieces, when: Threshold) -> Track:
    """The pieces as a track, whose samples have the value at their end; on it the condition is true or false throughout."""
    limit = when.value * pieces.usual if when.relative else np.full(len(pieces.low), when.value)
    grown, span = pieces.high - pieces.low, pieces.ends - pieces.begins
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.clip(np.where(grown > 0, (limit - pieces.low) / grown, 1.0), 0.0, 1.0)
    share = np.where(np.isnan(share), 1.0, share)
    crossing = pieces.begins + share * span
    begins = np.column_stack([pieces.begins, crossing]).ravel()
    ends = np.column_stack([crossing, pieces.ends]).ravel()
    # The part before a crossing ends on the threshold, and all of it is on the lower side.
    below = np.nextafter(limit, -np.inf) if when.op in {">=", "<"} else limit
    values = np.column_stack([np.where((share > 0) & (share < 1), below, pieces.high), pieces.high]).ravel()
    usual = np.repeat(pieces.usual, 2)
    kept = ends > begins
    if len(kept) and not kept.any():
        kept[-1] = True  # a job without any time in it still has a figure
    with np.errstate(invalid="ignore", divide="ignore"):
        rates = np.nan_to_num(np.repeat(grown / span, 2), posinf=0.0)[kept]
    begins, ends, values, usual = begins[kept], ends[kept], values[kept], usual[kept]
    breaks = np.zeros(len(ends), dtype=bool)
    breaks[1:] = begins[1:] > ends[:-1] + 1e-3
    none = np.zeros(len(ends), dtype=np.int64)
    return Track(pieces.node, begins, ends, values, usual, breaks, none, none, np.arange(len(ends)), rates=rates)
