"""What every series promises: at most 2,000 buckets, and none of them loses what is lowest, highest, or how much there was."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import numpy as np
import pandas as pd
import pytest

from monitor.analyze.timeline import MARKS
from monitor.charts.step_time import buckets, outliers, reached, work_of
from monitor.charts.timeline import of_metric, of_steps
from monitor.charts.utilization import across, cells, columns_for, line_frames, measured
from tests.builders import START, metrics, steps

MOST = 2_000
GPU = "gpu_utilization"
DAY = (START, START + timedelta(days=1))
PART = (START + timedelta(hours=2), START + timedelta(hours=20))
NODES = ["algo-1", "algo-2"]
LEVELS = metrics(NODES, 1440, {GPU: 50.0}, spread=20.0)
STEPS = steps(NODES, 9_000, 2.0, spikes_every=100)
ROWS, WORK = measured(LEVELS, GPU, NODES), work_of(STEPS)

#: The frame, and the columns of its lowest, mean and highest value, and of how many values there are.
SERIES: dict[str, tuple[Callable[[], pd.DataFrame], np.ndarray, tuple[str, str, str, str]]] = {
    "cells of a node": (
        lambda: cells(ROWS, columns_for(2)),
        ROWS.value,
        ("low_pct", "mean_pct", "high_pct", "points"),
    ),
    "cells of a part": (
        lambda: cells(ROWS, columns_for(2), PART),
        ROWS.within(PART).value,
        ("low_pct", "mean_pct", "high_pct", "points"),
    ),
    "line of one node": (
        lambda: line_frames(measured(LEVELS[LEVELS["node"] == "algo-1"], GPU, ()), DAY)[0].dropna(),
        ROWS.value[ROWS.node == 0],
        ("low_pct", "mean_pct", "high_pct", "points"),
    ),
    "all nodes": (lambda: across(ROWS), ROWS.value, ("low", "mean", "high", "points")),
    "step times": (lambda: buckets(WORK).query("order == 0"), WORK.seconds, ("low_s", "mean_s", "high_s", "reports")),
    "step times of a part": (
        lambda: buckets(WORK.within(PART)).query("order == 0"),
        WORK.within(PART).seconds,
        ("low_s", "mean_s", "high_s", "reports"),
    ),
}


@pytest.mark.parametrize("name", SERIES)
def test_a_series_is_short_and_keeps_lowest_mean_and_highest(name: str) -> None:
    build, values, (low, mean, high, count) = SERIES[name]
    frame = build()
    a_node = frame.groupby("node").size().max() if "node" in frame else len(frame)
    assert 10 < a_node <= MOST
    assert frame[count].sum() == len(values)
    assert frame[low].min() == values.min()
    assert frame[high].max() == values.max()
    assert np.average(frame[mean], weights=frame[count]) == pytest.approx(values.mean())


@pytest.mark.parametrize(
    "length",
    [
        len(of_metric(ROWS, DAY)[0]),
        len(of_steps(WORK, DAY)[0]),
        len(reached(STEPS)),
        len(outliers(WORK)),
        MARKS,
    ],
)
def test_what_is_not_of_levels_is_short_too(length: int) -> None:
    assert 0 < length <= MOST
