"""What runs for the rules about devices, memory, disk and network are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from monitor.model import Job, Node, Run, events_frame, metrics_frame, steps_frame
from tests.builders import START, metrics, nodes_of, steps
from tests.diagnose.runs import BUSY, MINUTES, run

TWO = ("algo-1", "algo-2")
FOUR = nodes_of(4)
FOUR_NAMES = tuple(node.name for node in FOUR)
WEEK_S = 7 * 24 * 3600


def shaped(
    levels: Mapping[str, ArrayLike],
    names: Sequence[str] = TWO,
    minutes: int = MINUTES,
    period_s: int = 60,
    noise: float = 1.0,
    of_node: Mapping[str, Mapping[str, ArrayLike]] | None = None,
) -> pd.DataFrame:
    """A Metrics frame of constants or whole series, a little noisy; ``of_node`` replaces levels of a node."""
    rng = np.random.default_rng(3)
    frames = []
    for name in names:
        for metric, level in {**levels, **(of_node or {}).get(name, {})}.items():
            values = np.clip(np.broadcast_to(level, minutes) + rng.normal(0, noise, minutes), 0, 100)
            times = pd.date_range(START, periods=minutes, freq=f"{period_s}s")
            frames.append(
                pd.DataFrame(
                    {"timestamp": times, "node": name, "metric": metric, "value_pct": values, "period_s": period_s}
                )
            )
    return metrics_frame(pd.concat(frames))


def said(lines: Sequence[tuple[float, str, str]], node: str = "algo-1") -> pd.DataFrame:
    """An Events frame of (minute, kind, text)."""
    return events_frame(
        [
            {
                "timestamp": START + timedelta(minutes=minute),
                "node": node,
                "rank": 0,
                "kind": kind,
                "text": text,
                # Of its own, so that times tell what stands between which steps.
                "stream": f"job/{node}-2",
                "line": number + 1,
            }
            for number, (minute, kind, text) in enumerate(lines)
        ]
    )


def of_job(of: Run, **changes: Any) -> Run:
    """The same run of a job that differs."""
    job: Job = replace(of.job, **changes)
    return replace(of, job=job)


def with_efa(count: int = 2, efa: bool | None = True, **more: Any) -> tuple[Node, ...]:
    """Nodes of a type with EFA."""
    return tuple(replace(node, efa=efa, gpu_model="NVIDIA A100", **more) for node in nodes_of(count))


def at_minutes(minutes: Sequence[int], low: float, high: float, count: int = MINUTES) -> np.ndarray:
    values = np.full(count, high)
    values[list(minutes)] = low
    return values


def idle(first: int, last: int, names: Sequence[str] = TWO) -> pd.DataFrame:
    gpu = {"gpu_utilization": at_minutes(range(first, last), 0.3, 92.0)}
    return shaped(BUSY, FOUR_NAMES if len(names) == 1 else names, noise=0.2, of_node=dict.fromkeys(names, gpu))


def one_gpu(host_gpus: int, busy_sum: float, memory_sum: float, cpu: float = 15.0, **more: Any) -> Run:
    """One host whose GPUs together reach these sums."""
    levels = {
        "gpu_utilization": busy_sum / host_gpus,
        "gpu_memory_utilization": memory_sum / host_gpus,
        "cpu_utilization": cpu,
    }
    hosts = nodes_of(1, "ml.g5.12xlarge", host_gpus)
    return run(metrics(["algo-1"], MINUTES, levels, spread=0.5), nodes=hosts, **more)


def ragged(step_s: float) -> pd.DataFrame:
    """Steps that vary by a tenth: no batch size explains that."""
    rows = steps(TWO, 1700, step_s)
    factor = pd.Series(range(len(rows))).mod(5).mul(0.1).add(0.8)
    return steps_frame(rows.assign(step_time_s=rows["step_time_s"] * factor))


def paused(at_s: float, for_s: float) -> pd.DataFrame:
    """Steps of 2 s on two nodes with one long pause."""
    rows = steps(TWO, 1700, 2.0)
    late = rows["timestamp"] > START + timedelta(seconds=at_s)
    rows = rows.assign(timestamp=rows["timestamp"] + late.astype(int) * pd.Timedelta(seconds=for_s))
    return steps_frame(rows[rows["timestamp"] < START + timedelta(minutes=MINUTES)])


def running(frame: pd.DataFrame, **changes: Any) -> Run:
    """A job that runs for an hour already and has three more to go, by its longest run time; or as told."""
    untold = steps(TWO, 1700, 2.0).assign(total=pd.NA)
    return of_job(run(frame, steps_frame(untold), status="InProgress"), **({"max_runtime_s": 4 * 3600} | changes))


def longer_steps() -> pd.DataFrame:
    """Steps that become longer all the time, by half in all."""
    rows = steps(TWO, 1300, 2.0)
    grown = rows["step_time_s"] * (1 + rows["step"].astype("float64") / 1300 * 0.6)
    times = pd.Timestamp(START) + pd.to_timedelta(grown.groupby(rows["node"]).cumsum(), unit="s")
    return steps_frame(rows.assign(step_time_s=grown, timestamp=times))


def hours(of: Run) -> Run:
    """Old data of the same hour are one mean an hour: too few points to judge by."""
    rows = of.metrics.groupby(["node", "metric"], as_index=False)["value_pct"].mean()
    return replace(of, metrics=metrics_frame(rows.assign(timestamp=START, period_s=3600)), metrics_period_s=3600)


def tflops(value: float) -> pd.DataFrame:
    """Steps that print what each GPU gets."""
    return steps_frame(steps(TWO, 1700, 2.0).assign(throughput=value, throughput_unit="TFLOP/s/GPU"))
