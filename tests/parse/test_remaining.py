"""What is left of a run, or of its epoch, as a witness of its steps."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

import numpy as np
import pandas as pd
import pytest

from tests.parse.read import parse


def _read(lines: Iterable[str]) -> pd.DataFrame:
    return parse(list(lines)).steps


def _hms(seconds: float) -> str:
    return f"{int(seconds) // 3600}:{int(seconds) % 3600 // 60:02}:{int(seconds) % 60:02}"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("step {step}/4000 | loss 2.5 | lr 1e-4 | eta {hms}", 0.75),
        ("iter {step}/4000, loss 2.5, time left: {minutes:.2f} min", 0.75),
        ('{{"step": {step}, "total_steps": 4000, "loss": 2.5, "eta_seconds": {left}}}', 0.75),
        ("[{step}/4000] xent=2.{step} eta={hms}", 0.75),
        # A clock tells more than an estimate, and so does any time that is printed.
        ("{at} step {step}/4000 loss 2.5 eta {hms}", 0.6),
        ("step {step}/4000 loss 2.5 0.7 s/step eta {hms}", 0.7),
        # Of all epochs: not what is left of this counter.
        ("epoch 1/9 step {step}/4000 loss 2.5 eta {more}", None),
        ("step {step}/4000 loss 2.5 eta {more}", None),
    ],
)
def test_what_is_left_of_a_run_tells_its_steps_where_it_comes_down_to_nothing_with_them(
    line: str, expected: float | None
) -> None:
    lines = [
        line.format(
            step=step,
            left=(left := 0.75 * (4000 - step)),
            hms=_hms(left),
            minutes=left / 60,
            more=_hms(left + 24_000),
            at=f"2024-03-05 09:{int(0.6 * step) // 60:02}:{int(0.6 * step) % 60:02}",
        )
        for step in range(100, 1500, 100)
    ]
    times = _read(lines)["step_time_s"]
    assert len(times) == 14
    assert times.median() == pytest.approx(expected, rel=0.01) if expected else times.isna().all()


def test_what_only_falls_is_left_of_a_run() -> None:
    steps = parse([f"Iter: {n}50, loss: 0.65 elapsed: 0:02:{50 - 5 * n:02d}" for n in range(1, 9)]).steps
    assert len(steps) == 8
    assert steps["step_time_s"].isna().all()


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("of_run", [True, False])
def test_what_is_left_beside_an_epoch_and_a_batch_tells_a_step(first: int, of_run: bool) -> None:
    """Of the run, or of the epoch; worked out from the last step alone, it scatters."""
    rng, lines = np.random.default_rng(7), []
    for epoch in range(3):
        for batch in range(100):
            to_do = 20 * 100 - 100 * epoch - batch if of_run else 100 - batch
            left = timedelta(seconds=float(to_do * rng.uniform(0.25, 0.35)))
            lines.append(
                f"[Epoch {epoch + first}/20] [Batch {batch}/100] [D loss: 0.{rng.integers(100, 999)}] ETA: {left}"
            )
    found = parse(lines).steps
    assert list(found["step"]) == 3 * list(range(100))
    assert found["step_time_s"].median() == pytest.approx(0.3, rel=0.1)


@pytest.mark.parametrize("first", [0, 1])
def test_what_is_left_in_the_last_epoch_is_of_its_steps(first: int) -> None:
    rng = np.random.default_rng(7)
    lines = [
        f"[Epoch {epoch + first}/3] [Batch {batch}/100] [D loss: 0.{rng.integers(100, 999)}] ETA: {timedelta(seconds=left)}"
        for epoch in range(3)
        for batch in range(100)
        for left in [float((3 * 100 - 100 * epoch - batch) * rng.uniform(0.29, 0.31))]
    ]
    assert parse(lines).steps["step_time_s"].iloc[200:].median() == pytest.approx(0.3, rel=0.03)


def test_what_is_left_of_something_else_tells_no_step() -> None:
    rng = np.random.default_rng(7)
    lines = [
        f"[Epoch {epoch}/20] [Batch {batch}/100] [D loss: 0.{rng.integers(100, 999)}] ETA: {timedelta(seconds=float(left))}"
        for epoch in range(3)
        for batch, left in enumerate(rng.lognormal(5, 2, 100))
    ]
    assert parse(lines).steps["step_time_s"].isna().all()


def test_a_forecast_that_jumps_once_tells_the_steps_all_the_same() -> None:
    lines = [
        f"E{n:3}/100 | Loss:0.{n + 100} | ETA:{0.45 * (100 - n) * (1.9 if n == 40 else 1.0):.1f}min | Best:0.5"
        for n in range(1, 101)
    ]
    steps = parse(lines).steps
    assert len(steps) == 100
    assert steps["step_time_s"].median() == pytest.approx(27.0, rel=0.02)
