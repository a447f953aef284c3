"""What do the GPUs of a node do within one step? Samples are laid over each other by how far the step had come.

A step that takes two seconds has four samples at 500 ms; a hundred such steps together show all of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

PIECES = 20
FEWEST_SAMPLES = 60
FEWEST_STEPS = 10
# A step must be as long as this many samples are apart, or each would be a blur of several.
_FEWEST_IN_A_STEP = 2.0
# A report may stand for several steps; the beginning of one is known less and less, the further it lies before its report.
_MOST_STEPS_BACK = 10.0


@dataclass(frozen=True, slots=True)
class StepAnatomy:
    """The GPU use of a node within a step."""

    node: str
    pieces: pd.DataFrame
    """``piece begin_s end_s mean_pct low_pct high_pct samples``: mean, and p10 to p90, of the mean over the node's GPUs."""
    step_s: float
    """Median of the steps that were sampled."""
    steps: int
    samples: int


def step_anatomy(gpus: pd.DataFrame, steps: pd.DataFrame, node: str) -> StepAnatomy | None:
    """None where too few samples lie in steps of a known time, or samples are too far apart.

    Where the node prints no steps, those of all nodes are taken: in synchronous training they are the same. The line of a
    step is taken for its end, so the picture may be turned by as long as a line takes to come out.
    """
    mine = gpus[gpus["node"] == node]
    means = mine.groupby("timestamp")["utilization_pct"].mean()
    known = steps[steps["timestamp"].notna() & steps["step_time_s"].gt(0) & ~steps["warm_up"]]
    own = known[known["node"] == node]
    known = (own if len(own) else known).sort_values("timestamp").drop_duplicates("timestamp")
    if len(means) < FEWEST_SAMPLES or known.empty:
        return None
    at_s, ends_s = _unix_s(means.index.to_series()), _unix_s(known["timestamp"])
    times_s = known["step_time_s"].to_numpy("float64")
    place = np.searchsorted(ends_s, at_s, "left")
    inside = place < len(ends_s)
    place, at_s, busy = place[inside], at_s[inside], means.to_numpy("float64")[inside]
    before = (ends_s[place] - at_s) / times_s[place]
    begun = np.where(place > 0, ends_s[place - 1], -np.inf)
    inside = (before <= _MOST_STEPS_BACK) & (at_s >= begun) & ~np.isnan(busy)
    place, before, busy, at_s = place[inside], before[inside], busy[inside], at_s[inside]
    step_s = float(np.median(times_s[place])) if len(place) else 0.0
    whole = np.unique(np.column_stack([place, np.floor(before)]), axis=0) if len(place) else np.empty((0, 2))
    if len(busy) < FEWEST_SAMPLES or len(whole) < FEWEST_STEPS:
        return None
    if step_s < _FEWEST_IN_A_STEP * float(np.median(np.diff(at_s))):
        return None
    phase = 1.0 - np.mod(before, 1.0)
    piece = np.minimum((phase * PIECES).astype("int64"), PIECES - 1)
    table = pd.DataFrame({"piece": piece, "busy": busy}).groupby("piece")["busy"]
    pieces = pd.DataFrame(
        {
            "mean_pct": table.mean(),
            "low_pct": table.quantile(0.1),
            "high_pct": table.quantile(0.9),
            "samples": table.size(),
        }
    ).reset_index()
    width_s = step_s / PIECES
    pieces = pieces.assign(begin_s=pieces["piece"] * width_s, end_s=(pieces["piece"] + 1) * width_s)
    return StepAnatomy(node, pieces, step_s, len(whole), len(busy))


def _unix_s(times: pd.Series) -> NDArray[np.float64]:
    at_s: NDArray[np.float64] = (
        times.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy("datetime64[ms]").astype("int64") / 1e3
    )
    return at_s
