"""What steps took, out of the moving average that a bar prints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.parse.made_up import smoothed_bar
from tests.parse.read import parse


def drawn(total: int, times_s: list[float], each: int = 1, new: float = 0.3) -> Iterator[str]:
    """tqdm's bar over steps that took so long, drawn at every ``each`` of them."""
    return smoothed_bar(total, list(enumerate(accumulate(times_s), 1))[each - 1 :: each], new)


def test_a_slow_first_batch_is_one_slow_step() -> None:
    epoch = [25.3, *[0.65] * 16]
    found = parse([line for _ in range(6) for line in drawn(17, epoch)]).steps
    assert found["step_time_s"].to_numpy() == pytest.approx(epoch * 6, abs=0.03)
    assert set(found["kind"]) == {"cumulative"}
    # What is printed stays beside it.
    (told,) = re.findall(r"([\d.]+)it/s", list(drawn(17, epoch))[-1])
    assert found["throughput"].iloc[16] == float(told)


@pytest.mark.parametrize("each", [1, 3])
def test_a_stall_at_every_fifth_step_is_told_apart(each: int) -> None:
    times = [6.0 if n % 6 == 0 else 0.8 for n in range(240)]
    found = parse(list(drawn(240, times, each))).steps
    own = [sum(times[at : at + each]) / each for at in range(0, 240, each)]
    if each == 1:
        assert found["step_time_s"].to_numpy() == pytest.approx(own, abs=0.03)
        assert found["step_time_s"].median() == pytest.approx(0.8, rel=0.02)
    else:
        assert found["step_time_s"].median() == pytest.approx(np.median(own), rel=0.1)


@given(st.lists(st.floats(0.6, 40.0), min_size=8, max_size=60))
def test_each_step_is_what_it_took_or_as_printed(times: list[float]) -> None:
    found = parse(list(drawn(100, times))).steps
    if set(found["kind"]) == {"cumulative"}:
        assert found["step_time_s"].to_numpy() == pytest.approx(times, abs=0.06)
    else:
        assert set(found["kind"]) <= {"smoothed", "running-mean"}


def test_a_rate_that_is_near_what_steps_took_is_given_as_printed() -> None:
    times = [2.0 + 0.1 * (n % 3) for n in range(90)]
    found = parse(list(drawn(90, times))).steps
    assert set(found["kind"]) == {"smoothed"}


@pytest.mark.parametrize("new", [0.05, 1.0])
def test_a_bar_that_smooths_otherwise_is_not_taken_apart(new: float) -> None:
    times = [20.0, *[2.0 if n % 4 else 9.0 for n in range(60)]]
    found = parse(list(drawn(61, times, new=new))).steps
    assert set(found["kind"]) <= {"smoothed", "running-mean"} or found["step_time_s"].median() == pytest.approx(2.0)


def test_steps_faster_than_the_clock_of_the_bar_can_bear_out_are_as_printed() -> None:
    found = parse(list(drawn(200, [8.0, *[0.2] * 199]))).steps
    assert set(found["kind"]) == {"smoothed"}
