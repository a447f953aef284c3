"""How was the job set up, and what was measured of it? Its configuration with the figures that predictions start from."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from monitor.analyze.gpu_memory import Fill, memory_peaks
from monitor.analyze.mfu import parameters
from monitor.analyze.single_gpus import fullest
from monitor.diagnose.words.step_readings import came_by
from monitor.model import Run, StepStats
from monitor.predict.setup import Known, Setup, setup_of

MEASURED = "measured"
OF_ONE_GPU = "measured, on the fullest GPU"


def setup_seen(
    run: Run,
    steady: pd.DataFrame,
    stats: StepStats | None,
    refused: Fill | None = None,
    gpus: pd.DataFrame | None = None,
) -> Setup:
    """The setup of the job, with the size of its model as the log tells it, the memory of its fullest node (p95 of one GPU,
    in percent; of its fullest GPU where ``gpus``, the Gpus frame of steady work, tells) and its median step time. What was
    not measured is left out.

    Of a job that a GPU had no memory for (``refused``), the memory is what it would have taken: 100 % at the least.
    """
    setup = setup_of(run.job)
    seen: dict[str, Known] = {}
    if setup.known("parameters_billion") is None and (count := parameters(run.job, run.events)) is not None:
        seen["parameters_billion"] = Known(count / 1e9, "the model's size in the log, or its layers and width")
    if refused is not None and not refused.shared and not refused.fragmented:
        seen["gpu_memory_utilization"] = Known(refused.needed_pct or 100.0, "what the GPU refused")
        if setup.known("gpu_memory_gib") is None and refused.capacity:
            seen["gpu_memory_gib"] = Known(refused.capacity, "what the GPU refused")
    elif (used := _fullest_pct(run, steady)) is not None:
        one = max((each.pct for each in fullest(gpus).values()), default=0.0) if gpus is not None else 0.0
        seen["gpu_memory_utilization"] = Known(max(used, one), MEASURED if used >= one else OF_ONE_GPU)
    if stats is not None and stats.median_s is not None:
        came = came_by(run.logs.readings)
        seen["step_time_s"] = Known(stats.median_s, f"{MEASURED}, {came}" if came else MEASURED, came_by=came)
    return replace(setup, values={**setup.values, **seen})


def _fullest_pct(run: Run, steady: pd.DataFrame) -> float | None:
    held = steady[steady["metric"] == "gpu_memory_utilization"]
    if len(held):
        return float(held.groupby("node", observed=True)["value_pct"].quantile(0.95).max())
    shares = [
        100 * peak.peak_gib / peak.capacity_gib for peak in memory_peaks(run.steps, run.events) if peak.capacity_gib
    ]
    return max(shares, default=None)
