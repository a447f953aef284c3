"""Which bars are the training where a log tells of it in other lines, too."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd
import pytest

from tests.parse.read import parse


def _read(lines: Iterable[str]) -> pd.DataFrame:
    return parse(list(lines)).steps


def test_a_bar_whose_every_count_is_told_as_an_epoch_counts_epochs() -> None:
    lines = []
    for number in range(1, 12):
        lines += [
            f" {5 * number}%|█  | {number}/20 [{number:02}:00<19:00, 60.10s/it]",
            f"Epoch {number}: train loss 0.{40 - number}",
        ]
    assert not _read(lines)["step_time_s"].notna().any()


def test_a_bar_that_runs_in_few_of_the_epochs_is_no_training() -> None:
    lines = []
    for epoch in range(1, 13):
        lines += [f"===> Epoch: {epoch} Time: 19.33 Train Loss: 0.0{40 - epoch} lr: 0.0003"]
        if epoch == 6:
            lines += [f" {2 * count}%|█  | {count}/50 [{count:02}:40<19:00, 40.10s/it]" for count in range(1, 30)]
    assert not _read(lines)["step_time_s"].notna().any()


def test_a_bar_of_ones_own_with_a_loss_is_a_report_and_others_are_not() -> None:
    lines = [
        f"{word} [=====>     ] {number}.5% {1000 * number}/58000 | 4.50 it/s | ETA: 900 s{loss}"
        for word, loss in (("Tokenizing", ""), ("Training", " | loss=2.{number}"))
        for number in range(1, 12)
    ]
    steps = _read(line.replace("{number}", str(place)) for place, line in enumerate(lines))
    assert len(steps) == 11
    assert steps["step_time_s"].median() == pytest.approx(1 / 4.5)


def test_a_bar_of_signs_beside_a_step_and_a_loss_is_a_report() -> None:
    signs = ["[>-----]", "[=>----]", "[==>---]", "[===>--]", "[====>-]", "[=====>]"]
    found = _read(
        [f"Global step: {5 * n} - {bar} {n}% - loss: 1.{n} - 900.1 sample/sec" for n, bar in enumerate(signs)]
    )
    assert found["step"].tolist() == [0, 5, 10, 15, 20, 25]


def test_a_bar_of_signs_with_a_loss_of_both_kinds_is_a_report() -> None:
    lines = [
        f"Training [===      ] 8.{n}% {500 * n}/58000 | 4.00 it/s | ETA: 900 s | loss=2.{n} | validation_loss=2.5"
        for n in range(1, 9)
    ]
    assert list(_read(lines)["step_time_s"]) == [0.25] * 8


def test_a_bar_between_how_an_epoch_was_trained_and_how_it_was_evaluated_is_no_training() -> None:
    bar = ["".join(f"\r{100 * n // 40:3}%|##  | {n}/40 [00:{n // 10:02}<00:01, 10.0it/s]" for n in range(1, 41))]
    trained = [f"Epoch {epoch}, Train Loss: 0.{9 - epoch}" for epoch in range(1, 6)]
    evaluated = [f"Epoch {epoch}, Val Loss: 0.{9 - epoch}5" for epoch in range(1, 6)]
    log = [line for one, other in zip(trained, evaluated, strict=True) for line in (one, *bar, other)]
    assert parse(log).steps.empty
    log = [line for one, other in zip(trained, evaluated, strict=True) for line in (*bar, one, other)]
    assert len(parse(log).steps) == 200


def test_a_bar_of_one_batch_runs_once_an_epoch() -> None:
    bar = [
        f"Training: {100 * n:3}%|##| {n}/1 [00:00<00:00,  {rate}it/s, loss=1.{n}]" for n, rate in ((0, "?"), (1, 4.0))
    ]
    found = parse([*bar, bar[1], "Evaluating: 100%|##| 1/1 [00:00<00:00,  5.13it/s]"] * 6).steps
    assert found["step"].tolist() == [1] * 6
    assert found["segment"].tolist() == list(range(6))


def test_a_bar_that_names_the_epoch_of_each_of_its_counts_is_over_epochs() -> None:
    bar = "Epoch {epoch} /250 Per epoch 1026:   0%|          | {done}/250 [{s:02}:37<10:52:28, 157.22s/it]"
    run = [bar.format(epoch=done + 1, done=done, s=2 * done) for done in range(12)]
    assert _read([*run, *run]).empty


def test_a_bar_over_prompts_is_no_training_whatever_the_log_speaks_of() -> None:
    bar = [f"  1%|▏         | {62 * n}/86745 [00:0{n}<03:15, 444.18it/s]" for n in range(1, 9)]
    assert _read(["Loading the trained model", "Loaded 86745 prompts", *bar, *bar]).empty


def test_reports_that_nobody_knows_count_more_than_the_few_redraws_of_another_bar() -> None:
    lines = []
    for epoch in range(1, 4):
        lines += [
            f"2026-03-04 08:{epoch:02}:{at:02} E{epoch} i={at * 10}, training loss: {3 / (at + epoch):.4f}"
            for at in range(1, 40)
        ]
        lines += [
            f"\r100: {share:3}%|{'█' * (share // 10):<10}| {share}/100 [00:0{share // 20}<00:05, 9.{epoch}it/s]"
            for share in range(10, 101, 10)
        ]
    steps = parse(lines).steps
    assert list(steps["step"]) == [10 * at for _ in range(3) for at in range(1, 40)]
    assert steps["step_time_s"].median() == pytest.approx(0.1)


@pytest.mark.parametrize("tag", ["[rank0]:", "[rank0]: ", "[Rank 0]:", "[1,mpirank:0,algo-1]<stdout>:"])
def test_redraws_behind_a_tag_are_of_its_rank_wherever_the_first_begins(tag: str) -> None:
    log = []
    for first in range(1, 41, 10):
        bar = "".join(
            f"\r{5 * n // 2:3}%|##  | {n}/40 [00:{2 * n:02}<01:20,  2.00s/it]" for n in range(first, first + 10)
        )
        log += [
            f"{tag}{bar}",
            f"{tag}{{'loss': 0.{first}, 'grad_norm': 1.5, 'learning_rate': 1e-05, 'epoch': 0.{first}}}",
        ]
    steps = parse(log).steps
    assert steps["step"].tolist() == list(range(1, 41))
    assert set(steps["rank"]) == {0}
