"""Host sums become percent of one device, by each node's own counts, or they become no figure at all."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.analyze.utilization import distribution, normalised, work_window
from monitor.model import Node, RawMetrics, Transition, metrics_frame, steps_frame
from tests.builders import START
from tests.diagnose.cases import END, run


def _raw(rows: list[tuple[str, str, float]], period_s: int = 60) -> RawMetrics:
    return RawMetrics(
        pd.DataFrame([{"timestamp": START, "node": n, "metric": m, "value": v} for n, m, v in rows]), period_s
    )


@given(st.integers(1, 16), st.integers(1, 256), st.floats(0, 100), st.floats(0, 100))
def test_any_type_comes_out_between_0_and_100(gpus: int, vcpus: int, gpu_pct: float, cpu_pct: float) -> None:
    raw = _raw([("algo-1", "gpu_utilization", gpu_pct * gpus), ("algo-1", "cpu_utilization", cpu_pct * vcpus)])
    frame, gaps = normalised(raw, (Node("algo-1", "t", gpus, vcpus),))
    assert list(frame["value_pct"]) == pytest.approx([gpu_pct, cpu_pct])
    assert gaps == ()


def test_each_node_of_a_mixed_cluster_has_its_own_divisor() -> None:
    raw = _raw(
        [
            ("algo-1", "gpu_utilization", 400.0),
            ("algo-2", "gpu_utilization", 400.0),
            ("algo-1", "memory_utilization", 40.0),
        ]
    )
    frame, _ = normalised(raw, (Node("algo-1", "a", 8, 96), Node("algo-2", "b", 4, 48)))
    assert dict(zip(frame["node"] + " " + frame["metric"], frame["value_pct"], strict=True)) == {
        "algo-1 gpu_utilization": 50.0,
        "algo-2 gpu_utilization": 100.0,
        "algo-1 memory_utilization": 40.0,
    }


def test_unknown_counts_give_no_figure_and_a_gap_but_keep_what_needs_none() -> None:
    raw = _raw([("algo-1", "gpu_utilization", 700.0), ("algo-1", "memory_utilization", 40.0)])
    frame, gaps = normalised(raw, (Node("algo-1", "ml.new.48xlarge"),))
    assert list(frame["metric"]) == ["memory_utilization"]
    assert "ml.new.48xlarge" in gaps[0].why
    assert "No GPU and CPU percentages" in gaps[0].why


def test_nothing_read_is_nothing_said() -> None:
    assert distribution(pd.Series([], dtype="float64")) is None
    frame, gaps = normalised(RawMetrics(pd.DataFrame(columns=["timestamp", "node", "metric", "value"]), None), ())
    assert frame.empty
    assert gaps == ()


@pytest.mark.parametrize("since", ["first step", "first busy minute", "training start"])
def test_the_window_begins_at_the_best_mark_there_is(since: str) -> None:
    case = run()
    if since != "first step":
        case = replace(case, steps=steps_frame())
    if since == "training start":
        case = replace(case, metrics=metrics_frame())
    window = work_window(case, END)
    assert window is not None
    assert window.since == since
    assert (END - window.end).total_seconds() == 180


def test_a_job_that_never_trained_has_no_window() -> None:
    case = run()
    job = replace(case.job, started=None, transitions=(Transition("Starting", START, END),))
    assert work_window(replace(case, job=job), END) is None
