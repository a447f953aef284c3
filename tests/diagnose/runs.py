"""Runs for the tests of rules: an hour on two nodes, healthy unless told otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import pandas as pd

from monitor.model import (
    InstanceGroup,
    Job,
    LogCoverage,
    Node,
    Parameter,
    Run,
    Transition,
    events_frame,
)
from tests.builders import START, metrics, nodes_of, steps

Cases = dict[str, Callable[[], list[Run]]]
"""By the id of a finding: its runs, made when a test first asks for them."""

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


@cache
def healthy() -> Run:
    """The healthy one, the same object for all who ask."""
    return run()
