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


# A node is compared with so many others at most: thousands that print much alike would be millions of pairs.
_MOST_COMPARED = 16


@dataclass(frozen=True, slots=True)
class _Printed:
    """What one node printed."""

    step: NDArray[np.int64]
    """A number for each step that it reported."""
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
    return max(1, every - sum(_repeating(written) for _, written in rows.groupby("format", observed=True)))


def _repeating(rows: pd.DataFrame) -> int:
    """How many nodes print the figures of another one."""
    step, node = codes(rows["segment"], rows["step"]), codes(rows["node"])
    if len(np.unique(cells := node * (int(step.max()) + 1) + step)) < len(cells):
        # One report a step and node is the rule; a median of each is only made where it is not.
        return _repeating(rows.groupby(_KEY, observed=True, dropna=False)[_FIGURES].median().reset_index())
    time_s, throughput = (rows[name].to_numpy("float64") for name in _FIGURES)
    figure = codes(time_s, throughput)
    known = (~np.isnan(time_s) + 2 * ~np.isnan(throughput)).astype(np.int8)
    order = np.argsort(node, kind="stable")
    step, figure, known = step[order], figure[order], known[order]
    printed = np.split(np.arange(len(order)), np.flatnonzero(np.diff(node[order])) + 1)
    # Who prints what nobody else does at that step is like nobody: most nodes, as a rule.
    cell = codes(step, figure)
    shared = (np.bincount(cell)[cell] > 1) & (known > 0)
    different: list[tuple[NDArray[np.int64], NDArray[np.int8]]] = []
    repeating = 0
    for at in printed:
        own = at[shared[at]]
        if len(own) < LEAST_SHARE * LEAST_STEPS or len(np.unique(figure[own])) < LEAST_DIFFERENT * LEAST_STEPS:
            continue
        one = _Printed(step[at], figure[at], known[at])
        if any(_same(one, *other) for other in different):
            repeating += 1
        elif len(different) < _MOST_COMPARED:
            size = int(step.max()) + 1
            by_step, seen = np.full(size, -1), np.zeros(size, np.int8)
            by_step[one.step], seen[one.step] = one.figure, one.known
            different.append((by_step, seen))
    return repeating


def _same(one: _Printed, figure: NDArray[np.int64], known: NDArray[np.int8]) -> bool:
    """Whether a node's figures are those of another, which are given by step."""
    both = one.known & known[one.step] != 0
    equal = both & (one.figure == figure[one.step])
    common = np.count_nonzero(both)
    if common < LEAST_STEPS or np.count_nonzero(equal) < LEAST_SHARE * common:
        return False
    return len(np.unique(one.figure[both])) >= LEAST_DIFFERENT * int(common)
