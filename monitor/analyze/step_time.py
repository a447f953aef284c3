"""How long a step takes: the spread by node and over all, and how far the job has come."""

from __future__ import annotations

import numpy as np
import pandas as pd

from monitor.analyze.lost import LostWork, without
from monitor.analyze.repeated import own_timings
from monitor.model import Job, StepSpread, StepStats


def spread(steps: pd.DataFrame) -> StepSpread | None:
    """The spread of the rows given, without warm-up; None of no rows. Times are None where no line gives one."""
    if steps.empty:
        return None
    times, reports = _steady(steps), int(steps["reports"].sum())
    if times.empty:
        return StepSpread(reports, None, None, None)
    p10, p50, p90 = np.quantile(times.to_numpy("float64"), [0.1, 0.5, 0.9])
    return StepSpread(reports, float(p50), float(p10), float(p90))


def by_node(steps: pd.DataFrame) -> dict[str, StepSpread]:
    """node -> spread, for the nodes that the log attributes steps to."""
    known = steps.loc[steps["node"] != "", ["node", "step_time_s", "warm_up", "reports"]]
    found = {str(node): spread(rows) for node, rows in known.groupby("node", observed=True)}
    return {node: value for node, value in found.items() if value is not None}


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
    times = _steady(steps)
    if len(times) < 10:
        return None
    median = float(times.median())
    return float((times - median).abs().median()) / median


def _steady(steps: pd.DataFrame) -> pd.Series:
    times = steps.loc[~steps["warm_up"], "step_time_s"].dropna()
    return times if len(times) else steps["step_time_s"].dropna()
