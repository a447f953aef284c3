"""Lines that hold a part of a report: what each of them says by itself, and what none of them is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.parse.reports import pieces


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("|    time_elapsed         | 306      |", [("time_elapsed", "", 306.0)]),
        ("|    fps                  | 1.95e+03 |", [("fps", "", 1950.0)]),
        ("│ iterations │ 12 │", [("iterations", "", 12.0)]),
        ("      Iteration time: 0.95s", [("Iteration time", "s", 0.95)]),
        ("   Computation: 9830 steps/s (collection: 0.38s, learning 0.1s)", [("Computation", "steps/s", 9830.0)]),
        ("  time_this_iter_s: 2.81451153755188", [("time_this_iter_s", "", 2.81451153755188)]),
        ("Timer: 0.6476", [("Timer", "", 0.6476)]),
        ("Time elapsed: 01:00:05", [("Time elapsed", ":", 3605.0)]),
        ("  loss: 2.31  lr: 1e-4", [("loss", "", 2.31), ("lr", "", 1e-4)]),
        ("loss = 2.31 | time = 51 ms", [("loss", "", 2.31), ("time", "ms", 51.0)]),
        ('  "step_time": 0.5,', [("step_time", "", 0.5)]),
        ("                 Learning iteration 5/1500   ", [("Learning iteration", "", 5.0)]),
        ("===== Step 7 =====", [("Step", "", 7.0)]),
        ("[Step 1,200]", [("Step", "", 1200.0)]),
        ("Step   425 of   469: ", [("Step", "", 425.0)]),
        ("Epoch 3 Step 100:", [("Epoch", "", 3.0), ("Step", "", 100.0)]),
        ("2026-03-04 08:12:01,123 INFO - loss: 2.5", [("loss", "", 2.5)]),
        ("[08:12:01] [INFO] train.py:12 throughput: 120 samples/s", [("throughput", "samples/s", 120.0)]),
        ("(worker pid=4711) time: 0.5s", [("time", "s", 0.5)]),
        ("\t• loss: nan", [("loss", "", float("nan"))]),
        ("Training step took 503.2 ms", [("Training step time", "ms", 503.2)]),
        ("batch took 5", [("batch time", "", 5.0)]),
        ("update took 0:00:03", [("update time", ":", 3.0)]),
        ("📊 Step 3/600", [("Step", "", 3.0)]),
        ("   ├── Loss: 2.31 ✅", [("Loss", "", 2.31)]),
        ("   └─ ⏱️ Time: 0.5s", [("Time", "s", 0.5)]),
    ],
)
def test_what_a_line_says(text: str, said: list[tuple[str, str, float]]) -> None:
    found = [(*pieces.named(reading.bar), reading.clock_s) for reading in pieces.read(text)]
    assert repr(found) == repr(said)  # a NaN equals nothing


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Total params: 4,480",
        "val_loss: 2.31",
        "Validation loss: 2.31",
        "eval/time: 3.1",
        "data loading time: 3.2s",
        "checkpoint saved in 3.1s",
        "Saving checkpoint at step 100",
        "Saving step took 12.3s",
        "Evaluation step took 0.5s",
        "best loss: 2.3",
        "loss_scale: 128",
        "Epoch time: 35 s",
        "download time: 3 s",
        "In phase 2 the loss: 3 terms",
        "loss: mse",
        "time: 12:00 noon",
        "Train time/batch: 365",
        "  learn_time_ms: 2268.5",
        "Collection time: 0.183s",
        "batch_size: 32",
        "[Epoch 1] speed: 12 samples/sec\ttime cost: 1234.5",
        "Epoch 3 - loss: 0.5 - time: 12.3s",
        "timeout: 30",
        "CUDA error: 700",
        "TypeError: 3",
        "10 | 20",
        "| N/A   34C    P0    26W /  70W |   1024MiB / 15360MiB |",
        "Step 3: install the driver",
        "| misc/serial_timesteps | 2048 |",
        "loss: " + "9" * 300,
        "step: 0.5",
        "a: 1, " * 60,
    ],
)
def test_what_is_no_piece(text: str) -> None:
    assert pieces.read(text) == []


@pytest.mark.parametrize(
    ("text", "tick"), [("Time: 306", 1.0), ("Time: 30.6", 0.0), ("Time: 1.08e+04", 100.0), ("Time: 00:10", 1.0)]
)
def test_what_the_last_digit_counts(text: str, tick: float) -> None:
    assert [reading.clock_tick_s for reading in pieces.read(text)] == [tick]


@given(st.text(alphabet="step loss time:=|0123456789.e+-,()[]#/s", max_size=240))
def test_any_text_is_read_or_left(text: str) -> None:
    assert all(reading.format == pieces.FORMAT for reading in pieces.read(text))


@pytest.mark.parametrize("text", ["loss: 1 " * 30, "[" * 240, "1:" * 120, "a " * 120, "(a " * 80, "2024-01-01 " * 20])
def test_lines_that_ask_for_time_take_none(text: str) -> None:
    pieces.read(text)
