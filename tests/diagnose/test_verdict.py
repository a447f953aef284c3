"""The answer in one sentence: the first finding, or what can and cannot be said; never healthy without data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from monitor.diagnose.verdict import gain_words, judge, seen
from monitor.model import METRICS, Prediction, Report
from tests import situations
from tests.builders import report


@pytest.mark.parametrize(
    ("make", "level", "words"),
    [
        (situations.low_utilization, "warning", "GPUs wait half of the time"),
        (situations.failed, "critical", "GPU memory ran out"),
        (partial(situations.sixty_four, minutes=30), "warning", "algo-5 is slow"),
        (situations.healthy, "healthy", "Healthy as far as can be seen"),
        (situations.no_steps, "partial", "step times are not known"),
        (situations.no_gpu, "partial", "step times are not known"),
        (situations.gappy, "partial", "there is no access to its metrics"),
        (situations.never_started, "critical", "Failed: CapacityError"),
        (partial(report, status="Stopped", start=None), "unknown", "Never started"),
        (partial(report, status="InProgress", start=None), "unknown", "Waiting for instances"),
        (partial(report, status="InProgress"), "unknown", "Too early to judge"),
        (report, "unknown", "Cannot be judged"),
    ],
)
def test_verdict(make: Callable[[], Report], level: str, words: str) -> None:
    verdict = judge(make())
    assert verdict.level == level
    assert words in verdict.headline


def test_a_job_that_failed_without_a_finding_is_never_healthy_and_says_its_reason() -> None:
    built = replace(situations.failed(), findings=())
    verdict = judge(built)
    assert verdict.level == "critical"
    assert "exit code 1" in verdict.detail


def test_nothing_is_healthy_when_no_metric_was_seen() -> None:
    built = situations.healthy()
    blind = replace(built, nodes=tuple(replace(node, **dict.fromkeys(METRICS)) for node in built.nodes))
    assert judge(blind).level == "partial"
    assert seen(blind)


def test_the_next_step_and_its_gain_stand_beside_the_headline() -> None:
    detail = judge(situations.low_utilization()).detail
    assert "Raise active_microbatches from 2 to 4." in detail
    assert "-35 %" in detail


def test_a_prediction_is_called_one() -> None:
    prediction = situations.WINDOW.prediction
    assert prediction is not None
    assert gain_words(prediction) == (
        "Step time -35 % (-35 to -31), peak GPU memory 74 % (41 to 82): model-based, not measured. Pipeline schedule model."
    )


def test_limits_are_told_with_good_news() -> None:
    assert "Step times of 3 nodes are not in the logs" in judge(situations.healthy()).detail


@pytest.mark.parametrize(
    ("memory", "at_most", "words"),
    [
        ((41.0, 74.0, 82.0), False, "peak GPU memory 74 % (41 to 82)"),
        # A range without width is none, and what is between nothing and a bound is no range.
        ((60.1, 60.2, 60.3), False, "peak GPU memory 60 %:"),
        ((25.0, 38.0, 50.0), True, "peak GPU memory at most 50 %:"),
    ],
)
def test_memory_of_a_prediction_has_a_range_only_where_there_is_one(
    memory: tuple[float, float, float], at_most: bool, words: str
) -> None:
    assert words in gain_words(Prediction((-8.0, -5.0, -2.0), memory, memory_at_most=at_most))
