"""Thresholds in a chart: a line and a name each, and the same specification with and without them."""

from __future__ import annotations

from datetime import timedelta

from monitor.charts import elements, step_time, utilization
from monitor.charts.elements import threshold_lines, with_threshold_lines
from tests.builders import START, metrics, steps

SPAN = (START, START + timedelta(minutes=30))


def test_each_has_a_line_and_its_name_and_none_changes_the_looks() -> None:
    charts = (
        (step_time.step_time(steps(["algo-1"], 50, 2.0), SPAN), step_time.AXIS),
        (utilization.line(metrics(["algo-1"], 30, {"gpu_utilization": 50}), "gpu_utilization", SPAN), "%"),
    )
    for chart, axis in charts:
        bare, _ = elements.split(with_threshold_lines(chart, threshold_lines({}), axis))
        drawn, frames = elements.split(
            with_threshold_lines(chart, threshold_lines({"slow: > 3": 3.0, "very slow: > 4": 4.0}), axis)
        )
        assert drawn == bare
        assert drawn["height"] == chart.height
        assert [layer["mark"]["type"] for layer in drawn["layer"]][-3:] == ["rule", "text", "text"]
        assert drawn["layer"][-3]["encoding"]["y"]["axis"]["title"] == axis
        assert frames[drawn["layer"][-1]["data"]["name"]]["name"].tolist() == ["slow: > 3", "very slow: > 4"]


def test_names_of_lines_that_lie_close_are_not_written_over_one_another() -> None:
    drawn = threshold_lines({"c": 45.0, "a": 40.0, "b": 42.0, "far": 90.0}, 100).set_index("name")
    assert drawn["above"].to_dict() == {"a": "", "b": "", "c": "c", "far": "far"}
    assert drawn["below"].to_dict() == {"a": "a", "b": "", "c": "", "far": ""}
