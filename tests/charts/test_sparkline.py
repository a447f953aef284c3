"""A metric's course in a line as small as a word."""

from __future__ import annotations

import pandas as pd

from monitor.charts.sparkline import POINTS, sparkline
from tests.builders import START, metrics

NAMES = ("algo-1", "algo-2")


def test_the_course_is_the_mean_over_nodes_in_few_points() -> None:
    frame = metrics(NAMES, 120, {"gpu_utilization": 90.0})
    course = sparkline(frame, "gpu_utilization")
    assert len(course) == POINTS
    assert all(each is not None and 80 <= each <= 100 for each in course)


def test_a_part_without_data_stays_open() -> None:
    frame = metrics(NAMES, 120, {"gpu_utilization": 90.0})
    minutes = (frame["timestamp"] - pd.Timestamp(START)).dt.total_seconds() / 60
    course = sparkline(frame[(minutes < 40) | (minutes > 80)], "gpu_utilization")
    assert None in course
    assert course[0] is not None
    assert course[-1] is not None


def test_few_points_are_a_short_line_and_none_is_none() -> None:
    assert len(sparkline(metrics(NAMES, 5, {"gpu_utilization": 90.0}), "gpu_utilization")) <= 5
    assert sparkline(metrics(NAMES, 5, {"gpu_utilization": 90.0}), "disk_utilization") == ()
