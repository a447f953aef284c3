"""What a change does to step time: ranges that agree with themselves, with the schedules, and with each other."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.predict.pipeline import Pipeline, PipelineSetting, step_time_change_pct


@pytest.mark.parametrize(
    ("stages", "microbatches", "window", "to", "least_gain", "most_gain"),
    [
        (2, 4, 2, 4, 0, 6),
        (4, 4, 2, 4, 18, 27),
        (4, 8, 2, 4, 26, 37),
        (4, 8, 4, 6, 0, 12),
        (8, 8, 2, 8, 48, 59),
        (8, 16, 4, 8, 26, 36),
    ],
)
def test_a_wider_window_gains_what_its_schedule_does(
    stages: int, microbatches: int, window: int, to: int, least_gain: float, most_gain: float
) -> None:
    low, middle, high = step_time_change_pct(
        PipelineSetting(stages, microbatches, window=window), PipelineSetting(stages, microbatches, window=to)
    )
    assert -most_gain <= low <= middle <= high <= -least_gain + 1e-9


def test_without_a_pipeline_or_a_change_nothing_changes() -> None:
    same = PipelineSetting(4, 8, window=4, microbatch_size=2)
    assert step_time_change_pct(same, same) == (0.0, 0.0, 0.0)
    for found in (
        step_time_change_pct(PipelineSetting(1, 8, window=1), PipelineSetting(1, 8, window=8)),
        step_time_change_pct(PipelineSetting(4, 8, window=8), PipelineSetting(4, 8, window=12)),
    ):
        assert found == pytest.approx((0.0, 0.0, 0.0))


@settings(deadline=None, max_examples=15)
@given(st.sampled_from(["gpipe", "1f1b"]), st.integers(2, 8), st.integers(1, 12), st.integers(2, 3))
def test_more_microbatches_of_one_size_are_never_slower_by_sample(
    schedule: str, stages: int, microbatches: int, factor: int
) -> None:
    few, many = (PipelineSetting(stages, m, schedule) for m in (microbatches, factor * microbatches))  # type: ignore[arg-type]
    low, middle, high = step_time_change_pct(few, many)
    assert low <= middle <= high <= 1e-9


@settings(deadline=None, max_examples=15)
@given(st.integers(2, 6), st.integers(2, 12), st.integers(1, 6), st.integers(1, 6), st.sampled_from([None, 1.0, 4.0]))
def test_a_gain_in_the_middle_is_one_in_its_own_range_and_the_way_back_is_the_opposite(
    stages: int, microbatches: int, window: int, to: int, size: float | None
) -> None:
    one, other = (PipelineSetting(stages, microbatches, window=a, microbatch_size=size) for a in (window, to))
    there, back = step_time_change_pct(one, other), step_time_change_pct(other, one)
    assert there[0] <= there[1] <= there[2]
    # Rows of the same draws: what was gained on the way there is lost on the way back.
    for gained, lost in zip(there, reversed(back), strict=True):
        assert (1 + gained / 100) * (1 + lost / 100) == pytest.approx(1, abs=0.02)


def test_doubling_a_microbatch_gains_less_the_larger_it_is() -> None:
    gains = [
        step_time_change_pct(
            PipelineSetting(1, 64, "1f1b", microbatch_size=size),
            PipelineSetting(1, 32, "1f1b", microbatch_size=2 * size),
        )[1]
        for size in (1.0, 8.0, 64.0)
    ]
    assert gains == sorted(gains)
    assert gains[0] == pytest.approx(100 * (2.19 / 1.19 / 2 - 1))


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 8), st.integers(1, 24), st.integers(1, 12), st.sampled_from([2.0, 3.0]), st.integers(1, 3))
def test_the_middle_needs_no_simulation(stages: int, groups: int, window: int, backward: float, chunks: int) -> None:
    pipeline = Pipeline.equal(stages, groups, 1 / (1 + backward), backward / (1 + backward))
    whole = Pipeline.equal(stages, groups * stages, 1 / (1 + backward), backward / (1 + backward))
    for setting, run in (
        (PipelineSetting(stages, groups, "smp", min(window, groups)), pipeline),
        (PipelineSetting(stages, groups, "gpipe"), pipeline),
        (PipelineSetting(stages, groups, "1f1b"), pipeline),
        (PipelineSetting(stages, groups * stages, "1f1b", None, chunks), whole),
    ):
        assert setting.is_possible
        assert setting.equal_stages_s(1.0) == pytest.approx(setting.seconds(run))


def test_fewer_draws_have_the_same_middle() -> None:
    one, other = PipelineSetting(4, 8, window=2), PipelineSetting(4, 8, window=4)
    whole, rough, none = (step_time_change_pct(one, other, draws) for draws in (128, 24, 0))
    assert whole[1] == rough[1] == none[1]
    assert none[0] == none[2]
    assert rough[0] <= rough[1] < rough[2]
