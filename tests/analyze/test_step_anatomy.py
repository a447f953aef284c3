"""Samples of many steps, laid over each other, show what the GPUs do within one."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pandas as pd
import pytest

from monitor.analyze.stalls import PIECES, StepAnatomy, step_anatomy
from monitor.model import gpus_frame
from tests.builders import START, steps


def _gpus(
    step_s: float, still: float, seconds: float = 60.0, interval_s: float = 0.5, node: str = "algo-1"
) -> pd.DataFrame:
    """Four GPUs that stand still for the first ``still`` of each step, from a minute after the start on."""
    at = 60.013 + np.arange(0.0, seconds, interval_s)  # never at the very end of a step
    busy = np.where(np.mod(at, step_s) < still * step_s, 2.0, 96.0)
    rows = [
        (START + timedelta(seconds=s), node, gpu, b, 50.0, True)
        for s, b in zip(at, busy, strict=True)
        for gpu in range(4)
    ]
    return gpus_frame(pd.DataFrame(rows, columns=["timestamp", "node", "gpu", "utilization_pct", "memory_pct", "even"]))


def _found(gpus: pd.DataFrame, rows: pd.DataFrame, node: str = "algo-1") -> StepAnatomy:
    found = step_anatomy(gpus, rows, node)
    assert found is not None
    return found


@pytest.mark.parametrize("step_s", [2.3, 3.1, 7.7])
def test_a_wait_at_the_beginning_of_each_step_is_seen_there(step_s: float) -> None:
    rows = _exact(step_s)
    found = _found(_gpus(step_s, 0.3, 300), rows)
    pieces = found.pieces.set_index("piece")["mean_pct"]
    assert pieces[:5].max() < 20
    assert pieces[7:].min() > 80
    assert found.step_s == pytest.approx(step_s, rel=0.02)
    assert len(found.pieces) == PIECES
    assert found.pieces["end_s"].max() == pytest.approx(found.step_s)


def test_a_node_that_prints_nothing_has_the_steps_of_the_others() -> None:
    found = _found(_gpus(2.3, 0.3, 300, node="algo-2"), _exact(2.3), "algo-2")
    assert found.pieces["mean_pct"].iloc[:5].max() < 20


@pytest.mark.parametrize(
    ("gpus", "rows"),
    [
        # Too few samples; steps shorter than two of them; no steps; steps at another time.
        (_gpus(2.3, 0.3, 20), steps(["algo-1"], 400, 2.3)),
        (_gpus(0.8, 0.3, 300), steps(["algo-1"], 900, 0.8)),
        (_gpus(2.3, 0.3, 300), steps(["algo-1"], 400, 2.3).iloc[:0]),
        (_gpus(2.3, 0.3, 300), steps(["algo-1"], 10, 2.3)),
    ],
)
def test_too_little_is_no_picture(gpus: pd.DataFrame, rows: pd.DataFrame) -> None:
    assert step_anatomy(gpus, rows, "algo-1") is None


def _exact(step_s: float) -> pd.DataFrame:
    """Steps that end at whole multiples of their time."""
    rows = steps(["algo-1"], 400, step_s)
    ends = START + pd.to_timedelta(step_s * np.arange(1, len(rows) + 1), unit="s")
    return rows.assign(timestamp=ends.as_unit("ms"), step_time_s=step_s)
