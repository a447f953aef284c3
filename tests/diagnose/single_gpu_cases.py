"""Runs with samples of single GPUs: which must speak, and which must not."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import numpy as np
import pandas as pd

from monitor.model import ProfilerCoverage, Run, gpus_frame, metrics_frame
from tests.builders import START, nodes_of
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


def profiled(gpus: pd.DataFrame, **changes: object) -> Run:
    """A healthy run with these samples."""
    coverage = ProfilerCoverage(14, 7_000_000, 0.0001, 0, "s3://bucket/case")
    return run(gpus=gpus, profiler=coverage, **changes)  # type: ignore[arg-type]


_SLOW: Mapping[tuple[str, int], Level] = {("algo-2", 5): (48.0, 70.0)}

FIRES: Cases = {
    # The mean over a host is at 73 %.
    "gpu-memory-pressure": lambda: [profiled(sampled(odd={("algo-2", 3): (92.0, 97.0)}))],
    "unlike-gpu": lambda: [
        profiled(sampled(odd=_SLOW)),
        profiled(sampled(odd=_SLOW, since=28)),
        profiled(sampled(odd={("algo-1", 7): (0.0, 0.0)})),
        # Two processes on one GPU, none on another.
        profiled(sampled(odd={("algo-1", 0): (99.9, 99.0), ("algo-1", 1): (0.0, 0.4)})),
        profiled(sampled(busy=70.0, odd={("algo-1", 3): (99.0, 70.0)})),
        profiled(sampled(odd=_SLOW), metric_frame=metrics_frame()),
    ],
}
SILENT: Cases = {
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
