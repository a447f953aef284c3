"""A metric's course in a line as small as a word."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence
from xml.etree import ElementTree

import pandas as pd
import pytest

from monitor.charts.sparkline import POINTS, picture, sparkline
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


def test_rare_points_are_no_gaps_and_a_gap_between_them_stays_open() -> None:
    frame = metrics(NAMES, 120, {"gpu_utilization": 90.0})
    minutes = ((frame["timestamp"] - pd.Timestamp(START)).dt.total_seconds() / 60).round()
    rare = frame[minutes % 10 == 0].assign(period_s=600)
    assert None not in sparkline(rare, "gpu_utilization")
    assert None in sparkline(rare[(minutes[rare.index] < 40) | (minutes[rare.index] > 80)], "gpu_utilization")


@pytest.mark.parametrize(
    ("values", "joined"),
    [
        ([10.0, 20.0, 30.0], 2),
        ([10.0, 20.0, None, 30.0], 1),
        ([10.0, None, 30.0, None, 20.0], 0),
    ],
)
def test_the_picture_joins_neighbours_alone(values: Sequence[float | None], joined: int) -> None:
    address = picture(values)
    assert address is not None
    kind, drawn = address.split(",", 1)
    assert kind == "data:image/svg+xml;base64"
    line = ElementTree.fromstring(b64decode(drawn))[-1].attrib["d"]
    assert line.count("L") == joined
    known = [each for each in values if each is not None]
    assert line.count("M") + line.count("L") == len(known)


@pytest.mark.parametrize("values", [(), (50.0,), (None, 50.0, None)])
def test_less_than_two_values_are_no_line(values: Sequence[float | None]) -> None:
    assert picture(values) is None
