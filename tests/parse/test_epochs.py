"""Lines that tell of epochs and of no step: none of them is a report of a step, and the log is said to tell epochs only."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.parse.assemble import assemble
from monitor.parse.events import epochs
from monitor.parse.recognise import RawRows
from monitor.parse.steps.epoch_times import laps
from tests.parse.read import pages, parse

TIMES = 14


def _of(*templates: str) -> list[str]:
    return [
        template.format(
            e=epoch, e4=f"{epoch:04}", e100=100 * epoch, loss=f"{2 / epoch + 0.11:.4f}", val=f"{3 / epoch:.4f}"
        )
        for epoch in range(1, TIMES + 1)
        for template in templates
    ]


def _bar(count: str, post: str, before: str = "") -> str:
    return f"{before} 50%|█████     | {count}/20 [{{e}}:00<20:00, 60.10s/it{post}]"


TOLD = {
    "name and number": _of("Epoch {e}/14, loss: {loss}, val_loss: {val}"),
    "in brackets": _of("Epoch [{e}/14] Loss: {loss} Acc: 0.{e4}"),
    "with its seconds": _of("epoch {e} loss {loss} acc 0.9{e} took 12.{e}s"),
    "every hundredth": _of("Epoch {e100}, Loss: {loss}"),
    "of a whole graph": _of("Epoch: {e4} loss_train: {loss} acc_train: 0.9{e} loss_val: {val} time: 0.0031s"),
    "stamped": _of("Epoch {e} - avg_train_loss: {loss} - time: 33s"),
    "the Keras of old": _of("Epoch {e}/14", " - 12s - loss: {loss} - acc: 0.81 - val_loss: {val}"),
    "Keras 1": _of("Epoch {e}/14", "12s - loss: {loss} - acc: 0.81 - val_loss: {val}"),
    "behind a bar that stands": _of(
        "\rValidation: |          | 0/? [00:00<?, ?it/s]\x1b[A[\x1b[37m2026-03-04 08:{e:02}:30,120\x1b[0m] "
        "INFO Epoch {e}: v_recons {val}  loss {loss}  kl 2.1"
    ),
    "behind a logger's head": _of("2026-03-04 08:{e:02}:30,120 - a.train - INFO - Epoch {e}   [Avg. Loss]: [{loss}]"),
    "heads behind a logger's": _of(
        "2026-03-04 08:{e:02}:30,120 INFO Epoch {e}", "2026-03-04 08:{e:02}:50,0 INFO   Training loss: {loss}"
    ),
    "starts behind bars": _of(
        "| 2026-03-04 08:{e:02}:30 | INFO | Start epoch {e}:", "| 2026-03-04 08:{e:02}:31 | INFO | Train Loss: {loss}"
    ),
    "several lines behind a logger's": _of(
        "2026-03-04 08:{e:02}:30,120 - INFO - epoch: {e} end, loss: {loss}",
        "2026-03-04 08:{e:02}:45,776 - INFO - epoch: {e} validation, acc: 0.6{e}, loss: {val}",
    ),
    "heads that say training": _of("Train Epoch: {e}/14 ...", "    total_loss: 24.7{e} time: 15m 1s"),
    "other figures": _of("[epoch {e}] FG-ARI=0.4{e} mBO=0.22{e}"),
    "the logger of Python": _of(
        "INFO:root:Epoch {e} finished. Avg Loss: {loss}, Avg BLEU: 0.01", "INFO:root:Model saved at epoch {e}"
    ),
    "heads that say number": _of("Epoch number: {e}", "Training loss average: {loss}", "Dev loss average: {val}"),
    "folds": _of("  [Fold 1 Ep 0{e:0>2}] tr_loss={loss} | val_auc=0.5{e} thr=0.52 | 2.1s"),
    "of restored images": _of(
        "Date: 2026-03-04 08:{e:02}:30s, Time_Cost: 99s, Epoch: [{e}/14],Val_PSNR: 4{e}.86, Val_SSIM: 0.94"
    ),
    "boxes": _of(
        "+-----------+", "| epoch:      {e:>4} |", "| train loss: {loss} |", "| time spent (epoch): 0:01:18.{e:02} |"
    ),
    "Lightning's checkpoints": _of(
        "Epoch {e}, global step {e}352: 'val/accuracy' reached 0.17{e} (best 0.17{e}), saving model to '/m/{e}.ckpt' as top 1"
    ),
    "folds behind a logger of training": _of(
        "2026-03-04 08:{e:02}:30,123 train_log INFO: fold[1/5] epoch[{e}/100] loss: {loss} train accuracy: 0.0{e}"
    ),
    "heads of ranks in a frame": [
        line
        for line in _of(
            "2026-03-04 08:{e:02}:30,123 - INFO - === START EPOCH {e} ===",
            "2026-03-04 08:{e:02}:50,123 - INFO - END TRAIN LOOP EPOCH {e}, Loss: {loss}",
            "2026-03-04 08:{e:02}:55,123 - INFO - END VALIDATION EPOCH {e}, Validation Loss: {val}",
        )
        for _ in range(4)
    ],
    "a checkpoint of Lightning behind a bar without batches": _of(
        "Epoch {e}: : 0it [00:{e}, ?it/s, loss=1.5, v_num=0, gain=.3{e}]Epoch {e}, global step {e}2: 'gain' was not in top 1"
    ),
    "JSON": _of('{{"epoch": {e}, "train_loss": {loss}, "lr": 0.001, "time": 33.1}}'),
    "DETR's": _of(
        '{{"train_lr": 9.9e-05, "train_class_error": 98.9, "train_loss": {loss}, '
        + "".join(f'"train_loss_bbox_{part}_unscaled": 3.0{part}54160656407475, ' for part in range(60))
        + '"test_loss": {val}, "test_coco_eval_bbox": [0.1, 0.2], "epoch": {e}, "n_parameters": 41302368}}'
    ),
    "TabNet's": [
        f"epoch {at:<2} | loss: {0.9 / (at + 1):.5f} | val_0_auc: 0.9{at:02} |  0:{35 * at // 60:02}:{35 * at % 60:02}s"
        for at in range(TIMES)
    ],
    "Ray Train's": _of(
        "(RayTrainWorker pid=4410) Reporting training result {e}: TrainingReport(checkpoint=None, "
        "metrics={{'loss': {loss}, 'epoch': {e}}}, validation=False) from rank 1",
        "(RayTrainWorker pid=4410) {{'loss': {loss}, 'epoch': {e}}}",
    ),
    "a bar that is renamed each epoch": [
        "Training:   0%|          | 0/14 [00:00<?, ?it/s]",
        *(
            f"Epoch {epoch}/14:   {7 * done}%|##   | {done}/14 [00:{2 * done:02}<00:22,  2.00s/it, v_num=1, train_loss=3{done}]"
            for epoch in range(1, 15)
            for done in (epoch - 1, epoch, epoch)
        ),
    ],
    "commas": ["epoch,train_loss,val_loss,lr", *_of("{e},{loss},{val},0.001")],
    "a frame": ["| Epoch | Train Loss | Time |", *_of("| {e} | {loss} | 12.{e} |")],
    "columns": ["epoch     train_loss  valid_loss  time", *_of("{e}         {loss}    {val}    00:1{e}")],
    "columns with a clock": ["epoch     train_loss  valid_loss  time", *_of("{e}         {loss}    {val}    00:15")],
    "columns with a unit apart": ["Epoch    Train Loss   Time", *_of("{e:<8} {loss}       0.55    s")],
    "end of epoch": _of("End of epoch {e} / 100 \t Time Taken: 12.{e}5 sec", "Generator Loss: {loss}, D: {val}"),
    "Swin's": _of(
        "[2026-03-04 08:{e:02}:30 resnet18](main.py 194): INFO Train: [{e}/50]\tlr 0.0003\ttime 0.33 (0.37)\tloss {loss}",
        "[2026-03-04 08:{e:02}:30 resnet18](main.py 203): INFO EPOCH {e} training takes 0:00:18",
    ),
    "short": _of("ep {e} | loss {loss} | lr 1e-3 | 10.2s"),
    "a stranger's": _of("EPOCH {e} ~ mean crit {loss} ~ lrate 1e-3"),
    "a bar with its validation": _of(_bar("{e}", ", train_loss={loss}, val_loss={val}")),
    "a bar that says training": _of(_bar("{e}", ", loss={loss}, val loss={val}", "Training model: ")),
    "a bar and its validation": _of(_bar("{e}", ""), "[{e}/20] train_loss {loss}, test_acc {val}"),
    "a bar and its lines": _of(_bar("{e}", ""), "Epoch {e}: train_loss={loss} val_loss={val}"),
    "a bar and its lines far from it": [
        *_of(_bar("{e}", "").replace("/20", "/14")),
        *_of("Epoch {e}: loss: {loss}, loss_RV: {val}"),
    ],
}


@pytest.mark.parametrize("how", TOLD)
def test_an_epoch_is_no_step(how: str) -> None:
    assert parse(TOLD[how]).steps.empty


@pytest.mark.parametrize(
    "how",
    [
        *("name and number", "with its seconds", "every hundredth", "a bar and its lines", "a stranger's"),
        *("behind a logger's head", "heads behind a logger's", "heads that say number"),
        "starts behind bars",
        *(
            "heads that say training",
            "other figures",
            "the logger of Python",
            "folds",
            "of restored images",
            "boxes",
            "Lightning's checkpoints",
            "a checkpoint of Lightning behind a bar without batches",
            "folds behind a logger of training",
            "heads of ranks in a frame",
            "DETR's",
            "Ray Train's",
            "TabNet's",
            "a bar that is renamed each epoch",
        ),
    ],
)
def test_that_a_log_reports_epochs_only_is_told_once(how: str) -> None:
    events = parse(TOLD[how]).events
    assert list(events[events["kind"] == "epochs-only"]["text"]) == [str(TIMES)]


@pytest.mark.parametrize("name", ["epoch ", ""], ids=["with a name", "without"])
@pytest.mark.parametrize("told", [" took {took}s", ", time {clock}s", ""], ids=["what it took", "a clock", "nothing"])
def test_of_every_tenth_epoch_what_one_takes_is_told(name: str, told: str) -> None:
    lines = [
        f"2026-03-04 {8 + epoch // 300:02}:{epoch // 5 % 60:02}:{epoch * 12 % 60:02},500 [INFO] {name}{epoch}, "
        f"train_loss={2 / (epoch + 9):.4f}, test_loss=0.0{epoch}{told.format(took=12, clock=12 * epoch + 3)}"
        for epoch in range(0, 510, 10)
    ]
    parsed = parse(lines)
    assert parsed.steps.empty
    events = parsed.events.set_index("kind")["text"]
    assert events["epochs-only"] == "51"
    took = events.reindex([epochs.EPOCH_TOOK, epochs.EPOCH_PACE]).dropna()
    assert took.tolist() == ["12"]


@pytest.mark.parametrize("each", [1, 10])
def test_many_epochs_are_counted_though_few_of_their_lines_are_kept(each: int) -> None:
    lines = [f"Epoch {epoch} loss {2 / epoch:.6f}" for epoch in range(each, 10_001 * each, each)]
    events = parse(lines, [3_000, 7_000]).events
    assert list(events[events["kind"] == "epochs-only"]["text"]) == ["10000"]


@pytest.mark.parametrize(
    ("epochs", "count"),
    [
        ([*range(1, 6), *range(1, 8), *range(1, 4)], 15),  # folds
        ([*range(0, 50, 10), *range(0, 50, 10)], 10),
        ([*range(1, 9), *range(5, 12)], 11),  # resumed
        ([1, 1, 2, 2, 3, 3], 3),  # its training, its validation
        ([1, 0, 2, 1, 3, 2], 4),  # counted in two ways
    ],
)
def test_epochs_of_all_trainings_of_a_log_are_counted(epochs: list[int], count: int) -> None:
    events = parse([f"Epoch {epoch} loss {2 / (epoch + place):.4f}" for place, epoch in enumerate(epochs, 1)]).events
    assert list(events[events["kind"] == "epochs-only"]["text"]) == [str(count)]


def test_what_an_epoch_takes_is_not_told_where_several_trainings_run_at_once() -> None:
    begun = datetime(2025, 4, 16, tzinfo=UTC)
    lines = sorted(
        f"{begun + timedelta(seconds=600 * epoch * (1 + run / 7) + run):%Y-%m-%d %H:%M:%S,000} - INFO - Run: fold_{run} "
        f"| Epoch: {epoch} | Train Loss: {1 / (epoch + run):.4f} | Val Loss: 0.5000"
        for run in range(1, 8)
        for epoch in range(1, 31)
    )
    events = parse(lines).events
    assert "epochs-only" in set(events["kind"])
    assert epochs.EPOCH_PACE not in set(events["kind"])
    assert epochs.EPOCH_PACE in set(parse([line for line in lines if "fold_3" in line]).events["kind"])


@pytest.mark.parametrize(
    "how",
    [
        "behind a bar that stands",
        "behind a logger's head",
        "heads behind a logger's",
        "starts behind bars",
        "several lines behind a logger's",
    ],
)
def test_what_an_epoch_takes_is_told_by_the_times_of_its_lines(how: str) -> None:
    events = parse(TOLD[how]).events
    assert list(events[events["kind"] == epochs.EPOCH_PACE]["text"]) == ["60"]
    assert epochs.EPOCH_PACE not in set(parse(TOLD["every hundredth"]).events["kind"])


@pytest.mark.parametrize(
    ("how", "took_s"),
    [
        ("with its seconds", "12.25"),
        ("stamped", "33"),
        ("the Keras of old", "12"),
        ("Keras 1", "12"),
        ("end of epoch", "12.3"),
        ("Swin's", "18"),
        ("a frame", "12.25"),
        ("TabNet's", "35"),
        ("columns with a clock", "15"),
        ("columns with a unit apart", "0.55"),
        ("a bar with its validation", "60.1"),
        ("a bar and its lines", "60.1"),
        ("a bar and its lines far from it", "60.1"),
        ("folds", "2.1"),
        ("of restored images", "99"),
        ("boxes", "78.075"),
    ],
)
def test_what_an_epoch_takes_is_told_as_printed(how: str, took_s: str) -> None:
    events = parse(TOLD[how]).events
    assert list(events[events["kind"] == "epochs-only"]["text"]) == [str(TIMES)]
    assert list(events[events["kind"] == epochs.EPOCH_TOOK]["text"]) == [took_s]
    assert epochs.EPOCH_PACE not in set(events["kind"])


def test_the_last_redraw_of_each_epoch_tells_what_it_took() -> None:
    redraws = [
        f"Epochs:  {5 * epoch}%|##   | {epoch}/20 [{epoch:02}:{second:02}<09:00, {60 + second / 100:.2f}s/it, loss=2.{second}]"
        for epoch in range(TIMES + 1)
        for second in range(0, 60, 3)
    ]
    events = parse(["\r".join(redraws)]).events
    assert list(events[events["kind"] == "epochs-only"]["text"]) == [str(TIMES)]
    assert list(events[events["kind"] == epochs.EPOCH_TOOK]["text"]) == ["60.57"]


def test_nothing_is_said_of_epochs_where_steps_are_reported() -> None:
    lines = [*TOLD["name and number"], *(f"step {step} loss 2.{step}" for step in range(10))]
    parsed = parse(lines)
    assert len(parsed.steps) == 10
    assert "epochs-only" not in set(parsed.events["kind"])


@pytest.mark.parametrize(
    "counter", ["round {e}", "[{e}]\ttrain-rmse:0.{e4}\teval-rmse:0.{e4} round", "boosting round {e} of 99"]
)
def test_rounds_are_steps(counter: str) -> None:
    assert len(parse(_of(counter + " train loss {loss}")).steps) == TIMES


def test_a_bar_that_shows_the_newest_validation_beside_its_steps_counts_steps() -> None:
    lines = [_bar("{e}", f", loss=2.{step}, val_loss=0.4{step // 10}").format(e=step) for step in range(1, 20)]
    assert len(parse(lines).steps) == 19


@pytest.mark.parametrize(
    "lines",
    [
        _of("Epoch {e}/14", "250/250 - 9s - 36ms/step - loss: {loss} - val_loss: {val}"),
        _of("Epoch {e}/14", "250/250 ━━━━━━━━━━━━━━━━━━━━ 9s 36ms/step - accuracy: 0.9 - loss: {loss}"),
        _of("250/250 [==============================] - 9s 36ms/step - loss: {loss}"),
        _of("epoch: {e} step: 250, loss is {loss}", "Epoch time: 9000.0, per step time: 36.0"),
    ],
)
def test_of_reports_at_the_end_of_each_epoch_the_steps_so_far_are_told(lines: list[str]) -> None:
    steps = parse(lines).steps
    assert list(steps["step"]) == [250 * epoch for epoch in range(1, TIMES + 1)]
    assert steps["step_time_s"].to_numpy() == pytest.approx([0.036] * TIMES)


@pytest.mark.parametrize("bar", ["- ", "[==============================] - "])
@pytest.mark.parametrize(
    ("count", "seconds", "each"),
    [(250, 9, 0.036), (250, 4, float("nan")), (20_000, 145, float("nan")), (4_000, 6, float("nan"))],
)
def test_the_seconds_of_an_epoch_tell_its_steps_where_they_are_enough(
    bar: str, count: int, seconds: int, each: float
) -> None:
    steps = parse(_of("Epoch {e}/14", f"{count}/{count} {bar}{seconds}s - loss: {{loss}} - val_loss: {{val}}")).steps
    assert steps["step_time_s"].to_numpy() == pytest.approx([each] * TIMES, nan_ok=True)


def test_the_clock_of_lines_that_count_samples_tells_no_time() -> None:
    lines = _of("Epoch {e}/14", "250/250 - 9s - loss: {loss} - val_loss: {val}")
    lines.insert(0, "Train on 250 samples, validate on 50 samples")
    page = pages(lines)[0]
    raw = RawRows()
    raw.add(replace(page, times_ms=tuple(1_700_000_000_000 + 9_000 * turn for turn in range(page.count))))
    steps = assemble(raw.steps, raw.events, strangers=raw.strangers).steps
    assert list(steps["step"]) == list(range(1, TIMES + 1))
    assert steps["step_time_s"].isna().all()


@pytest.mark.parametrize("text", ["train_loss val ", "%| val ", "val_", "%|", "train loss ", "Epoch 1 loss "])
def test_long_lines_take_no_time(text: str) -> None:
    start = time.process_time()
    for line in (text * 3000, text * 3000 + "val loss"):
        list(epochs.read(line))
    assert time.process_time() - start < 1


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Time taken for 1 epoch: 4686.16 secs", "4686.16"),
        ("Epoch 4 Loss 0.3539. Train accuracy 0.8635 f1 0.7575. Time taken for 1 epoch 4861.8570", "4861.86"),
        ("Epoch 25 average loss: 0.4150  (76.7s)", "76.7"),
        ("[Frozen] Epoch 1/500 -- train: 0.5309  val: 0.6230  ppl: 1.86  (70s)", "70"),
        ("Epoch 1/100 [38.7s] | LR: 3.8e-06 | Train Loss: 2.7200 | Val Loss: 1.2311", "38.7"),
        ("Epoch 07 | Train Loss: 0.0141 | Val Loss: 0.0529 | Val PER: 0.0158 | Time: 40.1s", "40.1"),
        ("Epoch 07 | Train Loss: 0.0141 | Val Loss: 0.0529 | Val time: 40.1s", None),
        ("epoch=0/250,total_loss=1.870129, 1 epoch time=61.985902, left time=4.304577", "61.9859"),
        ("Epoch1 Time:178.1s Data:47.8s Loss:5.5364 Xent:5.2602", "178.1"),
        ("Epoch 1/100 [12:38:07] | LR: 3.8e-06 | Train Loss: 2.7200", None),
        ("Epoch 1/100 [38/40] | LR: 3.8e-06 | Train Loss: 2.7200", None),
        ("| end of epoch   1 | time: 55.9s | valid loss  5.2", "55.9"),
        ("Epoch 3 took 1m 23s", "83"),
        ("04-06 22:00:33, Epoch 0 Train, reg:0.3237, Cost: 715.7 sec", "715.7"),
        ("04-06 22:00:33, Epoch 0 Train, reg:0.3237, Cost: 0.71", None),
        ("INFO:ignite.engine.engine.SupervisedTrainer:Epoch[4] Complete. Time taken: 00:01:23.024", "83.024"),
        ("epoch= 0 \t time= 1.5 min \t loss= 4.44", "90"),
        ("INFO EPOCH 12 training takes 0:05:18", "318"),
        ("2026-03-04 08:38:46,156 - INFO - Epoch: 10, Avg_loss: 0.036, Duration: 0.45s", "0.45"),
        ("Epoch 10 trained with loss: 2.45e-05. The running time is 3506.1428.", "3506.14"),
        ("Epoch 10 evaluated with loss: 5.98e-05, dice score: -9.2. The running time is 653.7010.", None),
        ("Epoch: 4, \tROC-AUC score: 0.9656, \ttime elapsed: 482.1239", "482.124"),
        ("Time Elapsed for This Epoch: 00:03:04", "184"),
        ("Epoch 3 finished in 2.5 minutes", "150"),
        ("Epoch time: 0:04:41", "281"),
        ("End of epoch 1 / 200 \t Time Taken: 61 sec", "61"),
        ("Epoch 1/50 | Loss: 0.9787 | Time: 13635.27s", "13635.3"),
        ("Epoch: 007 loss 0.52 acc 81.2 time=12.25", "12.25"),
        ("Training time takes approximately:  1.5 minutes at current epoch", "90"),
        ("Epoch 5 - train accuracy: 65.94% - test accuracy: 66.20% (6620/10000) - time: 00:00:03.12", "3.12"),
        ("[INFO] Epoch finished, avg_loss=0.1591, avg_top=0.6970, time=65.8s", "65.8"),
        ("Epoch 7 | loss 0.52 | 31.4 s", "31.4"),
        ("Epoch 7 | batch 3 | loss 0.52 | 31.4 s", None),
        ("Epoch 7 | loss 0.52 | ETA 31.4 s", None),
        ("Epoch 7 step 100 loss 0.52 time: 12.25 s", None),
        ("Epoch 7 [100/500] loss 0.52 time: 12.25 s", None),
        ("Epoch 7 loss 0.52 val acc 0.5 time: 12.25 s", "12.25"),
        ("Epoch 7 val acc 0.5 time: 12.25 s", None),
        ("Epoch 7 loss 0.52 val time: 12.25 s", None),
        ("Epoch 7 ETA time: 12.25 s", None),
        ("validation time for epoch 3: 2.0s", None),
        ("ETA time per epoch: 3 s", None),
        ("Average epoch time: 35 s", None),
        ("Epoch 3 val loss 0.4 (2.0s)", None),
        ("Epoch 5 (12.3%)", None),
        ("time per epoch 3 samples", None),
    ],
)
def test_a_line_may_tell_how_long_its_epoch_took(text: str, seconds: str | None) -> None:
    assert [said for kind, said in epochs.read(text) if kind == epochs.EPOCH_TIME] == ([seconds] if seconds else [])


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Time elapsed: 0.05 min", "3 0.6"),
        ("Time Elapsed: 83 s", "83 1"),
        ("Time elapsed: 3 minutes", "180 60"),
        ("Time elapsed: 1m 23s", "83 1"),
        ("Elapsed time: 0:01:23.25", "83.25 0.01"),
        ("Elapsed time: 0:01:23", "83 1"),
        ("  total time elapsed = 12.25 seconds", "12.25 0.01"),
        ("Finished. Total elapsed time (h:m:s): 0:01:51", "111 1"),
        ("Done! Elapsed time (s): 83.5 s", "83.5 0.1"),
        ("Finished validation. Elapsed time: 3 s", None),
        ("Training took: 3.25 minutes!", "195 0.6"),
        ("Total gradient descent training time: 5 hours 41 mins 57 secs", "20517 1"),
        ("Total training time: 438.83 seconds (0.12 hours)", "438.83 0.01"),
        ("Total training took 0:12:12 (h:mm:ss)", "732 1"),
        ("Training complete in 3m 23s", "203 1"),
        ("Finished training in 1 hour, 2 minutes and 3 seconds", "3723 1"),
        ("Took 1880.062s to train", "1880.06 0.001"),
        ("Training took 31.882s    training loss: 3.117086", None),
        ("Validation on train took 3 s", None),
        ("Estimated training time: 3 hours", None),
        ("Mean training time: 3.0 s", None),
        ("Training time left: 3 s", None),
        ("Training took 12 epochs", None),
        ("Time elapsed: 0.05 min, validation", None),
        ("Time elapsed for evaluation: 3 s", None),
    ],
)
def test_a_clock_may_stand_alone_between_epochs(text: str, seconds: str | None) -> None:
    assert [said for kind, said in epochs.read(text) if kind == epochs.ELAPSED] == ([seconds] if seconds else [])


@pytest.mark.parametrize(
    ("line", "each_s"),
    [
        ("Median time per epoch: 0.1011s", "0.1011"),
        ("⏱️  Average epoch time: 1m 12s", "72"),
        ("Avg. time/epoch: 3.25 s", "3.25"),
        ("Average validation time per epoch: 3.2 seconds", None),
    ],
)
def test_a_mean_of_all_epochs_tells_what_one_takes(line: str, each_s: str | None) -> None:
    lines = [*(f"Epoch: {epoch:03}, Loss: 1.94, Train: 0.16, Val: 0.13" for epoch in range(1, 31)), line]
    events = {row.kind: row.text for row in parse(lines).events.itertuples()}
    assert events[epochs.EPOCHS_ONLY] == "30"
    assert events.get(epochs.EPOCH_TOOK) == each_s


@pytest.mark.parametrize(
    ("told", "each_s"),
    [
        pytest.param([f"{0.35 * epoch:.2f} min" for epoch in range(1, 9)], 1.05, id="a clock of the run"),
        pytest.param([f"{0.011 * epoch:.2f} min" for epoch in range(1, 60)], 0.033, id="a coarse one"),
        pytest.param(["21 s", "20 s", "22 s", "21 s"], 1.05, id="what each took"),
    ],
)
def test_steps_share_what_passed_between_two_looks_at_a_clock(told: list[str], each_s: float) -> None:
    lines = [
        line
        for epoch, shown in enumerate(told, start=1)
        for line in (*(f"epoch {epoch} step {step} loss=0.5{step}" for step in range(1, 21)), f"Time elapsed: {shown}")
    ]
    found = parse(lines).steps
    assert set(found["kind"]) == {"running-mean"}
    assert found["step_time_s"].median() == pytest.approx(each_s, rel=0.05)


@given(st.lists(st.floats(0.01, 500), min_size=2, max_size=40), st.sampled_from([0.01, 0.6, 1.0]))
def test_a_clock_that_begins_again_gives_what_passed_in_each_run(passed_s: list[float], tick_s: float) -> None:
    near_s = 10 + np.array(passed_s) / 100
    clock = np.round(np.cumsum(near_s) / tick_s) * tick_s
    many = len(clock)
    if many > 3:
        assert laps(np.tile(clock, 3), tick_s).tolist() == np.tile(laps(clock, tick_s), 3).tolist()
    # Times of epochs rise and fall, and none is a clock's.
    assert laps(near_s, tick_s).tolist() == near_s.tolist()


@given(st.lists(st.floats(0.01, 500), min_size=2, max_size=40), st.sampled_from([0.01, 0.6, 1.0]))
def test_a_clock_of_the_run_gives_what_passed_whatever_its_last_digit_is(passed_s: list[float], tick_s: float) -> None:
    shown = np.round(np.cumsum(passed_s) / tick_s) * tick_s
    found = laps(shown, tick_s)
    assert len(found) == len(shown)
    if (np.diff(shown) >= 0).all() and shown[-1] >= shown[0] * (1 + len(shown)) / 2:
        assert found.min() >= 0
        assert found.max() <= np.diff(shown, prepend=0.0).max() + 1e-9
    else:
        assert found.tolist() == shown.tolist()


@pytest.mark.parametrize(("took", "each_s"), [("{clock:.2f}", 0.5), ("{step_time:.2f}", 0.5), ("{any:.2f}", None)])
def test_of_one_report_of_each_epoch_a_time_that_grows_as_its_count_is_a_clock(took: str, each_s: float | None) -> None:
    """Reports come after so many steps, and an epoch has fewer: 48, 96, then 8 of the next but one."""
    lines = [
        f"epoch {at // 136} | iter {at % 136}/136 | loss 0.{at % 97:02} | took "
        + took.format(clock=0.5 * (at % 136), step_time=0.5, any=0.1 * (at * 7919 % 400 + 1))
        + " s"
        for at in range(1000, 9000, 1000)
    ]
    times = parse(lines).steps["step_time_s"].dropna()
    assert times.empty if each_s is None else times.tolist() == pytest.approx([each_s] * 8)


def test_two_epochs_that_end_alike_are_two() -> None:
    lines = [
        line
        for epoch, loss in enumerate((2.41, 2.36, 2.32, 2.31, 2.31), start=1)
        for line in (f"Epoch {epoch}/5", f"180/180 - 1s - 4ms/step - accuracy: 0.10 - loss: {loss}")
    ]
    assert list(parse(lines).steps["step"]) == [180, 360, 540, 720, 900]


@pytest.mark.parametrize(
    "head",
    [
        *("epoch {}", "==> Epoch: {}", ">>> Epoch {}", "*** Epoch {} ***", "Start epoch {}", "• Epoch {}"),
        *("🚀 Epoch {}/20", "--- Epoch {}", "(Epoch {})", "[Epoch {}/20] loss: 0.5", "# Epoch {}", "Train Epoch: {}"),
    ],
)
def test_what_a_bar_over_epochs_is_left_for_names_them(head: str) -> None:
    lines = [
        f"{5 * epoch:3}%|{'█ ' * 70}| {epoch}/20 [{epoch // 6:02}:{10 * epoch % 60:02}<03:20, 10.00s/it]{head.format(epoch + 1)}"
        for epoch in range(20)
    ]
    parsed = parse(lines)
    assert parsed.steps.empty
    told = parsed.events.set_index("kind")["text"]
    assert told[epochs.EPOCHS_ONLY] == "20"
    assert float(told[epochs.EPOCH_TOOK]) == pytest.approx(10.0)
