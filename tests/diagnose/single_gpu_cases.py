"""Runs with samples of single GPUs: which must speak, and which must not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pandas as pd

from monitor.model import ProfilerCoverage, Run, events_frame, gpus_frame, hosts_frame, metrics_frame
from tests.builders import START, nodes_of
from tests.diagnose.profiled_hosts import WHOLE, beside, once_a_minute, saving, stop_and_go
from tests.diagnose.runs import Cases, run

# On a grid as they are read, from the job's start to its end.
_EVEN = (4, 12, 20, 28, 36, 44, 52)
Level = tuple[float, float]


def sampled(
    busy: float = 92.0,
    held: float = 70.0,
    odd: Mapping[tuple[str, int], Level] | None = None,
    since: int = 0,
    gpus: int = 8,
    noise: float = 2.0,
    minutes: tuple[int, ...] = _EVEN,
    even: bool = True,
) -> pd.DataFrame:
    """Twenty samples of each minute of two nodes. ``odd`` GPUs have levels of their own from minute ``since`` on."""
    dice = np.random.default_rng(3)
    parts = []
    for node in ("algo-1", "algo-2"):
        for at in minutes:
            for gpu in range(gpus):
                level = (odd or {}).get((node, gpu), (busy, held)) if at >= since else (busy, held)
                times = pd.date_range(START + timedelta(minutes=at), periods=20, freq="500ms")
                values = np.clip(level[0] + dice.normal(0, noise if level[0] else 0.0, 20), 0, 100)
                columns = {"utilization_pct": values, "memory_pct": level[1], "even": even}
                parts.append(pd.DataFrame({"timestamp": times, "node": node, "gpu": gpu, **columns}))
    return gpus_frame(pd.concat(parts))


def profiled(gpus: pd.DataFrame, hosts: pd.DataFrame | None = None, **changes: object) -> Run:
    """A healthy run with these samples."""
    coverage = ProfilerCoverage(14, 7_000_000, 0.0001, 0, "s3://bucket/case")
    return run(gpus=gpus, hosts=hosts_frame() if hosts is None else hosts, profiler=coverage, **changes)  # type: ignore[arg-type]


def _rarely(**host: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    gpus = stop_and_go(0.5, 10.0, _EVEN, even=True)
    return gpus, beside(gpus, **host)


_SLOW: Mapping[tuple[str, int], Level] = {("algo-2", 5): (48.0, 70.0)}

# Two processes on one GPU, none on another.
_SHARED: Mapping[tuple[str, int], Level] = {("algo-1", 0): (99.9, 96.0), ("algo-1", 1): (0.0, 0.4)}


def _processes(each: int) -> pd.DataFrame:
    return events_frame(
        [
            {
                "timestamp": START,
                "node": "algo-1",
                "rank": None,
                "kind": "torchrun",
                "text": f"2 {each} 0",
                "stream": "algo-1",
                "line": 1,
            }
        ]
    )


def _waiting(**host: Any) -> Run:
    """GPUs that wait two seconds of every eight, and what their host does."""
    gpus = stop_and_go(2.0, 8.0, _EVEN, even=True)
    return profiled(gpus, hosts=beside(gpus, **host))


def _busy(**host: Any) -> Run:
    gpus = stop_and_go(0.0, 8.0, _EVEN, even=True)
    return profiled(gpus, hosts=beside(gpus, **host), nodes=_NETWORK)


_NETWORK = tuple(replace(node, network_gbps=25.0) for node in nodes_of(2))

FIRES: Cases = {
    "gpu-binding": lambda: [
        profiled(sampled(odd=_SHARED)),
        profiled(sampled(odd=_SHARED), events=_processes(8)),
        # All eight processes on the first.
        profiled(
            sampled(busy=0.0, held=0.0, odd={("algo-1", 0): (99.0, 90.0), ("algo-2", 0): (99.0, 90.0)}),
            events=_processes(8),
        ),
    ],
    "recurring-stalls": lambda: [
        profiled(stop_and_go(2.0, 10.0)),
        profiled(stop_and_go(2.0, 10.0, wobble=0.05)),
        profiled(stop_and_go(2.0, 8.0, interval_s=1.0)),
        # With checkpoints, of which a minute each was read.
        profiled(once_a_minute(9.0), events=saving(WHOLE)),
    ],
    "busy-core": lambda: [
        _waiting(full=(1, 0)),
        _waiting(full=(1, 1)),
        _waiting(full=(8, 0)),
    ],
    "io-wait": lambda: [_waiting(waiting=(6.0, 0.2)), _waiting(waiting=(6.0, 0.2), full=(1, 0))],
    "network-limit": lambda: [_busy(gbps=23.0)],
    # The mean over a host is at 73 %.
    "gpu-memory-pressure": lambda: [profiled(sampled(odd={("algo-2", 3): (92.0, 97.0)}))],
    "unlike-gpu": lambda: [
        profiled(sampled(odd=_SLOW)),
        profiled(sampled(odd=_SLOW, since=28)),
        profiled(sampled(odd={("algo-1", 7): (0.0, 0.0)})),
        profiled(sampled(busy=70.0, odd={("algo-1", 3): (99.0, 70.0)})),
        profiled(sampled(odd=_SLOW), metric_frame=metrics_frame()),
    ],
}
SILENT: Cases = {
    "gpu-binding": lambda: [
        profiled(sampled()),
        # An empty GPU alone; a full one alone; both, in minutes that were read for what they hold, and in too few.
        profiled(sampled(odd={("algo-1", 7): (0.0, 0.0)})),
        profiled(sampled(held=50.0, odd={("algo-1", 0): (92.0, 90.0)})),
        profiled(sampled(odd=_SHARED, even=False)),
        profiled(sampled(odd=_SHARED, minutes=(4, 12))),
        # Six processes on six GPUs.
        profiled(sampled(odd={("algo-1", 6): (0.0, 0.0), ("algo-1", 7): (0.0, 0.0)}), events=_processes(6)),
        # Stages hold more or less by right.
        profiled(sampled(held=40.0, odd={("algo-1", gpu): (92.0, 80.0) for gpu in range(4)} | {("algo-1", 7): (0, 0)})),
    ],
    "recurring-stalls": lambda: [
        profiled(stop_and_go(0.0, 10.0)),
        # Shorter than two samples, or than a second; not still; one GPU goes on.
        profiled(stop_and_go(0.5, 10.0)),
        profiled(stop_and_go(0.8, 10.0, interval_s=0.1)),
        profiled(stop_and_go(2.0, 10.0, low=45.0)),
        profiled(stop_and_go(2.0, 10.0, keeps_on=3)),
        # At no period; in one minute of six; samples too far apart to see it.
        profiled(stop_and_go(2.0, 10.0, wobble=0.45)),
        profiled(pd.concat([stop_and_go(2.0, 10.0, (7,)), stop_and_go(0.0, 10.0, WHOLE[1:])])),
        profiled(stop_and_go(20.0, 60.0, interval_s=10.0)),
        # Once a minute, and no line of a checkpoint near it.
        profiled(once_a_minute(9.0)),
        profiled(once_a_minute(9.0), events=saving(WHOLE, second=50.0)),
        # A checkpoint that lets the GPUs go on.
        profiled(stop_and_go(0.0, 10.0), events=saving(WHOLE)),
    ],
    "busy-core": lambda: [
        _busy(full=(0, 1)),
        _waiting(full=(0, 0)),
        # All cores have much to do; more of them are full than there are processes.
        _waiting(full=(1, 0), others=80.0),
        _waiting(full=(40, 0)),
        profiled(stop_and_go(2.0, 8.0, _EVEN, even=True)),
        # Hardly ever.
        profiled(*_rarely(full=(1, 0))),
    ],
    "io-wait": lambda: [
        _waiting(waiting=(0.3, 0.1)),
        # As much while the GPUs work: a cache that is written behind their back.
        _waiting(waiting=(6.0, 5.0)),
        _busy(waiting=(0.0, 6.0)),
    ],
    "network-limit": lambda: [
        _busy(gbps=12.0),
        # Nobody knows what the type can.
        _waiting(gbps=23.0),
    ],
    "gpu-memory-pressure": lambda: [
        profiled(sampled(held=90.0)),
        profiled(sampled(odd={("algo-2", 3): (92.0, 97.0)}, even=False)),
    ],
    "unlike-gpu": lambda: [
        profiled(sampled()),
        profiled(sampled(noise=15.0)),
        # A little less, as ranks have different batches.
        profiled(sampled(odd={("algo-2", 5): (85.0, 70.0)})),
        # For a while only.
        profiled(pd.concat([sampled(odd=_SLOW, minutes=(4, 12)), sampled(minutes=(20, 28, 36, 44, 52))])),
        # Too few minutes, and minutes that were read for what they hold.
        profiled(sampled(odd=_SLOW, minutes=(4, 12))),
        profiled(sampled(odd=_SLOW, even=False)),
        # Half of them do other work, as stages and groups of experts do.
        profiled(sampled(odd={("algo-2", gpu): (60.0, 40.0) for gpu in range(4)})),
        profiled(sampled(odd=_SLOW), configuration={"pipeline_parallel_degree": 4, "microbatches": 16}),
        # With two, nobody knows which is at fault.
        profiled(sampled(odd={("algo-2", 1): (48.0, 70.0)}, gpus=2), nodes=nodes_of(2, gpus=2)),
        run(),
    ],
}
