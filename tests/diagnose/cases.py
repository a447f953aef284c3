"""Runs that a rule must speak about, and runs about which it must be silent: one pair a rule at the least.

``FIRES`` and ``SILENT`` map a finding's id to runs; the tests demand an entry in each for every rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pandas as pd

from monitor.model import (
    Gap,
    InstanceGroup,
    Job,
    LogCoverage,
    Node,
    Parameter,
    Run,
    Transition,
    events_frame,
    metrics_frame,
    steps_frame,
)
from tests.builders import START, metrics, nodes_of, steps
from tests.diagnose import progress_cases

MINUTES = 60
END = START + timedelta(minutes=MINUTES)
BUSY = {"gpu_utilization": 92.0, "gpu_memory_utilization": 75.0, "cpu_utilization": 30.0}
LOW = {"gpu_utilization": 45.0, "gpu_memory_utilization": 40.0, "cpu_utilization": 30.0}


def run(
    metric_frame: pd.DataFrame | None = None,
    step_frame: pd.DataFrame | None = None,
    *,
    nodes: tuple[Node, ...] | None = None,
    status: str = "Completed",
    end: datetime = END,
    configuration: Mapping[str, Any] | None = None,
    logs: LogCoverage | None = None,
    **changes: Any,
) -> Run:
    """A run of an hour on two nodes, healthy unless told otherwise."""
    hosts = nodes_of(2) if nodes is None else nodes
    running = status == "InProgress"
    names = [node.name for node in hosts]
    step_rows = steps(names, 1700, 2.0) if step_frame is None else step_frame
    job = Job(
        "case",
        status=status,
        secondary_status="Training" if running else status,
        instance_groups=(InstanceGroup("", hosts[0].instance_type or "", len(hosts)),),
        created=START - timedelta(minutes=5),
        started=START - timedelta(minutes=1),
        ended=None if running else end,
        transitions=(Transition("Training", START - timedelta(minutes=1), None if running else end),),
        nodes=hosts,
        configuration={name: Parameter(value, "mp_parameters") for name, value in (configuration or {}).items()},
    )
    last = step_rows["timestamp"].max()
    coverage = LogCoverage(len(names), 5000, None if pd.isna(last) else last.to_pydatetime())
    return replace(
        Run(
            job,
            step_rows,
            metrics(names, MINUTES, BUSY) if metric_frame is None else metric_frame,
            events_frame(),
            (),
            60,
            coverage if logs is None else logs,
        ),
        **changes,
    )


def _idle_after(minute: int) -> pd.DataFrame:
    rows = metrics(["algo-1", "algo-2"], MINUTES, BUSY)
    late = (rows["metric"] == "gpu_utilization") & (rows["timestamp"] >= START + timedelta(minutes=minute))
    return metrics_frame(rows.assign(value_pct=rows["value_pct"].where(~late, 0.4)))


def _one_gpu(host_gpus: int, busy_sum: float, memory_sum: float) -> Run:
    levels = {
        "gpu_utilization": busy_sum / host_gpus,
        "gpu_memory_utilization": memory_sum / host_gpus,
        "cpu_utilization": 15.0,
    }
    hosts = nodes_of(1, "ml.g5.12xlarge", host_gpus)
    return run(metrics(["algo-1"], MINUTES, levels, spread=0.5), nodes=hosts)


def _ragged(step_s: float) -> pd.DataFrame:
    """Steps that vary by a tenth: no batch size explains that."""
    rows = steps(["algo-1", "algo-2"], 1700, step_s)
    factor = pd.Series(range(len(rows))).mod(5).mul(0.1).add(0.8)
    return steps_frame(rows.assign(step_time_s=rows["step_time_s"] * factor))


def _resumed(reached: int, kept: int, step_s: float = 2.0) -> pd.DataFrame:
    """Two nodes that come to step ``reached``, and begin again behind step ``kept``."""
    rows = steps(["algo-1", "algo-2"], 1600, step_s)
    later = rows["step"] > reached
    return steps_frame(
        rows.assign(step=rows["step"] - later * (reached - kept), segment=later.astype(int)).sort_values(
            ["node", "line"]
        )
    )


_STOPPED_EARLY = steps(["algo-1", "algo-2"], 800, 2.0)
_FOUR = nodes_of(4)
_FOUR_NAMES = [node.name for node in _FOUR]
_SLOW = run(metrics(_FOUR_NAMES, MINUTES, BUSY), steps(_FOUR_NAMES, 1000, 2.0, slow={"algo-3": 1.3}), nodes=_FOUR)

FIRES: dict[str, list[Run]] = {
    "stall": [
        run(
            metrics(["algo-1", "algo-2"], MINUTES, {"gpu_utilization": 99.9}, spread=0.1),
            _STOPPED_EARLY,
            status="InProgress",
        ),
        run(metrics_frame(), _STOPPED_EARLY, status="InProgress"),
        run(metrics_frame(), _STOPPED_EARLY, status="Stopped"),
    ],
    "slow-node": [
        _SLOW,
        run(metrics(_FOUR_NAMES, MINUTES, BUSY, slow={"algo-2": -25.0}), steps_frame(), nodes=_FOUR),
    ],
    "lost-work": [run(step_frame=_resumed(800, 500)), run(step_frame=_resumed(800, 790))],
    "one-gpu-in-use": [_one_gpu(4, 97.0, 80.0), _one_gpu(8, 60.0, 40.0)],
    "idle-gpus": [
        run(_idle_after(40)),
        run(_idle_after(0), steps_frame(), logs=LogCoverage(2, 100)),
    ],
    "small-batch": [run(metrics(["algo-1", "algo-2"], MINUTES, LOW))],
    "low-gpu-utilization": [
        run(metrics(["algo-1", "algo-2"], MINUTES, LOW), _ragged(2.0)),
        run(
            metrics(["algo-1", "algo-2"], MINUTES, LOW),
            configuration={"pipeline_parallel_degree": 4, "microbatches": 8},
        ),
        run(metrics(["algo-1", "algo-2"], MINUTES, LOW), steps_frame(), logs=LogCoverage(2, 100)),
    ],
    "no-step-lines": [run(step_frame=steps_frame(), logs=LogCoverage(2, 100, None, ("step 7 took 2.5 s",)))],
    "node-timing-unobservable": [run(step_frame=steps(["algo-1"], 1700, 2.0))],
    "metrics-unavailable": [run(metrics_frame(), gaps=(Gap("metrics", "Access to GetMetricData was denied."),))],
    "logs-unavailable": [
        run(step_frame=steps_frame(), logs=LogCoverage(), gaps=(Gap("logs", "The job has no log stream yet."),))
    ],
    "coarse-metrics": [run(metrics_period_s=300)],
}

_CHECKPOINT_LIKE = steps(["algo-1", "algo-2"], 800, 2.0)
SILENT: dict[str, list[Run]] = {
    "stall": [
        run(status="InProgress"),
        # Lines still come: an evaluation, not a stall.
        run(step_frame=_STOPPED_EARLY, status="InProgress", logs=LogCoverage(2, 5000, END - timedelta(minutes=1))),
        run(step_frame=_STOPPED_EARLY, status="Completed"),
    ],
    "slow-node": [
        run(nodes=_FOUR, metric_frame=metrics(_FOUR_NAMES, MINUTES, BUSY)),
        # Pipeline stages may differ by right.
        run(
            metrics(_FOUR_NAMES, MINUTES, BUSY, slow={"algo-2": -25.0}),
            steps_frame(),
            nodes=_FOUR,
            configuration={"pipeline_parallel_degree": 4},
        ),
    ],
    # A counter that begins again at its start is an epoch's, or another run's.
    "lost-work": [run(), run(step_frame=_resumed(800, 0)), run(step_frame=_resumed(800, 799))],
    "one-gpu-in-use": [
        _one_gpu(4, 380.0, 300.0),
        _one_gpu(1, 97.0, 80.0),
        _one_gpu(4, 90.0, 250.0),  # memory of several GPUs is held
    ],
    "idle-gpus": [
        run(_idle_after(52)),
        run(metrics(["algo-1"], MINUTES, {"cpu_utilization": 80.0}), nodes=nodes_of(1, gpus=0)),
    ],
    "small-batch": [
        run(metrics(["algo-1", "algo-2"], MINUTES, {**LOW, "gpu_memory_utilization": 85.0})),
        run(metrics(["algo-1", "algo-2"], MINUTES, LOW), _ragged(2.0)),
        run(metrics(["algo-1", "algo-2"], MINUTES, LOW), configuration={"partitions": 2}),
    ],
    "low-gpu-utilization": [
        run(metrics(["algo-1", "algo-2"], MINUTES, {"gpu_utilization": 72.0})),
        _one_gpu(4, 97.0, 80.0),
        run(metrics(["algo-1"], MINUTES, {"cpu_utilization": 20.0}), nodes=nodes_of(1, gpus=0)),
    ],
    "no-step-lines": [run()],
    "node-timing-unobservable": [run(), run(nodes=nodes_of(1), step_frame=steps(["algo-1"], 50, 2.0))],
    "metrics-unavailable": [run(gaps=(Gap("metrics", "One page of figures is missing."),))],
    "logs-unavailable": [run()],
    "coarse-metrics": [run(), run(metrics_frame(), metrics_period_s=300)],
}

for further in (progress_cases,):
    for id, runs in further.FIRES.items():
        FIRES.setdefault(id, []).extend(runs)
    for id, runs in further.SILENT.items():
        SILENT.setdefault(id, []).extend(runs)
