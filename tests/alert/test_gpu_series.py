"""Thresholds on single GPUs are judged at the minutes that were read of a job's profiler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pandas as pd
import pytest

from monitor.alert.alarms.plan import alarms_of
from monitor.alert.conditions import parse
from monitor.alert.history import as_of
from monitor.errors import BadCall
from monitor.model import Gap, Report, gpus_frame
from tests.alert.jobs import START, asked, job, minutes, verdict


def _profiled(levels: Sequence[float], every: int = 8, even: bool = True) -> pd.DataFrame:
    """GPU 5 of algo-2 at these levels, a minute in ``every``; its siblings at 95."""
    rows = []
    for place, level in enumerate(levels):
        for gpu in range(8):
            for second in (0, 20, 40):
                at = START + timedelta(minutes=every * place, seconds=second)
                busy = level if gpu == 5 else 95.0
                rows.append((at, "algo-2", gpu, busy, 61.0, even))
    return gpus_frame(pd.DataFrame(rows, columns=["timestamp", "node", "gpu", "utilization_pct", "memory_pct", "even"]))


def _report(levels: Sequence[float], **how: object) -> Report:
    made = job(minutes({name: [95.0] * 60 for name in ("algo-1", "algo-2")}))
    return replace(made, run=replace(made.run, gpus=_profiled(levels, **how)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "levels", "state"),
    [
        ("gpu_utilization < 40 on algo-2/gpu5", [95, 95, 95, 20, 20, 20], "firing"),
        ("gpu_utilization < 40 for 10m on algo-2/gpu5", [95, 20, 20, 20, 95, 95], "firing"),
        ("gpu_utilization < 40 for 30m on algo-2/gpu5", [95, 20, 20, 95, 95, 95], "ok"),
        ("gpu_utilization < 40 on algo-2/gpu5", [95] * 6, "ok"),
        ("gpu_utilization < 40 on algo-2/gpu4", [20] * 6, "ok"),
        ("gpu_memory_utilization > 60 on algo-2/gpu5", [95] * 6, "firing"),
        ("gpu_utilization < 40 on algo-2/gpu8", [20] * 6, "no data"),
        ("gpu_utilization < 40 on algo-1/gpu5", [20] * 6, "no data"),
        ("gpu_utilization < 40 on algo-9/gpu5", [20] * 6, "no data"),
    ],
)
def test_one_gpu_is_judged_by_its_own_minutes(text: str, levels: list[float], state: str) -> None:
    found = verdict(_report(levels), text)
    assert found.state == state
    if state == "firing":
        assert found.node == "algo-2/gpu5"
    if state == "no data":
        assert found.why


def test_a_hole_in_what_was_read_breaks_what_lasts() -> None:
    report = _report([20.0] * 6)
    gpus = report.run.gpus
    gone = gpus["timestamp"].between(START + timedelta(minutes=8), START + timedelta(minutes=26))
    holed = replace(report, run=replace(report.run, gpus=gpus[~gone]))
    assert verdict(holed, "gpu_utilization < 40 for 30m on algo-2/gpu5").state == "ok"


def test_without_a_profiler_it_is_said_why_nothing_is_known() -> None:
    plain = job(minutes({"algo-1": [95.0] * 60}))
    assert "profiler" in verdict(plain, "gpu_utilization < 40 on algo-1/gpu5").why
    refused = replace(plain, run=replace(plain.run, gaps=(Gap("profiler", "Access was denied."),)))
    assert verdict(refused, "gpu_utilization < 40 on algo-1/gpu5").why == "Access was denied."


@pytest.mark.parametrize("text", ["cpu_utilization < 5 on algo-1/gpu0", "step_time > 2 on algo-1/gpu0"])
def test_only_gpu_figures_are_of_a_gpu(text: str) -> None:
    with pytest.raises(BadCall, match=r"no (cpu_utilization|step_time)"):
        parse(text)


def test_numbers_are_those_of_the_samples() -> None:
    found = verdict(_report([95, 95, 95, 30, 30, 30]), "gpu_utilization < 40 on algo-2/gpu5")
    assert found.value == pytest.approx(30.0)
    assert np.isfinite(found.limit or 0.0)


def test_cloudwatch_cannot_keep_it() -> None:
    plan = alarms_of(_report([20.0] * 6).job, [asked("gpu_utilization < 40 on algo-2/gpu5")])
    assert plan.alarms == ()
    assert "no figures for single GPUs" in plan.not_expressible[0].why


def test_of_an_earlier_moment_only_what_was_written_by_then_is_known() -> None:
    run = _report([95.0] * 6).run
    cut = as_of(run, START + timedelta(minutes=16, seconds=30))
    assert cut.gpus["timestamp"].max() < START + timedelta(minutes=9)
    assert len(as_of(run, START + timedelta(minutes=17)).gpus) > len(cut.gpus)


def test_the_name_of_a_rule_is_one_word() -> None:
    assert asked("gpu_utilization < 40 on algo-2/gpu5").name == "gpu_utilization-below-40-on-algo-2-gpu5"
