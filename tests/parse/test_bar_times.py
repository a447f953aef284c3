"""What the redraws of a bar, and what is told beside them, say of the time of a step."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
import pandas as pd
import pytest

from monitor.model import LogPage
from monitor.parse.assemble import assemble
from monitor.parse.recognise import RawRows
from tests.parse.made_up import redraw, smoothed_bar
from tests.parse.read import parse


def test_redraws_that_end_in_one_line_have_each_their_time() -> None:
    texts = [f"Training: {redraw(step, 90, 2.0 * step, 2.0)}" for step in range(1, 91)]
    lines = ["\r".join(texts[at : at + 30]) for at in range(0, 90, 30)]
    page = LogPage("s", "algo-1", 1, "\n".join(lines).encode(), (1_060_000, 1_120_000, 1_180_000))
    raw = RawRows()
    raw.add(page)
    found = assemble(raw.steps, raw.events).steps
    begun = pd.Timestamp(1_000_000, unit="ms", tz="UTC")
    assert list((found["timestamp"] - begun).dt.total_seconds()) == [2.0 * step for step in range(1, 91)]


def test_a_clock_that_goes_on_where_the_count_begins_again_tells_the_steps() -> None:
    # So does Lightning's bar, if its workers stay; its rate is then all that passed over the steps of the epoch.
    lines = [
        f"Epoch {epoch}: {redraw(step, 300, passed := 0.4 * (300 * epoch + step), passed / step)}"
        for epoch in range(6)
        for step in range(50, 301, 50)
    ]
    found = parse(lines).steps
    assert set(found["kind"]) == {"cumulative"}
    assert found["step_time_s"].median() == pytest.approx(0.4, rel=0.05)


@pytest.mark.parametrize(
    ("rate", "seconds"), [("0.081", 12.35), ("'0.25'", 4.0), ("0.004", None)], ids=["number", "text", "of one digit"]
)
def test_losses_without_a_time_have_the_mean_of_their_run(rate: str, seconds: float | None) -> None:
    losses = [f"{{'loss': 0.{90 - at}, 'learning_rate': 5e-05, 'epoch': {at / 10}}}" for at in range(1, 31)]
    end = f"{{'train_runtime': 370.4, 'train_steps_per_second': {rate}, 'train_loss': 0.05, 'epoch': 3.0}}"
    found = parse([*losses, end]).steps
    assert len(found) == 30
    if seconds is None:
        assert found["step_time_s"].isna().all()
    else:
        assert set(found["kind"]) == {"running-mean"}
        assert found["step_time_s"].to_numpy() == pytest.approx(seconds, rel=1e-3)


def test_epochs_in_all_their_digits_are_of_the_trainer() -> None:
    found = parse([f"{{'loss': 0.{90 - at}, 'lr': 5e-05, 'epoch': {3.8275862068965516 * at}}}" for at in range(1, 21)])
    assert len(found.steps) == 20


def test_a_whole_epoch_that_is_quoted_is_of_the_trainer_too() -> None:
    losses = [f"{{'loss': '0.{90 - at}', 'learning_rate': '5e-05', 'epoch': '{at / 10:.4g}'}}" for at in range(1, 31)]
    assert "'epoch': '1'" in losses[9]
    found = parse(
        [*losses, "{'train_runtime': '370.4', 'train_steps_per_second': '0.081', 'train_loss': '0.5', 'epoch': '3'}"]
    )
    assert found.steps["loss"].tolist() == pytest.approx([(90 - at) / 100 for at in range(1, 31)])
    # Another program's dict of a whole epoch tells of all of it.
    assert not len(parse([f"{{'loss': 0.{90 - at}, 'epoch': {at}}}" for at in range(1, 31)]).steps)


def test_the_mean_of_a_run_that_was_resumed_is_not_known() -> None:
    # The Trainer says 800 steps over the seconds of 150.
    losses = [f"{{'loss': 0.{900 - at}, 'learning_rate': 5e-05, 'epoch': {at / 100}}}" for at in range(65, 81)]
    end = "{'train_runtime': 1395.0, 'train_steps_per_second': 0.573, 'train_loss': 0.05, 'epoch': 0.8}"
    assert parse([*losses, end]).steps["step_time_s"].isna().all()
    bar = [redraw(0, 800, 0.0, 1.0), redraw(800, 800, 1395.0, 1395 / 800)]
    assert parse([*bar, *losses]).steps["step_time_s"].isna().all()


@pytest.mark.parametrize(
    ("many", "total", "steps"),
    [
        pytest.param(25, 760, [30 * each for each in range(1, 26)], id="each 30 steps"),
        pytest.param(4, 760, [None] * 4, id="each 153 to 190 steps"),
    ],
)
def test_losses_beside_a_bar_of_which_the_end_alone_is_left(many: int, total: int, steps: list[int | None]) -> None:
    bar = [f"  0%|          | 0/{total} [00:00<?, ?it/s]", f"100%|██████████| {total}/{total} [26:36<00:00,  2.10s/it]"]
    losses = [f"{{'loss': 0.{90 - at}, 'learning_rate': 5e-05, 'epoch': {at / 100}}}" for at in range(many)]
    found = parse([*bar, *losses]).steps
    assert found["step"].astype(object).where(found["step"].notna(), None).tolist() == steps
    assert found["step_time_s"].to_numpy() == pytest.approx(26.6 * 60 / total)
    assert set(found["kind"]) == {"running-mean"}


@pytest.mark.parametrize("epochs", [2, 3])
def test_losses_beside_a_bar_of_which_the_ends_of_epochs_are_left(epochs: int) -> None:
    # Of a training of three epochs, at its end or while it goes on.
    lines = ["  0%|          | 0/798 [00:00<?, ?it/s]"]
    for end in range(266, 266 * epochs + 1, 266):
        lines += [
            f"{{'loss': 0.{900 - at}, 'learning_rate': 5e-05, 'epoch': {at / 266:.2f}}}"
            for at in range(10, end + 1, 10)
            if at > end - 266
        ]
        lines += [f" {end // 8}%|###   | {end}/798 [{end // 266 * 4:02}:00<09:37,  1.84it/s]"]
    found = parse(lines).steps
    assert found["step"].tolist() == list(range(10, 266 * epochs + 1, 10))
    assert found["step_time_s"].to_numpy() == pytest.approx(240 / 266)


def test_losses_in_a_file_have_the_mean_of_their_run() -> None:
    losses = [
        f'{{"loss": 0.{900 - at}, "learning_rate": 5e-05, "epoch": {at / 10}, "step": {at}}}' for at in range(1, 31)
    ]
    end = '{"train_runtime": 3270.6, "train_steps_per_second": 0.009, "total_flos": 1e18, "epoch": 3.0, "step": 30}'
    found = parse([*losses, end]).steps
    assert list(found["step"]) == list(range(1, 31))
    assert found["step_time_s"].to_numpy() == pytest.approx(109.02, rel=1e-3)
    assert parse(losses).steps["step_time_s"].isna().all()


@pytest.mark.parametrize(
    "reports",
    [
        ["Step\tTraining Loss", *(f"{each}\t0.{900 - each}" for each in range(50, 301, 50))],
        [
            line
            for each in range(50, 301, 50)
            for line in (f" {{'loss': 0.{900 - each},", "  'learning_rate': 5e-05,", f"  'step': {each}}},")
        ],
    ],
    ids=["a table", "one name on a line"],
)
def test_losses_in_a_notebook_have_the_mean_of_their_run(reports: list[str]) -> None:
    end = (
        "TrainOutput(global_step=300, metrics={'train_runtime': 600.4, 'train_steps_per_second': 0.500, 'epoch': 3.0})"
    )
    found = parse([*reports, end]).steps
    assert list(found["step"]) == list(range(50, 301, 50))
    assert found["step_time_s"].to_numpy() == pytest.approx(2.0)
    assert parse(reports).steps["step_time_s"].isna().all()


def test_what_is_left_of_an_epoch_tells_the_steps_of_a_keras_bar_where_nothing_else_does() -> None:
    under_way = [
        f"{step:3}/102 [>.............................] - ETA: {19 if step == 1 else (102 - step) * 5 // 60}:"
        f"{(102 - step) * 5 % 60:02} - loss: 0.{690 - step} - accuracy: 0.59"
        for step in range(1, 15)
    ]
    steps = parse(under_way).steps
    assert list(steps["step"]) == list(range(1, 15))
    assert steps["step_time_s"].median() == pytest.approx(5.0, rel=0.02)
    whole = "102/102 [==============================] - 510s 5s/step - loss: 0.5 - accuracy: 0.60"
    assert list(parse([*under_way, whole, *under_way, whole]).steps["line"]) == [15, 30]


def _over_samples(count: int, total: int, per_s: float) -> str:
    minutes, seconds = divmod(int(count / per_s), 60)
    return f"Epoch 01:  50%|##   | {count}/{total} [{minutes:02d}:{seconds:02d}<00:10, {per_s:.2f}it/s]"


def test_a_bar_over_samples_is_counted_by_its_batches() -> None:
    counts = [*range(1024, 40000, 2048), 40000]
    found = parse([_over_samples(count, 40000, 20480.0) for count in counts]).steps
    assert list(found["step"]) == [*range(1, 40, 2), 40]
    assert set(found["total"]) == {40}
    assert found["step_time_s"].to_numpy() == pytest.approx(0.05)


@pytest.mark.parametrize("per_s", [20.0, 900.0])
def test_a_bar_that_is_drawn_each_thousand_steps_counts_steps(per_s: float) -> None:
    found = parse([_over_samples(count, 40000, per_s) for count in range(1000, 40001, 1000)]).steps
    assert list(found["step"]) == list(range(1000, 40001, 1000))
    assert found["step_time_s"].median() == pytest.approx(1 / per_s)


@pytest.mark.parametrize(
    "description",
    [
        "Train Epoch: 1 [{at}/500 ({at}%)]\tLoss: 2.3{at}: ",
        "Train Epoch: 1 [{at}/500 ({at}%)] Loss: 2.3{at}: : {at}it [00:04,  9.20it/s]",
        "[1, {at}] loss: 2.3{at}: ",
        "epoch 1 iter {at}: train loss 2.3{at}. lr 6.0e-04: ",
        "Epoch [1/10] Step [{at}/500] Loss: 2.3{at}: ",
        "[1/10][{at}/500] Loss_D: 0.{at} Loss_G: 1.2: ",
    ],
)
def test_a_report_that_is_the_description_of_a_bar_has_its_times(description: str) -> None:
    told = [description.format(at=at) for at in range(10, 400, 10)]
    bars = [f"  {at // 5}%|█ | {at}/500 [00:{at // 10:02}<00:40,  9.20it/s]" for at in range(10, 400, 10)]
    lines = [f"\r{text}" if text.endswith("it/s]") else f"\r{text}{bar}" for text, bar in zip(told, bars, strict=True)]
    found = parse(lines).steps
    assert found["step"].tolist() == list(range(10, 400, 10))
    assert found["step_time_s"].tolist() == pytest.approx([1 / 9.2] * 39)


def test_rates_of_steps_of_many_seconds_tell_less_than_the_clock_of_their_bar() -> None:
    redraws = ["Epoch 0:   0%|          | 0/100 [00:00<?, ?it/s]"]
    redraws += [
        f"Epoch 0:   1%|          | {n}/100 [{22 * n // 60:02}:{22 * n % 60:02}<30:00,  {1 / 22:.2f}it/s, v_num=4]"
        for n in range(1, 41)
    ]
    steps = parse(["\r".join(redraws)]).steps
    assert steps["step_time_s"].to_numpy() == pytest.approx([22.0] * 40)
    assert set(steps["kind"]) == {"cumulative"}


@pytest.mark.parametrize("step_s", [0.4, 3.0, 24.0, 93.0])
def test_a_bar_that_leaps_to_where_a_resumed_training_goes_on_tells_the_steps_behind(step_s: float) -> None:
    moments = [(650, 26.0), *((650 + n, 26.0 + step_s * n) for n in range(1, 61))]
    found = parse(list(smoothed_bar(800, moments))).steps
    assert found["step"].tolist() == [count for count, _ in moments]
    assert np.isnan(found["step_time_s"].iloc[0])
    assert found["step_time_s"].median() == pytest.approx(step_s, rel=0.05)
    assert found["step_time_s"].iloc[1:].min() >= 0.8 * step_s


@pytest.mark.parametrize("first", [1, 500])
def test_a_bar_that_leaps_nowhere_keeps_its_rate(first: int) -> None:
    lines = [f"Training: {redraw(n, 900, 3.0 * n, 3.0 + 0.01 * (n % 2))}" for n in range(first, first + 60)]
    assert "cumulative" not in set(parse(lines).steps["kind"])


@pytest.mark.parametrize("step_s", [6.0, 20.0])
def test_an_evaluation_is_not_spread_over_the_steps_behind_it(step_s: float) -> None:
    moments = [(n, step_s * n + 100 * step_s * ((n - 1) // 15)) for n in range(1, 91)]
    found = parse(list(smoothed_bar(1000, moments))).steps
    assert found["step_time_s"].median() == pytest.approx(step_s, rel=0.05)
    assert (found["step_time_s"] > 1.5 * step_s).sum() == 5


def test_whole_seconds_take_nothing_from_a_rate_that_they_bear_out() -> None:
    seconds = [6.9 if n % 6 == 0 else 5.4 for n in range(60)]  # by the clock 5 s mostly
    found = parse(list(smoothed_bar(60, list(enumerate(accumulate(seconds), 1))))).steps
    assert "cumulative" not in set(found["kind"])
    assert found["step_time_s"].median() == pytest.approx(5.6, rel=0.03)


def test_a_clock_of_tenths_tells_steps_of_less() -> None:
    # Ultralytics' own bar, in an epoch with a slow first step.
    clock = [9.5 + 1.2 * (n - 1) for n in range(1, 13)]
    lines = [
        f"        3/4      2.7G      5.864      3.84      4.045          4        160: {100 * n // 12}% ━━────── "
        f"{n}/12 {now / n:.1f}s/it {now:.1f}s<45.0s"
        for n, now in enumerate(clock, 1)
    ]
    assert parse(lines).steps["step_time_s"].median() == pytest.approx(1.2, rel=0.02)


def test_of_two_reports_one_that_is_far_slower_is_a_warm_up() -> None:
    lines = [
        f"Train: epoch: [0]  [{at:2}/25]  eta: 0:00:09  loss: 2.7  time: {s:.4f}" for at, s in ((0, 5.2), (24, 0.19))
    ]
    assert list(parse(lines).steps["warm_up"]) == [True, False]
    assert not parse([line.replace("5.2000", "0.3000") for line in lines]).steps["warm_up"].any()
