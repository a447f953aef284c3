"""Reports that are told in parts: a line a loss, a head and figures below it, a bar and its fields."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.parse.read import parse

PARTS = ("spectral_loss", "adversarial_loss", "loss")


def _one_a_line(names: tuple[str, ...], steps: int = 6, ranks: int = 1) -> list[str]:
    return [
        f"INFO: (Steps: {100 * step}) train/{name} = {place + 0.01 * step + 1:.4f}."
        for step in range(1, steps + 1)
        for _ in range(ranks)
        for place, name in enumerate(names)
    ]


def test_a_line_for_each_part_of_the_loss_is_one_report() -> None:
    steps = parse(_one_a_line(PARTS)).steps
    assert list(steps["step"]) == [100, 200, 300, 400, 500, 600]
    # The loss is what is called that.
    assert list(steps["loss"]) == pytest.approx([3.01, 3.02, 3.03, 3.04, 3.05, 3.06])


def test_of_several_parts_none_is_the_loss() -> None:
    steps = parse(_one_a_line(PARTS[:2])).steps
    assert len(steps) == 6
    assert steps["loss"].isna().all()


def test_ranks_that_do_not_say_who_they_are_stay_apart() -> None:
    assert len(parse(_one_a_line(PARTS, ranks=2)).steps) == 12


def test_the_name_may_stand_before_the_step() -> None:
    lines = [
        f"2026-03-04 10:00:{step:02d} INFO     Training average {name} at step {step}: {step + 1:.4f}"
        for step in range(0, 50, 10)
        for name in ("positive_sample_loss", "negative_sample_loss", "loss")
    ]
    steps = parse(lines).steps
    assert list(steps["step"]) == [0, 10, 20, 30, 40]
    assert steps["step_time_s"].dropna().tolist() == [1.0] * 4


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=int(seconds)))


HEADED = {
    "time used": (
        [
            line
            for step in range(1, 9)
            for line in (
                f"Epoch [1/10], Step [{step}/500]:",
                f"Total Loss: {3 - 0.1 * step:.4f}, Mel Loss: 1.2, Duration Loss: 0.5",
                f"Time Used: {0.62 * step:.3f}s, Estimated Time Remaining: {0.62 * (500 - step):.3f}s.",
            )
        ],
        8,
        0.62,
    ),
    "what is left of the epoch": (
        [
            line
            for batch in range(60)
            for line in (
                f"---- [Epoch 0/100, Batch {batch}/60] ----",
                f"| loss | {3 - 0.01 * batch:.4f} |",
                f"---- ETA {_clock(5.2 * (60 - batch))}.083828",
            )
        ],
        60,
        5.2,
    ),
    "a head that tells the time of day": (
        [
            line
            for step in range(0, 200, 25)
            for line in (
                f"   --> TIME: 2026-03-04 1{_clock(0.51 * step)} -- STEP: {step}/405 -- GLOBAL_STEP: {step + 1000}",
                f"     | > loss: {2 - 0.001 * step:.4f}  (2.1)",
                "     | > step_time: 0.51  (0.52)",
            )
        ],
        8,
        0.51,
    ),
    "a pretty-printed dict": (
        [
            line
            for step in range(0, 80, 10)
            for line in (f"{{'step': {step},", f" 'loss': {3 - 0.01 * step:.4f},", " 'step_time': 0.31}")
        ],
        8,
        0.31,
    ),
}


LINES = {
    # The mean in parentheses is of the wait for data.
    "wait for data": (
        [
            f"train: [1][{batch}/400]|Tot: {_clock(0.5 * batch)} |ETA: {_clock(0.5 * (400 - batch))} "
            f"|loss {3 - 0.001 * batch:.4f} |Data 0.001s(0.010s) |Net 0.500s"
            for batch in range(0, 400, 10)
        ],
        40,
        0.5,
    ),
    "progress": (
        [f"Progress: {step} / 900 [{step // 9}%], Speed: 0.512 s/iter, ETA 0:00:15" for step in range(20, 400, 20)],
        19,
        0.512,
    ),
    "a bar without a rate": (
        [
            f"Epoch 0: :   {step}%|          | {step}/100 [{_clock(5 * step)}<{_clock(500 - 5 * step)}, v_num=0, "
            f"reduced_train_loss=2.{step:02d}, global_step={step}.0, train_step_timing in s=5.100]"
            for step in range(1, 40)
        ],
        39,
        5.1,
    ),
    "milliseconds of a batch": (
        [
            f"epoch:        1 | nupdates: {step:9d} | lr: 0.1 | runtime: {_clock(0.75 * step)} | bch(ms): 754.10 | smp(ms): 1.23 "
            f"| crit-fwd(ms): 12.10 | loss: {40 - 0.001 * step:.5f} | train-LER: 80.1"
            for step in range(1000, 9000, 1000)
        ],
        8,
        0.7541,
    ),
}


@pytest.mark.parametrize("case", HEADED | LINES)
def test_what_stands_below_a_head_or_beside_other_figures_is_of_its_step(case: str) -> None:
    lines, reports, time_s = (HEADED | LINES)[case]
    steps = parse(lines).steps
    assert len(steps) == reports
    assert steps["step_time_s"].median() == pytest.approx(time_s, rel=0.05)


def test_a_bar_that_draws_some_of_its_steps_and_what_each_epoch_sums_up_are_one_training() -> None:
    lines = []
    for epoch in range(1, 5):
        lines += [
            f" {step // 5}%|##   |{step}/500[{_clock(0.09 * step)}<{_clock(0.09 * (500 - step))},11.1it/s]"
            for step in range(5, 501, 5)
        ]
        lines.append(f"Epoch {epoch} (global_step {500 * epoch}) finished, time:45.1 seconds.")
    steps = parse(lines).steps
    assert len(steps) == 400
    assert set(steps["format"]) == {"tqdm"}


def test_one_bar_an_epoch_tells_the_mean_of_its_steps() -> None:
    lines = [
        f"Epoch {epoch} |   Training | Elapsed Time: 0:45:{15 + epoch} | Steps: 3533 | Loss: {6 - 0.1 * epoch:.4f}"
        for epoch in range(6)
    ]
    steps = parse(lines).steps
    assert len(steps) == 6
    assert steps["step_time_s"].median() == pytest.approx(2717.5 / 3533)


def test_minutes_in_tenths_are_a_coarse_clock() -> None:
    lines = [
        f"[it {it:04d}] step={1024 * it} | EpRew=0.{it % 10} | PiLoss={0.02 + 0.0001 * (it % 7):.4f} | time={3.8 * it / 60:.1f}m"
        for it in range(1, 400)
    ]
    steps = parse(lines).steps
    assert steps["step_time_s"].median() == pytest.approx(3.8, rel=0.05)  # an update is a step, not what the agent does


def test_a_bar_over_images_counts_its_batches() -> None:
    text = "\r".join(
        f"Epoch 1:  {images // 600:2d}%|#    | {images}/60000 [00:{images // 6000:02d}<00:10, {6400 + images % 7}.0img/s, "
        "loss=0.51]"
        for images in range(128, 60000, 128)
    )
    steps = parse([text]).steps
    assert steps["step"].max() == 468
    assert steps["total"].dropna().unique().tolist() == [469]
    assert steps["step_time_s"].median() == pytest.approx(0.02, rel=0.01)


@pytest.mark.parametrize("runs", [1, 4])
def test_runs_of_a_count_without_a_loss_are_evaluations_where_others_tell_one(runs: int) -> None:
    of_training = [f"iters: {at}, epoch: 1 | loss: 0.5{at} | speed: 0.4s/iter" for at in (100, 200, 300)]
    of_evaluation = [f"iters: {at}, speed: 0.1s/iter, left time: 44.6s" for at in (100, 200, 300)]
    found = parse([*of_training, *of_evaluation] * runs).steps
    assert list(found["step"]) == [100, 200, 300] * (2 if runs == 1 else 4)
    assert set(found["step_time_s"]) == ({0.4, 0.1} if runs == 1 else {0.4})


@pytest.mark.parametrize(("what", "totals"), [("Epoch 3/9", {500}), ("Resizing", set())])
def test_a_bar_over_images_trains_where_it_names_its_epoch(what: str, totals: set[int]) -> None:
    text = "\r".join(f"{what}:  1%|# | {images}/64000 [00:01<00:10, 1500.0img/s]" for images in range(128, 64000, 128))
    steps = parse([text]).steps
    assert set(steps["total"]) == totals
    assert len(steps) == (499 if totals else 0)


def test_batches_that_are_done_head_a_block() -> None:
    lines = [
        line
        for done in range(100, 1700, 100)
        for line in (
            "-----------train loss & acc-----------",
            f"{done}/1718 (batchs) completed!",
            f"train mean loss: {2.3 - 0.0003 * done:.6f}",
            f"train accuracy: {0.0001 * done:.6f}",
        )
    ]
    steps = parse(lines).steps
    assert list(steps["step"]) == list(range(100, 1700, 100))
    assert steps["loss"].notna().all()


def test_losses_of_every_so_many_steps_are_no_steps() -> None:
    lines = [
        line
        for batch in range(10, 400, 10)
        for line in (
            f"2026-03-04 10:{batch // 60:02d}:{batch % 60:02d} | __main__:train:35 - loss: {1 / batch:.4f}",
            f"2026-03-04 10:{batch // 60:02d}:{batch % 60:02d} | __main__:train:41 - corrcoef: 0.7 in batch: {batch}, save model",
        )
    ]
    assert parse(lines).steps.empty
    alone = [line for line in lines if "loss" in line]
    assert len(parse(alone).steps) == len(alone)


def test_what_an_evaluation_takes_is_not_spread_over_the_steps_behind_it() -> None:
    """Of a clock of whole seconds several readings make a step's time."""
    elapsed, lines = 0.0, []
    for iteration in range(1, 200):
        elapsed += 4.2 + (22.0 if iteration % 5 == 0 else 0.0)
        lines += [
            f"|   iterations   | {iteration} |",
            f"|   time_elapsed | {int(elapsed)} |",
            "|   loss         | 0.31 |",
        ]
    assert parse(lines).steps["step_time_s"].median() == pytest.approx(4.2, rel=0.08)


@pytest.mark.parametrize(
    ("line", "time_s"),
    [
        ("Step {step}   Loss: 2.{step}   EER: 0.41   Step time:  mean:   512ms  std:    12ms", 0.512),
        (
            "runtime.step={step}, runtime.steptime=0.51, runtime.prep_time=0.2, loss.cls_loss=1.{step}, misc.lr=0.0002",
            0.51,
        ),
        ("epoch: 0, batch: {step}, batch cost time: 2.31s, train loss: 1.{step}", 2.31),
        ("Epoch is [1/600], mini-batch is [{step}/410], time consumption is 0.412, batch_loss is 2.{step}", 0.412),
        ("[{step}/251] running loss of epoch 0 is 2.{step}", None),
        ("Epoch: 1 Batch: {step} over 347 Loss: 2.{step}", None),
    ],
)
def test_names_of_home_made_loops(line: str, time_s: float | None) -> None:
    steps = parse([line.format(step=step) for step in range(20, 60)]).steps
    assert list(steps["step"]) == list(range(20, 60))
    if time_s is None:
        assert steps["step_time_s"].isna().all()
    else:
        assert steps["step_time_s"].median() == pytest.approx(time_s)


def test_a_count_may_stand_before_its_name() -> None:
    lines = [
        line
        for step in range(100, 2000, 100)
        for line in (f"seconds for {step} training generator step: 0.09{step % 7}", f"loss: {1 / step:.6f}")
    ]
    assert parse(lines).steps.empty


def test_of_the_only_report_minutes_may_be_all_that_passed() -> None:
    steps = parse(
        ["statistics: {'steps': 500, 'elapsed_seconds': 1724.71, 'tokens': 255500, 'final_loss': 0.21}"]
    ).steps
    assert steps["step_time_s"].isna().all()
    assert parse(["step 500 | loss 0.21 | 1.25s"]).steps["step_time_s"].tolist() == [1.25]


def test_what_is_spent_since_the_last_report_is_of_all_its_steps() -> None:
    lines = [
        f"epoch: 1, iter: {step}, lr=0.1, spent {0.2 if not step else 20 + step % 3:.2f} s, tr_loss: 2.{step:03d}"
        for step in range(0, 900, 100)
    ]
    assert parse(lines).steps["step_time_s"].median() == pytest.approx(0.21, rel=0.05)


def _redraws(first: int, last: int) -> str:
    return "\r".join(
        f"{batch}/500 [{'=' * (batch // 20)}>{'.' * (25 - batch // 20)}] - ETA: {int(3.6 * (500 - batch))}s - "
        f"loss: {2 - batch / 1000:.4f}"
        for batch in range(first, last, 4)
    )


def test_an_epoch_under_way_goes_on_behind_those_that_are_whole() -> None:
    """A live job is seen to train between the ends of its epochs, which tell the times."""
    whole = [
        line
        for epoch in (1, 2)
        for line in (f"Epoch {epoch}/50", _redraws(1, 480), f"500/500 [{'=' * 25}] - 1812s 4s/step - loss: 1.51")
    ]
    steps = parse([*whole, "Epoch 3/50", _redraws(1, 320)]).steps
    assert list(steps["step"][:3]) == [500, 1000, 1001]
    assert int(steps["step"].max()) == 1317
    assert steps["step_time_s"].dropna().tolist() == pytest.approx([3.624, 3.624])
    assert list(parse(whole).steps["step"]) == [500, 1000]


def test_an_epoch_of_samples_tells_the_time_of_its_batches_by_its_seconds() -> None:
    """Keras 1 counts the samples of arrays: the redraws tell how many a batch has, and none tells a time."""
    redraws = "\r".join(
        f"{count:5}/51200 [====>.....] - ETA: {72 * count}s - loss: 0.81" for count in range(128, 51200, 128)
    )
    lines = ["Epoch 1/50", redraws, f"51200/51200 [{'=' * 30}] - 36777s - loss: 0.8428 - acc: 0.29"]
    steps = parse(lines).steps
    assert list(steps["step"]) == [400]
    assert steps["step_time_s"].tolist() == pytest.approx([36777 / 400])
