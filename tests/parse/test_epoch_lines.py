"""Lines of an epoch, however they are set, and the times that stand below the head of one."""

from __future__ import annotations

from itertools import product

import pytest

from monitor.parse.events import epoch_lines
from monitor.parse.events.epochs import EPOCH_PACE, EPOCH_SHARE, EPOCH_TOOK, EPOCHS_ONLY
from tests.parse.read import parse


@pytest.mark.parametrize(
    ("text", "epoch", "took_s"),
    [
        ("[2026-03-04 08:01:50] Epoch #2, (23.6s)", "2", 23.6),
        ("2026-03-04 08:04:12.242 | INFO     | __main__:train:42 - Epoch [1/8]", "1", None),
        ("Results for epoch 3\tloss: 2.53 acc: 14.65\tGPU mem: 10.2GB\t(1.9s)", "3", 1.9),
        ("Training epoch 2 - avg loss: 2.7474 - Test Accuracy: 29.85% - Time: 24.0 s", "2", 24),
        ("Ep 2/20, train_loss=2.7638, val mIoU: 17.644, temp 1.99, time/epoch: 24.0s", "2", 24),
        ("Epoch: 2  loss: 2.7420 acc: 17.8628  1409.00 sec/epoch", "2", 1409),
        ("Epoch 2 done\ttrain loss 2.7276\tpatience 2/10\tTime: 1m 7s", "2", 67),
        ("Epoch 4 | accuracy: 9012/10000 | loss 0.31 | duration 0:01:07", "4", 67),
        ("=> Epoch 3 finished", "3", None),
        ("EPOCH 3 COMPLETED @ 10:07 PM", "3", None),
        ("Train accuracy for epoch 6: 0.883", "6", None),
        ("Average loss at epoch 6: 0.12 (3.5s)", "6", 3.5),
        ("Validation accuracy for epoch 6: 0.883", None, None),
        # What is told need be no loss where it is said of how many epochs.
        ("Epoch 11/100 | depth: 2 | buffer: 204", "11", None),
        ("Epoch 11/100: saving to out/", None, None),
        ("Epoch 11/100 valid: 3", None, None),
        ("Epoch 11 | depth: 2 | buffer: 204", None, None),
        # The time is the validation's, or whose it is is not known; whole numbers may be minutes.
        ("Epoch 3 validation loss 0.52 (3.2s)", "3", None),
        ("Epoch 3, loss 0.52, time: 33", "3", None),
        ("Epoch 3 loss 0.52, ETA: 0:12:01", "3", None),
        # A record tells what a line does.
        ('{"epoch": 2, "train_loss": 0.52, "val_loss": 0.61, "time": 24.07}', "2", 24.07),
        ("{'time': 24.07, 'acc': 81.2, 'epoch': 2}", "2", 24.07),
        ("2026-03-04 08:04:12 INFO {'epoch': 2, 'loss': 0.52, 'duration_s': 24.07}", "2", 24.07),
        ('{"epoch": 2, "split": "train", "loss": 0.52, "time": 24.07}', "2", 24.07),
        ('{"epoch": 2, "split": "val", "loss": 0.52, "time": 4.07}', None, None),
        ("{'epoch': 2, 'val_loss': 0.52, 'val_acc': 81.2, 'time': 4.07}", None, None),
        ("{'train_runtime': 240.7, 'train_loss': 0.52, 'epoch': 2}", None, None),
        ("{'loss': 0.52, 'grad_norm': 1.5, 'epoch': 2.0}", None, None),
        ('{"step": 100, "epoch": 2, "loss": 0.52, "time": 0.31}', None, None),
        ('{"epoch": 2, "time": 1741082400.25, "loss": 0.52}', "2", None),
        # The time of a step is none of an epoch's.
        ("Epoch 3, loss 0.52, step_time: 0.12s", "3", None),
        # It counts within the epoch, or tells of another moment.
        ("Epoch 3 [7/120] loss 0.52, time: 0.31s", None, None),
        ("Epoch 3 | batch 7 | loss 0.52 | time: 0.31s", None, None),
        ("Best model at epoch 3: acc 0.91", None, None),
        ("Loaded checkpoint of epoch 3, loss 0.52", None, None),
        ("best epoch 3, acc 0.91", None, None),
        ("Saving to out/epoch_3.pt", None, None),
        ("Early stopping after epoch 3: loss 0.52", None, None),
    ],
)
def test_a_line_of_an_epoch(text: str, epoch: str | None, took_s: float | None) -> None:
    said = epoch_lines.read(text)
    assert (said.epoch if said is not None else None) == epoch
    assert (float(said.took_s) if said is not None and said.took_s is not None else None) == took_s


@pytest.mark.parametrize(
    ("text", "passed_s"),
    [
        ("Train Loss: 3.01 | Train Acc: 11.33%  AUC: 11.3328  189.00 sec/epoch", 189),
        ("  Train NLL 3.0331; Val Loss: 3.3364; time 63.91", 63.91),
        ("lr=0.001000 LR 0.001 time_sec 191.10", 191.1),
        ("INFO:root:time/epoch: 62.4s", 62.4),
        ("03/04 08:01:09 INFO: duration: 64.35s", 64.35),
        ("Val loss: 0.52, time: 3.2s", None),
        ("step 7 loss 0.52 time 3.2s", None),
        ("7/120 loss 0.52 time 3.2s", None),
        ("Loading the loss weights took 3.2s", None),
        ("GET /loss 200 time: 3.2s http", None),
        ("the server is up, time: 3.2s", None),
    ],
)
def test_a_time_beside_the_figures_of_an_epoch(text: str, passed_s: float | None) -> None:
    said = epoch_lines.passed_s(text)
    assert (float(said) if said is not None else None) == passed_s


STAMPS = {
    "none": "",
    "loguru": "2026-03-04 08:{m:02}:{s:02}.242 | INFO     | __main__:train:42 - ",
    "logging": "2026-03-04 08:{m:02}:{s:02},242 - INFO - ",
    "a time of day": "08:{m:02}:{s:02} ",
    "no year": "03/04 08:{m:02}:{s:02} INFO: ",
}
HEADS = (
    *("Epoch {e}/12", "Epoch #{e}", "Results for epoch {e}", "[Epoch {e}]", "Training epoch {e}", "EPOCH {e} done"),
    *("Epoch-{e}", "epoch_{e}", "Epoch{e}", "Epoch <{e}>", "{e}-th epoch", "Training {e} Epoch", "{e}/12 epochs"),
    *("Epoche {e}/12", "에폭 {e}/12", "エポック {e}/12", "Эпоха {e}", "Época {e}/12"),
)
LAYOUTS = {
    "one line": ["{head} | loss: {loss} | acc 0.7{e} | time: {took}s"],
    "a bracket": ["{head}, train_loss={loss} [{took}s]"],
    "a mean before": ["{head} avg loss = {loss} time {took}s"],
    "a validation before": ["{head} loss {loss} val {loss} time {took}s", "Saved the best model at epoch {e}"],
    "a time behind": ["{head}  {took}s  train_loss: {loss}  val_loss: {loss}"],
    "two lines": ["{head}", "\ttrain loss: {loss}, lr: 1e-3, took {took} seconds"],
    "a time alone": ["{head}", "----------", "train loss {loss}", "val loss {loss}", "Time taken: {took} sec"],
    "a clock": ["{head} - loss {loss} - elapsed: 0:{clock}"],
    "a clock below": ["{head}", "loss {loss}", "total time: 0:{clock}"],
    "no time": ["{head} - loss {loss}", "Validation: loss {loss}"],
}


@pytest.mark.parametrize(("how", "stamp"), product(LAYOUTS, STAMPS))
def test_epochs_are_counted_and_timed_in_any_layout(how: str, stamp: str) -> None:
    for head in HEADS:
        lines, clock_s = ["Loading the data"], 0.0
        for epoch in range(1, 13):
            took = 37.2 + 0.1 * (epoch % 3)
            clock_s += took
            at = {"m": int(clock_s // 60), "s": int(clock_s % 60)}
            fields = {
                "e": epoch,
                "loss": f"{3 / epoch:.4f}",
                "took": f"{took:.1f}",
                "clock": "{m:02}:{s:02}".format(**at),
            }
            lines += [
                STAMPS[stamp].format(**at) + line.format(head=head.format(e=epoch), **fields) for line in LAYOUTS[how]
            ]
        parsed = parse(lines)
        told = parsed.events.groupby("kind")["text"].first()
        assert parsed.steps.empty, head
        assert told[EPOCHS_ONLY] == "12", head
        took_s = told.get(EPOCH_TOOK, told.get(EPOCH_PACE))
        if how == "no time" and stamp == "none":
            assert took_s is None, head
        else:
            assert float(took_s) == pytest.approx(37.3, abs=0.8), head


STEPS = (
    "step {b}/400 loss {loss}",
    "[{b}/400] loss: {loss}",
    "Epoch {e} [{b}/400] loss: {loss}",
    "iter {b} | loss {loss} | lr 1e-4",
)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    "end",
    [
        "Epoch {e} done, loss 0.5, time: {took}s",
        "Epoch {e}: train loss 0.5 [{took}s]",
        "=> Epoch {e} loss 0.500 ({took}s)",
        "Training epoch {e} done | Time: {minutes}m {seconds}s",
        "Epoch {e} finished, elapsed: {clock}",
        "Epoch {e} summary: loss=0.5, total time: {clock}",
        "train loss: 0.5, time: {took}s",
        "2026-03-04 {clock8},123 - INFO - Epoch {e} ended",
    ],
)
def test_steps_without_a_time_share_what_is_told_of_their_epoch(step: str, end: str) -> None:
    lines, passed_s = ["train set: 5000 samples"], 0.0
    for epoch in range(1, 7):
        fields = {"e": epoch, "took": f"{(took_s := 120 + 0.2 * epoch):.1f}"}
        passed_s += took_s
        clock = f"{int(passed_s // 60):02}:{int(passed_s % 60):02}"
        fields |= {
            "minutes": int(took_s // 60),
            "seconds": int(took_s % 60),
            "clock": f"0:{clock}",
            "clock8": f"08:{clock}",
        }
        lines += [
            step.format(b=batch, loss=f"{3 / (batch + 400 * epoch):.4f}", **fields) for batch in range(20, 401, 20)
        ]
        lines += [end.format(**fields), "validation loss: 0.6"]
    steps = parse(lines).steps
    assert len(steps) == 120
    assert steps["step_time_s"].median() == pytest.approx(0.3, rel=0.06)


def test_a_time_beside_a_loss_within_an_epoch_is_not_the_epochs() -> None:
    lines = [
        line
        for batch in range(20, 2001, 20)
        for line in (
            f"step {batch} loss {3 / batch:.4f}",
            *([] if batch % 100 else [f"train loss: {3 / batch:.4f}, time: 12.5s"]),
        )
    ]
    assert parse(lines).steps["step_time_s"].isna().all()


def test_epochs_share_what_their_whole_training_took() -> None:
    lines = [
        line
        for took in ("8m 0s", "16m 0s", "4m 0s")
        for line in [
            *(
                text
                for epoch in range(24)
                for text in (f"Epoch {epoch}/23", "-" * 10, f"train Loss: 0.{99 - epoch} Acc: 0.9")
            ),
            f"Training complete in {took}",
            "Best val Acc: 0.912",
        ]
    ]
    told = parse(lines).events.groupby("kind")["text"].first()
    assert (told[EPOCHS_ONLY], told[EPOCH_SHARE]) == ("72", "20")
