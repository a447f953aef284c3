"""Do several nodes print a time of their own, or all of them the same global figure?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from monitor.analyze.codes import codes

# So many steps must be common to two nodes before their figures are called the same ...
LEAST_STEPS = 5
# ... in this share of them every figure must be: one line may be lost or cut ...
LEAST_SHARE = 0.9
# ... and so many of them must differ from one another: a time that never moves agrees by itself.
LEAST_DIFFERENT = 0.5
_FIGURES = ["step_time_s", "throughput"]
_KEY = ["segment", "step", "node"]


@dataclass(frozen=True, slots=True)
class _Printed:
    """What one node printed, by step."""

    figure: NDArray[np.int64]
    """The same number for the same time and throughput."""
    known: NDArray[np.int8]
    """1 where it printed a time, 2 a throughput, 3 both."""


def own_timings(steps: pd.DataFrame) -> int:
    """How many nodes tell a timing of their own; nodes whose figures are the same step for step count as one.

    The same time and throughput in all digits is one figure, reduced over all ranks and printed by each of them: it says
    nothing of the single node.
    """
    named = steps["node"] != ""
    every = int(steps.loc[named, "node"].nunique())
    if every < 2:
        return every
    rows = steps.loc[named & steps["step"].notna(), ["format", *_KEY, *_FIGURES]]
    repeating = 0
    for written in rows["format"].unique():
        different: list[_Printed] = []
        for own in _by_node(rows[rows["format"] == written]):
            if any(_same(own, other) for other in different):
                repeating += 1
            else:
                different.append(own)
    return max(1, every - repeating)


def _by_node(rows: pd.DataFrame) -> list[_Printed]:
    """A row a step, the same steps for all nodes."""
    step, node = codes(rows["segment"], rows["step"]), codes(rows["node"])
    shape = (int(node.max()) + 1, int(step.max()) + 1)
    cells = node * shape[1] + step
    if np.bincount(cells).max() > 1:
        # One report a step and node is the rule; a median of each is only made where it is not.
        return _by_node(rows.groupby(_KEY, observed=True, dropna=False)[_FIGURES].median().reset_index())
    time_s, throughput = (rows[name].to_numpy("float64") for name in _FIGURES)
    figure, known = np.full(shape, -1), np.zeros(shape, dtype=np.int8)
    figure.flat[cells] = codes(time_s, throughput)
    known.flat[cells] = ~np.isnan(time_s) + 2 * ~np.isnan(throughput)
    return [_Printed(*each) for each in zip(figure, known, strict=True)]


def _same(one: _Printed, other: _Printed) -> bool:
    """Whether two nodes' figures are the same."""
    # Most pairs of nodes differ from the start: so many steps at odds are too many whatever the rest says.
    begin = slice(0, 1 + len(one.figure) // 4)
    at_odds = (one.figure[begin] != other.figure[begin]) & (one.known[begin] & other.known[begin] != 0)
    if np.count_nonzero(at_odds) - 0.5 > (1 - LEAST_SHARE) * len(one.figure):
        return False
    both = one.known & other.known != 0
    common, equal = np.count_nonzero(both), np.count_nonzero(both & (one.figure == other.figure))
    if common < LEAST_STEPS or equal < LEAST_SHARE * common:
        return False
    return len(pd.unique(one.figure[both])) >= LEAST_DIFFERENT * int(common)
