"""Jobs to hold against each other: a published pair, and runs that differ in step time alone."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from monitor.model import Cost, Parameter, Report, steps_frame
from tests.builders import METRIC_ORDER, metrics, nodes_of, report, steps

BUSY = dict(zip(METRIC_ORDER, (88.0, 44.0, 23.0, 28.0, 14.0), strict=True))
MICS_32 = "vit-630m-mics-32-2026-11-17-04-20-56-805"
MICS_4 = "vit-630m-mics-4-2026-11-17-10-26-10-992"


@cache
def _metrics() -> pd.DataFrame:
    return metrics(["algo-1", "algo-2"], 30, BUSY)


def run(name: str, step_s: float = 2.0, count: int = 300, noise: float = 0.0, **changes: Any) -> Report:
    """A run of SMP v1 on eight nodes; ``changes`` are parameters of the library and, with a batch, of the script."""
    hosts = tuple(replace(node, interconnect="none") for node in nodes_of(8, "ml.g4dn.12xlarge", 4))
    names = [node.name for node in hosts]
    given = {"ddp": True, "partitions": 1, "sharded_data_parallel_degree": 32, **changes}
    configuration = {
        key: Parameter(value, "mp_parameters") for key, value in given.items() if key != "train_batch_size"
    }
    configuration["train_batch_size"] = Parameter(given.get("train_batch_size", 4), "hyperparameters")
    configuration["output_dir"] = Parameter(f"s3://bucket/{name}", "hyperparameters")
    frame = steps(names[:1], count, step_s)
    if noise:
        factors = np.exp(np.random.default_rng(len(name)).normal(0, noise, len(frame)))
        frame = steps_frame(
            frame.assign(
                step_time_s=frame["step_time_s"] * factors, timestamp=frame["timestamp"].where(frame["step"] < 0)
            )
        )
    made = report(
        name,
        nodes=hosts,
        metric_frame=_metrics(),
        step_frame=frame,
        cost=Cost(29.13, 4.0, 4.89, "bundled table, us-east-1"),
        configuration=configuration,
    )
    return replace(made, goodput=0.84)


def mics() -> tuple[Report, Report]:
    """The published case: a group that stays inside a node makes the step 14 % faster."""
    return run(MICS_32, 1.407), run(MICS_4, 1.21, sharded_data_parallel_degree=4)
