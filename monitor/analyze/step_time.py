"""How long a step takes: the spread by node and over all, and how far the job has come."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from monitor.analyze.lost import LostWork, without
from monitor.analyze.repeated import own_timings
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
