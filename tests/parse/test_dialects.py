"""Habits of training scripts that the generic recognizers know, one by one: how names, units and counts are set."""

from __future__ import annotations

import pytest

from monitor.parse.fields.keys import key_of
from monitor.parse.formats import jsonlines, keyvalue
from monitor.parse.rows import Reading
from tests.parse.read import parse


def read(line: str) -> list[Reading]:
    return list(jsonlines.read(line)) or list(keyvalue.read(line))


def one(line: str) -> Reading:
    found = read(line)
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(
    ("line", "step", "time_s", "loss"),
    [
        # Names behind their numbers.
        ("  7: 2.625000, 2.500000 avg loss, 0.001000 rate, 0.250000 seconds, 448 images, 3.5 hours left", 7, 0.25, 2.5),
        ("step 7, 2.5 loss, 0.25 s", 7, 0.25, 2.5),
        # Two quantities announced by one name: "time (of it data)".
        (
            "[epoch:  0, iter:   7, lr:(1e-04,)] [eta: 2 days, 3:04:05, time (data): 0.250 (0.004)] l_pix: 2.5000e+00",
            7,
            0.25,
            2.5,
        ),
        ("Epoch 1 iter 7 Data (t): 0.101 Batch (t): 0.250, 128/s loss 2.5", 7, 0.25, 2.5),
        ("iter 7 loss 2.5 Data (t): 0.101", 7, None, 2.5),
        ("iter 7 loss 2.5 step time (forward): 0.101", 7, None, 2.5),
        # A rate whose slash cannot stand in a name, a duration that its path explains, a key that is a mere unit.
        ('{"it": 7, "loss": 2.5, "it_s": 4.0}', 7, 0.25, 2.5),
        ("step=7 loss=2.5 steps_sec=4.0", 7, 0.25, 2.5),
        ("step 7: loss=2.5, throughput/duration=0.25, throughput/tokens_per_second=8192.0", 7, 0.25, 2.5),
        ('{"step": 7, "loss": 2.5, "ms": 250.0}', 7, 0.25, 2.5),
        # A unit before a colon belongs to the number before it where the next has one of its own.
        ("step 7, lr = 1.0e-03, loss = 2.5 (512.0 examples/sec: 0.25 sec/batch)", 7, 0.25, 2.5),
        ("step 7 : loss 2.5 : s/it : 0.25", 7, 0.25, 2.5),
        # Of several losses the step's own.
        ("batch 7, batch avg ctc loss 4.5, batch avg loss 2.5, total avg loss: 3.5, 0.25 s/step", 7, 0.25, 2.5),
        ("iteration 7: cost 2.5, step took 250ms", 7, 0.25, 2.5),
        ("iteration 7: loss 2.5, cost 0.25s", 7, 0.25, 2.5),
        ("iter: 7, lr: 1e-4, l_g_pix: 2.25e-02, l_g_gan: 4.5e-03, time: 0.25", 7, 0.25, None),
        # Told of several steps, at the last of them.
        (" Minibatch[   1- 7]: loss = 2.5 * 256000, metric = 32.78% * 256000;", 7, None, 2.5),
        ("Epoch[1 of 3]-Minibatch[   1-   7, 12.50%]: loss = 2.5 * 64; time = 0.25s", 7, 0.25, 2.5),
        ("TRAIN [0][7/3416]\tTime 0.250 (0.000)\tData 0.1 (0.0)\tTok/s 3345 (0)\tLoss/tok 2.5 (9.0)", 7, 0.25, 2.5),
        ("step 7, loss: 2.5, Computation time: 0.25", 7, 0.25, 2.5),
        # Counts without a name, units in brackets.
        ("\t7/20450 (epoch 0), train_loss = 2.5, time/batch = 0.25", 7, 0.25, 2.5),
        ("[3/25][7/391] Loss_D: 0.5000 Loss_G: 2.0000 D(x): 0.8000", 7, None, None),
        ("[3/25], [7/391], loss: 2.5, time: 0.25", 7, 0.25, 2.5),
        ("loss: 2.500000  [    7/ 3009]", 7, None, 2.5),
        (
            "Train: 1/3 ( 33%) [   7/323 ( 2%)]  Loss: 2.50 (2.75)  cost: 00:15/01:25 [00:15/04:48]  Batch time: 0.25(0.31)",
            7,
            0.25,
            2.5,
        ),
        ("Iteration 7/500 (1.40%) -- 0.250 (sec/it) -- Time Left: 0:33:31, loss = 2.5", 7, 0.25, 2.5),
        ("E2 B7 | loss 2.5 | 0.25 s/batch", 7, 0.25, 2.5),
        ("[TRAIN] Epoch[2](7/100); Loss: 2.5; Backpropagation: 0.0882 sec; Batch: 0.25 sec", 7, 0.25, 2.5),
        ("Finished training step 7. Batch size: 512, Loss: 2.5, LR: 0.00001, step time: 0.25 s", 7, 0.25, 2.5),
        ("INFO:2-epoch (7/178643): total loss 2.5, part 1.2, 0.25 s/batch", 7, 0.25, 2.5),
        ("2nd epoch [7/900] loss: 2.5, 0.25 s/batch", 7, 0.25, 2.5),
        ("epoch: 0  batch: 7 / 900  loss: 2.5  hr: 1  min: 50  sec: 23", 7, None, 2.5),
        ("iteration:2 step7/900,tagger loss: 2.5, 0.25 s/batch", 7, 0.25, 2.5),
        ("epoch: [2 / 20] | sentence: [7 / 67] | total loss : 2.5", 7, None, 2.5),
        ("Loss step 7:  2.5", 7, None, 2.5),
        ("it=   7\tLoss/train:2.500e+00\tTime/train:0.250e+00\tLR:1.000e-03", 7, 0.25, 2.5),
        ("step   7  loss +2.5   steer -0.095  brake +0.134  skipped 0  0.25 s/step", 7, 0.25, 2.5),
        ("iteration,7,train_loss,2.5,train_accuracy,0.046875", 7, None, 2.5),
        ("step, 7, loss, 2.5, step_time, 0.25", 7, 0.25, 2.5),
        ("batch=7 total=7.4 loss=2.5 WALL=2.858e-15", 7, None, 2.5),
        ("step=7 loss_step=2.5, 0.25 s/step", 7, 0.25, 2.5),
        ("I | 06-14 12:55:30 |  train   | step=7, pmove=0.52, energy=-47.2137+0.0006j", 7, None, None),
        ("[ 7] ep=70 steps=119.4 ploss=2.5 ent=1.186 0.25 s/it", 7, 0.25, 2.5),
        # "tps" in seconds is the time per step; an episode's steps are not the training's.
        ("[Epoch: 2] [7/900] [tps: 0.25s] [eta: 0:17:33] loss = 2.5 (2.75)", 7, 0.25, 2.5),
        (" 7/900: episode: 2, episode steps: 64, steps per second: 4.0, mean reward: 1.0, loss: 2.5", 7, 0.25, 2.5),
        # Of several counts the optimizer's.
        ("step=28 optimizer_steps=7 loss=2.5 step_time=0.25", 7, 0.25, 2.5),
        ("micro_step=28 step=7 loss=2.5 step_time=0.25", 7, 0.25, 2.5),
    ],
)
def test_a_habit_is_understood(line: str, step: int, time_s: float | None, loss: float | None) -> None:
    found = one(line)
    assert (found.step, found.time_s) == (step, pytest.approx(time_s) if time_s else None)
    assert found.loss == (pytest.approx(loss) if loss else None)


@pytest.mark.parametrize(
    ("text", "throughput", "unit"),
    [
        ("1.25M tok/s", 1.25e6, "tokens/s"),
        ("1.25 M tokens/sec/gpu", 1.25e6, "tokens/s/GPU"),
        ("12.5k tok/s", 12500.0, "tokens/s"),
        ("(512.0 examples/sec: 0.25 sec/batch)", 512.0, "examples/s"),
        ("0.25 s, 100 MB/s read", None, ""),
    ],
)
def test_throughput_with_a_magnitude_or_before_a_colon(text: str, throughput: float | None, unit: str) -> None:
    found = one(f"step 7 | loss 2.5 | {text}")
    assert (found.throughput, found.throughput_unit) == (throughput, unit)


def test_only_the_last_micro_batch_is_a_step() -> None:
    assert read("step=12 micro=7/8 loss=2.5 time=0.041") == []
    assert read('{"step": 12, "micro_batch": "7/8", "loss": 2.5, "time": 0.041}') == []
    last = one("step=12 micro=8/8 loss=2.5 time=0.041")
    assert (last.step, last.loss, last.time_s) == (12, 2.5, None)  # the time of one micro-batch of eight
    assert one("[step 12] accum 8/8 loss 2.5 step time 0.25s").time_s == 0.25
    assert one("step=12 micro=1/1 loss=2.5 time=0.041").time_s == 0.041


@pytest.mark.parametrize(
    "line",
    [
        "Test_summary: [6/7/67] epoch: 0 iter: 12\tTime: 2.335\tLoss: 0.0877",
        "train: step 12, queue=3",
        "trainer: step=12, cpu=31, ram=44",
        "[GC step 12] freed 1.2 GB in 0.3s",
        "DDIM step 12/50, t=801, time 0.12s",
        "all_reduce 8.0 MB: time 0.412 ms, busbw 123.1 GB/s, iter 20",
        "test_loop.py::test_loss[batch-12] PASSED [ 12%] 0.3s",
        "ValueError: shapes differ at step 120 loss 2.0",
        "+ step = 120, loss = 0.5",
        "EarlyStopping counter: 3 out of 10 at step 1200 (loss 2.31)",
        "Trial 3 pruned at step 12 with loss 2.31.",
        "Monitor-Eval: step: 1875; epoch: 1; ce: 0.04; score: 0.98;",
        "[3/25] loss: 2.5",  # of epochs or of batches?
        "[2/12] download: 0.5 s/it",
        '{"train": {"steps": 10000, "batch": 32}, "loss": {"weight": 0.5}, "time": 12}',
    ],
)
def test_what_else_counts_steps_is_none(line: str) -> None:
    assert read(line) == []


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("L2 norm", None),
        ("l_rate", None),
        ("l_pix", "loss"),
        ("step_s", "time"),
        ("it_s", "rate"),
        ("Batch (t)", "time"),
        ("prune_loss", "loss"),
        ("micro_step", "micro"),
    ],
)
def test_short_names(name: str, what: str | None) -> None:
    key = key_of(name)
    assert (key.what if key else None) == what


def test_a_clock_as_a_mere_unit_is_differenced() -> None:
    lines = [f'{{"step": {step}, "loss": 2.5, "s": {5 * step + 20}}}' for step in range(25, 400, 25)]
    steps = parse(lines).steps
    assert set(steps["kind"]) == {"cumulative"}
    assert list(steps["step_time_s"][1:]) == pytest.approx([5.0] * (len(lines) - 1))


@pytest.mark.parametrize(
    ("printed", "seconds", "tick_s"),
    [
        ("8h 27min 16s 779ms", 30436.779, 0.0),
        ("0h 25min  6s 5ms", 1506.005, 0.0),
        ("8h 27min", 30420.0, 1.0),
        ("2h 3m 4s", 7384.0, 1.0),
        ("2m03.5s", 123.5, 0.0),
        ("3min 20sec", 200.0, 1.0),
    ],
)
def test_a_clock_that_is_spelled(printed: str, seconds: float, tick_s: float) -> None:
    found = one(f"time:  {printed}, remaining: 30h 45min 13s 103ms, epoch: 1/50, batch: 5200/6653, avg loss: 1.7889")
    assert (found.step, found.clock_s, found.clock_tick_s) == (5200, pytest.approx(seconds), tick_s)


@pytest.mark.parametrize("seconds", ["0", "1", "12"])
def test_a_clock_of_whole_seconds_says_so(seconds: str) -> None:
    assert one(f"step 5 loss 2.5 elapsed {seconds}s").clock_tick_s == 1.0
    assert one(f'{{"step": 5, "loss": 2.5, "elapsed": {seconds}}}').clock_tick_s == 1.0
    assert one(f"step 5 loss 2.5 elapsed {seconds}.5s").clock_tick_s == 0.0
