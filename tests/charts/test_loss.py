"""The chart of the loss: few points that keep spikes, marks where it is no number, a logarithmic axis."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pandas as pd
import pytest

from monitor.charts import elements, step_time
from tests.builders import START

SPAN = (START, START + timedelta(hours=2))


def _rows(count: int) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "at": pd.date_range(START, periods=count, freq="1s").as_unit("ms"),
            "step": pd.array(range(1, count + 1), dtype="Int64"),
            "loss": np.linspace(10, 2, count),
            "learning_rate": 3e-4,
            "bad": False,
        }
    )


@pytest.mark.parametrize("count", [1, 399, 400, 401, 5000])
def test_points_are_few_and_lose_no_report(count: int) -> None:
    rows = _rows(count)
    rows.loc[count // 2, "loss"] = 99.0
    shown = step_time.levels(rows, "loss")
    assert len(shown) == min(count, step_time.POINTS)
    assert shown["reports"].sum() == count
    assert shown["high"].max() == 99.0
    assert shown["step"].iloc[0] == 1


def test_a_part_of_the_time_is_cut() -> None:
    shown = step_time.levels(_rows(5000), "loss", (START, START + timedelta(seconds=99)))
    assert shown["reports"].sum() == 100


def test_bad_reports_are_marked_first_and_last_among_them() -> None:
    rows = _rows(1000).assign(bad=True)
    marks = step_time.no_numbers(rows)
    assert len(marks) == step_time.MARKS
    assert (marks["step"].iloc[0], marks["step"].iloc[-1]) == (1, 1000)


@pytest.mark.parametrize("log", [False, True])
def test_the_axis_is_as_chosen_and_the_data_stay_outside(log: bool) -> None:
    specification, frames = elements.split(step_time.loss_of(*step_time.loss_frames(_rows(10), SPAN), log=log))
    assert len(frames) == 3
    line = next(layer for layer in specification["layer"] if layer["mark"]["type"] == "line")
    assert (line["encoding"]["y"]["scale"].get("type") == "log") == log
