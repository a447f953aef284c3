"""Standstills within a minute: how long, how often, and with which steps or checkpoints."""

from __future__ import annotations

import pandas as pd
import pytest

from monitor.analyze.stalls import Stalls, recurring_stalls
from tests.diagnose.profiled_hosts import WHOLE, once_a_minute, saving, stop_and_go


def _one(gpus: pd.DataFrame, step_s: float | None = None, checkpoints_s: tuple[float, ...] = ()) -> Stalls:
    (found,) = recurring_stalls(gpus, step_s, checkpoints_s)
    return found


@pytest.mark.parametrize(("still_s", "period_s"), [(1.5, 6.0), (2.0, 10.0), (4.0, 15.0)])
@pytest.mark.parametrize("interval_s", [0.1, 0.5, 1.0])
def test_length_and_period(still_s: float, period_s: float, interval_s: float) -> None:
    found = _one(stop_and_go(still_s, period_s, interval_s=interval_s))
    assert found.length_s == pytest.approx(still_s, abs=interval_s)
    assert found.period_s == pytest.approx(period_s, abs=interval_s)
    assert found.share == pytest.approx(still_s / period_s, rel=0.35)
    assert found.goes_with == ""


@pytest.mark.parametrize(
    ("step_s", "goes_with", "steps"),
    [(10.0, "step", 1), (2.0, "steps", 5), (3.2, "", None), (0.5, "", None), (None, "", None)],
)
def test_what_it_goes_with(step_s: float | None, goes_with: str, steps: int | None) -> None:
    found = _one(stop_and_go(2.0, 10.0), step_s)
    assert (found.goes_with, found.steps) == (goes_with, steps)


def test_with_checkpoints_the_cadence_is_theirs() -> None:
    saved_s = tuple(at.timestamp() for at in saving(WHOLE)["timestamp"])
    found = _one(once_a_minute(9.0), None, saved_s)
    assert found.goes_with == "checkpoint"
    assert found.period_s == pytest.approx(480)
    assert found.length_s == pytest.approx(9.0, abs=0.5)


def test_a_checkpoint_every_few_seconds_explains_nothing() -> None:
    every_s = tuple(at.timestamp() for second in range(0, 60, 5) for at in saving(WHOLE, second)["timestamp"])
    assert _one(stop_and_go(2.0, 10.0), 10.0, every_s).goes_with == "step"
