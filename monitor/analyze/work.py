"""How much work is in a step, if a throughput shows it?"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FEWEST = 20
# Throughput is of the steps beside it where their product moves by so much less than the times do; a mean over the time
# before does not follow them.
_FOLLOWS = 0.5
# A product that moves by less than this share is constant but for rounding.
_ROUNDING = 0.005


def work_of_steps(rows: pd.DataFrame, times: Floats) -> Floats | None:
    """The work of each row's steps (tokens or samples, NaN where it is not told), or None where it is not known.

    ``rows`` are of the journal, ``times`` the seconds of their steps; of both times the one that goes with the throughput
    counts, the printed one first. A rate of steps says nothing of their work, and a
    throughput that is a mean over many rows nothing of one.
    """
    units = {str(unit) for unit in rows["throughput_unit"].unique()} - {""}
    if len(units) != 1 or next(iter(units)).startswith(("it", "step")):
        return None
    throughput = rows["throughput"].to_numpy("float64")
    for seconds in (rows["step_time_s"].to_numpy("float64"), times):
        if (work := _work(throughput, seconds)) is not None:
            return work
    return None


def _work(throughput: Floats, times: Floats) -> Floats | None:
    work: Floats = throughput * times
    work = np.where(work > 0, work, np.nan)
    known = np.isfinite(work) & (times > 0)
    if known.sum() < max(FEWEST, 0.5 * len(times)):
        return None
    moves = float(np.median(np.abs(np.diff(np.log(work[known])))))
    moved = float(np.median(np.abs(np.diff(np.log(times[known])))))
    return work if moves <= max(_ROUNDING, _FOLLOWS * moved) else None


def for_equal_work(rows: pd.DataFrame, times: Floats) -> Floats:
    """The times as they would be if every step had the usual work; as they are where their work is not known."""
    work = work_of_steps(rows, times)
    if work is None:
        return times
    out: Floats = times * (float(np.nanmedian(work)) / work)
    return np.where(np.isfinite(out), out, times)
