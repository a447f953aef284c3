"""The user's own pattern: read, refused with a sentence, and suggested from lines that nobody knows."""

from __future__ import annotations

import pytest

from monitor.errors import BadCall
from monitor.parse.shapes import suggested_pattern
from monitor.parse.user import step_pattern
from tests.parse.read import parse


def test_named_groups_give_steps() -> None:
    extra = step_pattern(r"it (?P<step>\d+) took (?P<time_ms>[\d.]+)ms loss (?P<loss>[\d.]+)")
    steps = parse(["it 7 took 250ms loss 1.5", "nothing", "it 8 took 240ms loss 1.4"], extra=(extra,)).steps
    assert list(steps["step"]) == [7, 8]
    assert list(steps["step_time_s"]) == [0.25, 0.24]
    assert set(steps["format"]) == {"user"}


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (r"(?P<step>\d+", "refused"),
        (r"(?<=a)(?P<step>\d)", "refused"),
        (r"(\d+)", "no named group"),
        (r"(?P<x>\d)", "no named"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused_in_words(pattern: str, reason: str) -> None:
    with pytest.raises(BadCall, match=reason):
        step_pattern(pattern)


def test_no_pattern_hangs() -> None:
    extra = step_pattern(r"(?P<step>(a+)+)$")
    assert parse(["a" * 50_000 + "b"], extra=(extra,)).steps.empty


@pytest.mark.parametrize(
    ("line", "step", "seconds"),
    [
        ("epoch 3 step 120 finished, took 2.5 s", 120, 2.5),
        ("level=info step=12 loss=5.3 step_time_ms=84.00 tok_per_s=9904.3", 12, 0.084),
        ("[rank0] step 5/60 loss=2.3 dt=143.3ms", 5, 0.1433),
        ("batch 17 done in 0.61 seconds", 17, 0.61),
    ],
)
def test_the_suggested_pattern_reads_the_line_it_was_made_from(line: str, step: int, seconds: float) -> None:
    pattern = suggested_pattern(line)
    assert pattern is not None
    steps = parse([line], extra=(step_pattern(pattern),)).steps
    assert (steps["step"][0], steps["step_time_s"][0]) == (step, pytest.approx(seconds))


def test_nothing_is_suggested_where_no_time_is_told() -> None:
    assert suggested_pattern("loss 3.5 accuracy 0.9") is None
