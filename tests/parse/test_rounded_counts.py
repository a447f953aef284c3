"""A step that is told in whole thousands is one of the steps that the trainer reports, every so many."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.parse.read import parse


def _big(number: float) -> str:
    """As robot learning trainers print counts: in full below a thousand, then "1K", "2M"."""
    for letter in ("", "K", "M"):
        if number < 1000:
            return f"{number:.0f}{letter}"
        number /= 1000
    return f"{number:.0f}B"


def _lines(steps: list[int], every: int) -> list[str]:
    begin = datetime(2026, 5, 12, 8, 30, tzinfo=UTC)
    return [
        f"INFO {begin + timedelta(seconds=0.5 * every * place):%Y-%m-%d %H:%M:%S} train.py:357 "
        f"step:{_big(step)} smpl:{_big(32 * step)} loss:{2 - step / 1e6:.3f} updt_s:0.500 data_s:0.000"
        for place, step in enumerate(steps)
    ]


@settings(deadline=None, max_examples=30)
@given(st.sampled_from([50, 100, 200, 250, 400, 500]), st.integers(1, 60), st.integers(40, 300))
def test_steps_in_thousands_are_told_in_full_or_as_they_are(every: int, first: int, many: int) -> None:
    true = [every * (first + place) for place in range(many)]
    told = parse(_lines(true, every)).steps["step"].tolist()
    assert told == true or set(told) <= {int(_big(step).replace("K", "000").replace("M", "000000")) for step in true}


@pytest.mark.parametrize(("every", "first"), [(100, 1), (200, 1), (200, 97), (250, 1), (500, 1), (50, 400)])
def test_a_trainer_that_reports_every_so_many_steps(every: int, first: int) -> None:
    true = [every * (first + place) for place in range(160)]
    steps = parse(_lines(true, every)).steps
    assert steps["step"].tolist() == true
    assert steps["step_time_s"].median() == pytest.approx(0.5, rel=0.03)


def test_each_start_has_its_own() -> None:
    true = [*range(200, 9000, 200), *range(5200, 14000, 200)]
    steps = parse(_lines(true, 200)).steps
    assert steps["step"].tolist() == true
    assert steps["segment"].nunique() == 2


@pytest.mark.parametrize("processes", [2, 3, 4, 8])
def test_processes_that_all_tell_a_step_round_nothing(processes: int) -> None:
    """Every thousandth step, by each of them without a name."""
    lines = [
        f"step:{step} loss:{2 - step / 1e5 + place / 1e3:.3f} time:0.5"
        for step in range(1000, 21000, 1000)
        for place in range(processes)
    ]
    assert set(parse(lines).steps["step"]) <= set(range(1000, 21000, 1000))
