"""How long a step takes: the spread by node and over all, and how far the job has come."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from monitor.analyze.journal import codes
from monitor.analyze.lost import LostWork, without
from monitor.model import Job, StepSpread, StepStats


def spread(steps: pd.DataFrame) -> StepSpread | None:
    """The spread of the rows given, without warm-up; None of no rows. Times are None where no line gives one."""
    if steps.empty:
        return None
    times_s, reports = _steady(steps), int(steps["reports"].sum())
    return StepSpread(reports, *_percentiles(times_s)) if len(times_s) else StepSpread(reports, None, None, None)


def by_node(steps: pd.DataFrame) -> dict[str, StepSpread]:
    """node -> spread, for the nodes that the log attributes steps to."""
    known = steps[steps["node"] != ""]
    # A frame a node takes a hundred times as long as its figures do.
    node, names = pd.factorize(known["node"], sort=True)
    times_s, warm_up = known["step_time_s"].to_numpy("float64"), known["warm_up"].to_numpy("bool")
    steady = ~np.isnan(times_s) & ~warm_up
    # Where a node has warm-up alone that is what there is.
    only = np.bincount(node[steady], minlength=len(names)) == 0
    steady |= ~np.isnan(times_s) & only[node]
    at = np.flatnonzero(steady)[np.argsort(node[steady], kind="stable")]
    reports = np.bincount(node, known["reports"].to_numpy("float64"), minlength=len(names))
    parts = np.split(times_s[at], np.searchsorted(node[at], np.arange(1, len(names))))
    found = {}
    for name, own_s, count in zip(names, parts, reports.tolist(), strict=False):
        found[str(name)] = StepSpread(int(count), *(_percentiles(own_s) if len(own_s) else (None, None, None)))
    return found


def _percentiles(times_s: NDArray[np.float64]) -> tuple[float, float, float]:
    """The median, and the times that a tenth and nine tenths are below."""
    p10, p50, p90 = np.quantile(times_s, [0.1, 0.5, 0.9]).tolist()
    return p50, p10, p90


def summary(steps: pd.DataFrame, job: Job, lost: LostWork | None = None) -> StepStats | None:
    """The job's step statistics; None where no step was recognized. A step that was ``lost`` and done again counts once.

    The time to finish is left to ``monitor.analyze.finish``.
    """
    overall = spread(steps)
    if overall is None:
        return None
    times = steps["step_time_s"].dropna()
    # All columns of a million rows are not copied for three.
    kept = without(steps[["segment", "step", "timestamp"]], lost)
    last = kept[kept["segment"] == kept["segment"].max()]
    done_steps = _done(last)
    total_steps = _planned(steps, job)
    if total_steps is not None and (done_steps or 0) > total_steps:
        total_steps = None
    return StepStats(
        count=overall.count,
        distinct=_of_the_most(steps)
        if is_aggregated(steps)
        else _distinct(kept, ["step"] if lost else ["segment", "step"]),
        first_step_s=None if times.empty else float(times.iloc[0]),
        median_s=overall.median_s,
        p10_s=overall.p10_s,
        p90_s=overall.p90_s,
        nodes_observed=own_timings(steps),
        formats=tuple(sorted(steps["format"].unique())),
        done=done_steps,
        total=total_steps,
        lost_steps=lost.steps if lost else 0,
        lost_seconds=lost.seconds if lost else None,
    )


def is_aggregated(steps: pd.DataFrame) -> bool:
    """True where rows stand for many reports each: their times are medians of a minute or more."""
    return bool((steps["reports"] > 1).any() or (steps["kind"] == "aggregated").any())


def _distinct(steps: pd.DataFrame, names: list[str]) -> int:
    """How many different steps were reported."""
    return int(steps.drop_duplicates(names)["step"].notna().sum())


def _of_the_most(steps: pd.DataFrame) -> int:
    """Of sums over minutes: as many steps as the process that reported the most did."""
    by_writer = steps.groupby(["stream", "rank"], dropna=False, observed=True)["reports"].sum()
    return int(by_writer.max())


# Where a log does not print how many steps are planned, the script was told under one of these names.
_PLANNED = (
    "max_steps",
    "train_iters",
    "max_iters",
    "total_steps",
    "num_train_steps",
    "num_training_steps",
    "train_steps",
)


def _done(steps: pd.DataFrame) -> int | None:
    """Steps done by the last report; a loop that counts from 0 has done one more than it prints."""
    numbers = steps["step"].dropna()
    if numbers.empty:
        return None
    first, gaps = int(numbers.iloc[0]), numbers.drop_duplicates().diff().dropna()
    gaps = gaps[gaps > 0]
    interval = int(gaps.min()) if len(gaps) else 1
    from_zero = first == 0 or (interval > 1 and first % interval == interval - 1)
    return int(numbers.max()) + (1 if from_zero else 0)


def _planned(steps: pd.DataFrame, job: Job) -> int | None:
    total = steps["total"].max()
    if not pd.isna(total):
        return int(total)
    for name in _PLANNED:
        value = job.configuration[name].value if name in job.configuration else None
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None


def variation(steps: pd.DataFrame) -> float | None:
    """MAD / median of the step times without warm-up: 0.03 and less is steady. None of fewer than ten."""
    times_s = _steady(steps)
    if len(times_s) < 10:
        return None
    median_s = np.median(times_s)
    return float(np.median(np.abs(times_s - median_s)) / median_s)


def _steady(steps: pd.DataFrame) -> NDArray[np.float64]:
    times_s, warm_up = steps["step_time_s"].to_numpy("float64"), steps["warm_up"].to_numpy("bool")
    known = ~np.isnan(times_s)
    steady: NDArray[np.float64] = times_s[known & ~warm_up]
    return steady if len(steady) else times_s[known]


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
