"""What the charts of a comparison promise: shares that end at all steps, rows on scales of their own, a constant look."""

from __future__ import annotations

import json

import numpy as np
import pytest

from monitor.charts import elements
from monitor.charts.colors import JOBS, PREDICTION
from monitor.charts.comparison import (
    MOST_POINTS,
    FigureRow,
    PredictionRow,
    Times,
    beyond,
    dumbbells,
    ecdf,
    ecdf_curves,
    ecdf_medians,
    figure_scales,
    figure_signs,
    figure_words,
    prediction,
    prediction_ranges,
    round_top,
    until_s,
    zero,
)


def _times(letter: str, seconds: list[float] | np.ndarray) -> Times:
    return Times(letter, f"{letter}  run", np.asarray(seconds, dtype="float64"))


def test_a_curve_begins_at_nothing_and_reaches_all_steps_where_the_axis_ends() -> None:
    jobs = [_times("A", [2.0, 1.0, 3.0, 4.0]), _times("B", [1.5, 1.5])]
    shown = ecdf_curves(jobs)
    a = shown[shown["job"] == "A  run"]
    assert a["seconds"].tolist() == [1.0, 1.0, 2.0, 3.0, 4.0, 4.0]
    assert a["share_pct"].tolist() == [0, 25, 50, 75, 100, 100]
    b = shown[shown["job"] == "B  run"]
    assert b["share_pct"].tolist()[-1] == 100
    assert b["seconds"].tolist()[-1] == pytest.approx(until_s(jobs))
    assert ecdf_medians(jobs)["seconds"].tolist() == [2.5, 1.5]


def test_steps_far_beyond_the_others_are_counted_and_do_not_stretch_the_axis() -> None:
    usual = 1 + np.random.default_rng(3).normal(0, 0.01, 5000)
    jobs = [_times("A", np.append(usual, [60.0, 90.0])), _times("B", usual * 0.9)]
    assert until_s(jobs) < 1.2
    assert beyond(jobs) == [2, 0]
    shown = ecdf_curves(jobs)
    assert len(shown) <= 2 * (MOST_POINTS + 2)
    assert shown["seconds"].max() <= until_s(jobs)
    assert 99.9 < shown.loc[shown["job"] == "A  run", "share_pct"].max() < 100


@pytest.mark.parametrize(
    ("values", "top"), [((1.41, 1.21), 1.5), ((0.9,), 1.0), ((0.0, 0.0), 1.0), ((7.0, 61.0), 80.0), ((1e-4,), 1e-4)]
)
def test_a_scale_ends_at_a_round_number(values: tuple[float, ...], top: float) -> None:
    assert round_top(values) == pytest.approx(top)


def test_a_row_has_a_scale_of_its_own_and_names_its_outer_jobs() -> None:
    rows = [
        FigureRow("step time", (1.4, 1.2, 1.3), ("1.40 s", "1.20 s", "1.30 s"), 2.0, "2.00 s"),
        FigureRow("GPU", (None, 50.0, None), ("–", "50 %", "–"), 100.0, "100 %"),
    ]
    signs, words, scales = (
        make(rows, "ABC") for make in (figure_signs, figure_words, lambda rows, _: figure_scales(rows))
    )
    assert signs["at"].tolist() == pytest.approx([0.7, 0.6, 0.65, 0.5])
    assert words[["words", "side"]].to_numpy().tolist() == [
        ["B 1.20 s", "left"], ["A 1.40 s", "right"], ["B 50 %", "right"],
    ]  # fmt: skip
    assert scales[["low", "high", "top"]].to_numpy().tolist() == [
        [pytest.approx(0.6), pytest.approx(0.7), "2.00 s"], [0.5, 0.5, "100 %"],
    ]  # fmt: skip


def test_a_prediction_stands_above_what_was_measured() -> None:
    shown = prediction_ranges(
        [
            PredictionRow("B", (-30, -13, -5), "predicted", (-15, -14, -13), "held"),
            PredictionRow("C", (1, 2, 3), "predicted", None, ""),
        ]
    )
    assert shown["row"].tolist() == ["B predicted", "B measured", "C predicted"]
    assert shown["middle_pct"].tolist() == [-13, -14, 2]


def test_what_is_seen_is_data_and_the_specification_stays() -> None:
    labels = ("A  run", "B  run")
    few, many = [_times("A", [1.0]), _times("B", [2.0])], [_times("A", [1.0, 2.0]), _times("B", [2.0, 30.0])]
    one = FigureRow("GPU", (3.0, 4.0), ("3 %", "4 %"), 100.0, "100 %")
    pairs = [
        [ecdf(ecdf_curves(jobs), ecdf_medians(jobs), labels, "step time") for jobs in (few, many)],
        [
            dumbbells(figure_signs(rows, "AB"), figure_words(rows, "AB"), figure_scales(rows))
            for rows in ([one], [one, one])
        ],
        [
            prediction(prediction_ranges(found), zero())
            for found in ([], [PredictionRow("B", (-3.0, -2.0, -1.0), "", (1.0, 2.0, 3.0), "")])
        ],
    ]
    for first, second in pairs:
        assert _specification(first) == _specification(second)


def _specification(chart: object) -> str:
    return json.dumps(elements.split(chart)[0], sort_keys=True)


def test_each_job_has_a_colour_and_a_shape_of_its_own() -> None:
    for looks in (JOBS, PREDICTION):
        for look in zip(*looks.values(), strict=True):
            assert len(set(look)) == len(looks)
