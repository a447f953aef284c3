"""Steps whose reports tell no time share that of their epoch, or of the training, which another line tells."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.parse.read import parse


@pytest.mark.parametrize(
    ("steps", "each_s"),
    [
        pytest.param(range(1, 34), 66.0 / 33, id="each step"),
        pytest.param(range(33), 66.0 / 33, id="from 0"),
        pytest.param(range(0, 510, 10), 66.0 / 505, id="each tenth"),
        pytest.param((0, 100), None, id="too few to tell"),
    ],
)
def test_steps_without_a_time_share_their_epochs(steps: range, each_s: float | None) -> None:
    lines = [
        line
        for epoch in range(1, 4)
        for line in (*(f"epoch {epoch}/9 step {step} loss=0.5{step}" for step in steps), f"Epoch {epoch} took 66.0s")
    ]
    found = parse(lines).steps
    assert len(found) == 3 * len(steps)
    if each_s is None:
        assert found["step_time_s"].isna().all()
    else:
        assert set(found["kind"]) == {"running-mean"}
        assert found["step_time_s"].to_numpy() == pytest.approx(each_s)


def test_two_reports_that_tell_how_many_there_are_share_their_epoch() -> None:
    lines = [
        line
        for epoch in range(1, 4)
        for line in (*(f"step {step}/11 loss=0.5{step}{epoch}" for step in (0, 5, 10)), f"Epoch {epoch} took 22.0s")
    ]
    assert parse(lines).steps["step_time_s"].to_numpy() == pytest.approx(2.0)


@pytest.mark.parametrize("epochs", [1, 4])
@pytest.mark.parametrize("counts", [range(1, 21), range(10, 210, 10)])
def test_steps_of_several_epochs_share_what_the_training_took(epochs: int, counts: range) -> None:
    lines = [f"epoch {epoch} step {step} loss=0.5{step}" for epoch in range(epochs) for step in counts]
    steps = epochs * (counts[-1] + (counts.step / 2 if counts.step > 1 else 0))
    found = parse([*lines, f"Training took: {steps:.1f} s"]).steps
    assert set(found["kind"]) == {"running-mean"}
    assert found["step_time_s"].to_numpy() == pytest.approx(1.0)


def test_two_writers_that_take_turns_are_no_epochs() -> None:
    lines = [f"step {step}/20 loss=0.5{step}{writer}" for step in range(1, 21) for writer in range(2)]
    assert parse([*lines, "Training took: 20.0 s"]).steps["step_time_s"].isna().all()


def test_one_report_of_each_epoch_shares_it_where_the_next_would_be_beyond_its_total() -> None:
    lines = [
        line for epoch in range(4) for line in (f"Batch 80 of 88. loss: 0.5{epoch}", "Training epoch took: 0:00:44")
    ]
    times = parse(lines).steps["step_time_s"].tolist()
    assert times == pytest.approx([float("nan"), 0.5, 0.5, 0.5], nan_ok=True)


@pytest.mark.parametrize(
    ("steps", "each_s"),
    [
        pytest.param((320,), 0.25, id="the last one"),
        pytest.param((319,), 0.25, id="the last one, from 0"),
        pytest.param((0,), 0.25, id="the first one, before an interval that is longer than an epoch"),
        pytest.param((100,), None, id="one in the middle"),
        pytest.param(range(0, 210, 10), None, id="with more to come"),
    ],
)
def test_reports_that_do_not_reach_their_total_tell_no_time(steps: Sequence[int], each_s: float | None) -> None:
    lines = [
        line
        for epoch in range(1, 5)
        for line in (
            *(f"[{epoch}/9][{step}/320] Loss_D: 0.5{step}{epoch} Loss_G: 2.5{step}{epoch}" for step in steps),
            f"Epoch {epoch} took 80.0s",
        )
    ]
    times = parse(lines).steps["step_time_s"]
    assert times.isna().all() if each_s is None else times.to_numpy() == pytest.approx(each_s)


def test_of_a_counter_that_goes_on_the_steps_between_two_epochs_ends_are_the_epochs() -> None:
    lines = [
        line
        for epoch in range(3)
        for line in (
            *(f"step {step} loss=0.5{step}" for step in range(10 * epoch + 1, 10 * epoch + 11)),
            f"Epoch {epoch} took {20 + epoch}.0s",
        )
    ]
    times = parse(lines).steps["step_time_s"].tolist()
    assert times == pytest.approx([2.0] * 10 + [2.1] * 10 + [2.2] * 10)
