"""One course of steps, told in other units and forms, is one step time: seconds, milliseconds, a clock, a mean, a rate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.analyze.step_time import summary
from monitor.model import Job
from tests.parse.read import parse

Times = Sequence[float]


def _seconds(times: Times) -> list[str]:
    return [f"[step {n}] loss: 2.5 step_time: {t:.6f} s" for n, t in enumerate(times, 1)]


def _milliseconds(times: Times) -> list[str]:
    return [f"[step {n}] loss: 2.5 step_time: {1000 * t:.3f} ms" for n, t in enumerate(times, 1)]


def _clock(times: Times) -> list[str]:
    return [f"step: {n}: step time is {t:.6f}" for n, t in enumerate(accumulate(times), 1)]


def _means(times: Times) -> list[str]:
    """Megatron-LM's line, every ten steps."""
    return [
        f" iteration {end:8d}/    1000 | consumed samples: {8 * end:12d} | elapsed time per iteration (ms): "
        f"{100 * sum(times[end - 10 : end]):.3f} | learning rate: 1.000E-04 | global batch size:     8 | lm loss: 2.5E+00 |"
        for end in range(10, len(times) + 1, 10)
    ]


@pytest.mark.parametrize("told", [_milliseconds, _clock, _means], ids=lambda told: told.__name__.strip("_"))
@settings(deadline=None, max_examples=8)
@given(st.floats(0.2, 20.0), st.integers(0, 2**16))
def test_step_time_is_the_same_however_it_is_told(told: Callable[[Times], list[str]], level: float, seed: int) -> None:
    times = [float(t) for t in level * (1 + np.random.default_rng(seed).normal(0, 0.004, 120))]
    times[0] = 5 * level
    medians = []
    for lines in (_seconds(times), told(times)):
        found = summary(parse(lines).steps, Job("same"))
        assert found is not None
        assert found.median_s is not None
        medians.append(found.median_s)
    # A mean over ten of equal spread has the median of single ones but for its own noise.
    assert medians[1] == pytest.approx(medians[0], rel=0.002)


@pytest.mark.parametrize(
    "head", ["Evaluation:", "== Validation results:", "  Eval :", "Eval begin...", "Validation started"]
)
def test_what_stands_below_the_head_of_an_evaluation_is_no_training(head: str) -> None:
    training = [line for step in range(100, 1100, 100) for line in (f"step: {step}, loss: 2.{step}", "\tlr: 0.1")]
    evaluation = [head, *(f"\tstep {step}: loss: 1.{step}" for step in range(10, 200, 10)), "done"]
    found = parse([*training, *evaluation, *training[:8], *evaluation]).steps
    assert len(found) == 14
    assert set(found["step"]) == set(range(100, 1100, 100))


def test_a_training_that_goes_on_below_the_head_of_an_evaluation_stays() -> None:
    lines = [f"step {step} loss 2.{step}" for step in range(1, 41)]
    assert len(parse([*lines[:20], "Evaluation:", *lines[20:]]).steps) == 40


@pytest.mark.parametrize(("total", "kept"), [(20, 40), (100, 48)], ids=["of another length", "of the same"])
def test_below_the_head_of_an_evaluation_another_length_is_counted(total: int, kept: int) -> None:
    def bar(step: int, of: int) -> str:
        return f"step {step:3}/{of} [====>.....] - loss: 2.2791 - acc: 0.1094 - 7ms/step"

    lines = []
    for epoch in range(1, 5):
        training = "\r".join(bar(step, 100) for step in range(10, 101, 10))
        lines += [
            f"Epoch {epoch}/4",
            training,
            "Eval begin...",
            "\r".join(bar(step, total) for step in (10, 20)),
            "Eval samples: 640",
        ]
    assert len(parse(lines).steps) == kept


def test_a_clock_that_is_called_a_step_s_time_is_differenced() -> None:
    clock = parse([f"mean losses: 2.{n}  iter {10 * n}, iter mins {round(7.8 * n)}" for n in range(40)]).steps
    assert clock["step_time_s"].median() == pytest.approx(46.8, rel=0.05)
    slower = parse([f"mean losses: 2.{n}  iter {10 * n}, iter mins {3 + n // 8}" for n in range(40)]).steps
    assert slower["step_time_s"].median() == pytest.approx(300, rel=0.01)
