"""Do several nodes print a time of their own, or all of them the same global figure?"""

from __future__ import annotations

import numpy as np
import pandas as pd

# So many steps must be common to two nodes before their figures are called the same ...
LEAST_STEPS = 5
# ... in this share of them every figure must be: one line may be lost or cut ...
LEAST_SHARE = 0.9
# ... and so many of them must differ from one another: a time that never moves agrees by itself.
LEAST_DIFFERENT = 0.5
_COLUMNS = ["format", "segment", "step", "node", "step_time_s", "throughput"]


def own_timings(steps: pd.DataFrame) -> int:
    """How many nodes tell a timing of their own; nodes whose figures are the same step for step count as one.

    The same time and throughput in all digits is one figure, reduced over all ranks and printed by each of them: it says
    nothing of the single node.
    """
    every = int(steps.loc[steps["node"] != "", "node"].nunique())
    if every < 2:
        return every
    rows = steps.loc[(steps["node"] != "") & steps["step"].notna(), _COLUMNS]
    repeating = 0
    # One report a step and node is the rule; a median of each is only made where it is not.
    key = ["format", "segment", "step", "node"]
    figures = rows.set_index(key) if not rows.duplicated(key).any() else rows.groupby(key, observed=True).median()
    for _, of_format in figures.groupby(level="format", observed=True):
        table = of_format.unstack("node")
        different: list[np.ndarray] = []
        for node in table.columns.get_level_values("node").unique():
            own = table.xs(node, axis=1, level="node").to_numpy("float64")
            if any(_same(own, other) for other in different):
                repeating += 1
            else:
                different.append(own)
    return max(1, every - repeating)


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two nodes' figures are the same: a row a step, and a column each for the time and the throughput."""
    # Most pairs of nodes differ from the start: so many rows at odds are too many whatever the rest says.
    begin = slice(0, 1 + len(one) // 4)
    known = ~np.isnan(one[begin]) & ~np.isnan(other[begin])
    at_odds = int(((one[begin] != other[begin]) & known).any(axis=1).sum())
    if at_odds - 0.5 > (1 - LEAST_SHARE) * len(one):
        return False
    unknown, unknown_there = np.isnan(one), np.isnan(other)
    both = (~unknown & ~unknown_there).any(axis=1)
    equal = ((one == other) | (unknown & unknown_there)).all(axis=1)[both]
    if int(both.sum()) < LEAST_STEPS or float(equal.mean()) < LEAST_SHARE:
        return False
    # Two columns in one number: numpy sorts these many times as fast as rows.
    rows = np.ascontiguousarray(np.where(unknown, np.inf, one)[both]).view(np.complex128)
    return len(np.unique(rows)) >= LEAST_DIFFERENT * int(both.sum())
