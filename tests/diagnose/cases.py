"""Runs that a rule must speak about, and runs about which it must be silent: one pair a rule at the least.

A run takes longer to make than to judge, so each is made when a test of its rule first asks.
"""

from __future__ import annotations

from datetime import timedelta
from functools import cache

import pandas as pd

from monitor.model import Gap, LogCoverage, Run, metrics_frame, steps_frame
from tests.builders import START, metrics, nodes_of, steps
from tests.diagnose import (
    advice_cases,
    configuration_cases,
    progress_cases,
    single_gpu_cases,
    transfer_cases,
    useful_work_cases,
    utilization_cases,
)
from tests.diagnose.failure_cases import FAILURE_FIRES, FAILURE_SILENT
from tests.diagnose.runs import BUSY, END, LOW, MINUTES, Cases, healthy, run

__all__ = ["BUSY", "END", "LOW", "MINUTES", "START", "fires", "run", "silent"]


def _resumed(reached: int, kept: int, step_s: float = 2.0) -> pd.DataFrame:
    """Two nodes that come to step ``reached``, and begin again behind step ``kept``."""
    rows = steps(["algo-1", "algo-2"], 1600, step_s)
    later = rows["step"] > reached
    return steps_frame(
        rows.assign(step=rows["step"] - later * (reached - kept), segment=later.astype(int)).sort_values(
            ["node", "line"]
        )
    )


def _stopped_early() -> pd.DataFrame:
    return steps(["algo-1", "algo-2"], 800, 2.0)


_FOUR = nodes_of(4)
_FOUR_NAMES = [node.name for node in _FOUR]

_FIRES: Cases = {
    "stall": lambda: [
        run(
            metrics(["algo-1", "algo-2"], MINUTES, {"gpu_utilization": 99.9}, spread=0.1),
            _stopped_early(),
            status="InProgress",
        ),
        run(metrics_frame(), _stopped_early(), status="InProgress"),
        run(metrics_frame(), _stopped_early(), status="Stopped"),
    ],
    "slow-node": lambda: [
        run(metrics(_FOUR_NAMES, MINUTES, BUSY), steps(_FOUR_NAMES, 1000, 2.0, slow={"algo-3": 1.3}), nodes=_FOUR),
        run(metrics(_FOUR_NAMES, MINUTES, BUSY, slow={"algo-2": -25.0}), steps_frame(), nodes=_FOUR),
    ],
    "lost-work": lambda: [run(step_frame=_resumed(800, 500)), run(step_frame=_resumed(800, 790))],
    "no-step-lines": lambda: [run(step_frame=steps_frame(), logs=LogCoverage(2, 100, None, ("step 7 took 2.5 s",)))],
    "node-timing-unobservable": lambda: [run(step_frame=steps(["algo-1"], 1700, 2.0))],
    "metrics-unavailable": lambda: [
        run(metrics_frame(), gaps=(Gap("metrics", "Access to GetMetricData was denied."),))
    ],
    "logs-unavailable": lambda: [
        run(step_frame=steps_frame(), logs=LogCoverage(), gaps=(Gap("logs", "The job has no log stream yet."),))
    ],
    "coarse-metrics": lambda: [run(metrics_period_s=300)],
}

_SILENT: Cases = {
    "stall": lambda: [
        run(status="InProgress"),
        # Lines still come: an evaluation, not a stall.
        run(step_frame=_stopped_early(), status="InProgress", logs=LogCoverage(2, 5000, END - timedelta(minutes=1))),
        run(step_frame=_stopped_early(), status="Completed"),
    ],
    "slow-node": lambda: [
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
    "lost-work": lambda: [healthy(), run(step_frame=_resumed(800, 0)), run(step_frame=_resumed(800, 799))],
    "no-step-lines": lambda: [healthy()],
    "node-timing-unobservable": lambda: [healthy(), run(nodes=nodes_of(1), step_frame=steps(["algo-1"], 50, 2.0))],
    "metrics-unavailable": lambda: [run(gaps=(Gap("metrics", "One page of figures is missing."),))],
    "logs-unavailable": lambda: [healthy()],
    "coarse-metrics": lambda: [healthy(), run(metrics_frame(), metrics_period_s=300)],
}

_ROOMS = (
    utilization_cases,
    single_gpu_cases,
    configuration_cases,
    advice_cases,
    progress_cases,
    transfer_cases,
    useful_work_cases,
)
_ALL_FIRES = (FAILURE_FIRES, _FIRES, *(room.FIRES for room in _ROOMS))
_ALL_SILENT = (FAILURE_SILENT, _SILENT, *(room.SILENT for room in _ROOMS))


def known() -> set[str]:
    """The ids that runs are for."""
    return {id for cases in (*_ALL_FIRES, *_ALL_SILENT) for id in cases}


@cache
def fires(id: str) -> list[Run]:
    """The runs about which a rule must speak; the same objects at each call."""
    return [run for cases in _ALL_FIRES if id in cases for run in cases[id]()]


@cache
def silent(id: str) -> list[Run]:
    """The runs about which a rule must not speak; the same objects at each call."""
    return [run for cases in _ALL_SILENT if id in cases for run in cases[id]()]
