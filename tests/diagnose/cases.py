"""Runs that a rule must speak about, and runs about which it must be silent: one pair a rule at the least.

``FIRES`` and ``SILENT`` map a finding's id to runs; the tests demand an entry in each for every rule.
"""

from __future__ import annotations

from datetime import timedelta

import pandas as pd

from monitor.model import Gap, LogCoverage, Run, metrics_frame, steps_frame
from tests.builders import START, metrics, nodes_of, steps
from tests.diagnose import advice_cases, configuration_cases, progress_cases, utilization_cases
from tests.diagnose.failure_cases import FAILURE_FIRES, FAILURE_SILENT
from tests.diagnose.runs import BUSY, END, LOW, MINUTES, run

__all__ = ["BUSY", "END", "FIRES", "LOW", "MINUTES", "SILENT", "START", "run"]


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
    **FAILURE_FIRES,
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
    "no-step-lines": [run(step_frame=steps_frame(), logs=LogCoverage(2, 100, None, ("step 7 took 2.5 s",)))],
    "node-timing-unobservable": [run(step_frame=steps(["algo-1"], 1700, 2.0))],
    "metrics-unavailable": [run(metrics_frame(), gaps=(Gap("metrics", "Access to GetMetricData was denied."),))],
    "logs-unavailable": [
        run(step_frame=steps_frame(), logs=LogCoverage(), gaps=(Gap("logs", "The job has no log stream yet."),))
    ],
    "coarse-metrics": [run(metrics_period_s=300)],
}

SILENT: dict[str, list[Run]] = {
    **FAILURE_SILENT,
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
    "no-step-lines": [run()],
    "node-timing-unobservable": [run(), run(nodes=nodes_of(1), step_frame=steps(["algo-1"], 50, 2.0))],
    "metrics-unavailable": [run(gaps=(Gap("metrics", "One page of figures is missing."),))],
    "logs-unavailable": [run()],
    "coarse-metrics": [run(), run(metrics_frame(), metrics_period_s=300)],
}

FIRES |= utilization_cases.FIRES | configuration_cases.FIRES | advice_cases.FIRES
SILENT |= utilization_cases.SILENT | configuration_cases.SILENT | advice_cases.SILENT
for _all, _further in ((FIRES, progress_cases.FIRES), (SILENT, progress_cases.SILENT)):
    for _id, _runs in _further.items():
        _all[_id] = [*_all.get(_id, []), *_runs]
