"""What did single GPUs do in the minutes that were read of a job's profiler? One track a GPU, under ``algo-3/gpu5``."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pandas as pd

from monitor.alert.conditions import Threshold
from monitor.alert.host_series import LEAST_MINUTES
from monitor.alert.track import Track, median_so_far
from monitor.alert.tracked import Tracked, seconds, steps_done
from monitor.analyze.utilization import training_spans, work_window
from monitor.model import Report

_COLUMNS = {"gpu_utilization": "utilization_pct", "gpu_memory_utilization": "memory_pct"}
_MINUTE_S = 60.0
# Minutes further apart than this, in the usual distance of those that were read, have a gap between them.
_GAP = 1.5


def gpu_tracks(report: Report, when: Threshold, now: datetime) -> Tracked:
    """The means of a GPU in the minutes that were read, as of ``now``.

    A profiler's output is read in part: minutes that are spread evenly stand for what lies between them.
    """
    rows = report.run.gpus
    if rows.empty or when.gpu is None:
        return Tracked(why_none=_why_none(report))
    node, number = when.gpu
    rows = rows[(rows["node"] == node) & (rows["gpu"] == number) & (rows["timestamp"] <= now)]
    rows = _at_work(rows, report, when.metric, now)
    if rows["even"].any():
        rows = rows[rows["even"]]
    value = rows.groupby(rows["timestamp"].dt.floor("min"))[_COLUMNS[when.metric]].mean().dropna()
    if value.empty:
        return Tracked((), "%")
    begins = seconds(value.index.to_series()).to_numpy("float64")
    moments = (1000 * begins).astype("int64")
    values = value.to_numpy("float64")
    keys, medians = median_so_far(moments, values, LEAST_MINUTES)
    usual = dict(zip(keys.tolist(), medians.tolist(), strict=True))
    apart = np.diff(begins)
    breaks = np.zeros(len(begins), dtype=bool)
    breaks[1:] = apart > _GAP * (float(np.median(apart)) if len(apart) else _MINUTE_S)
    by_steps = when.lasting is not None and when.lasting.steps is not None
    done = steps_done(report.run.steps, node) if by_steps else np.empty(0)
    return Tracked(
        (
            Track(
                when.scope,
                begins,
                begins + _MINUTE_S,
                values,
                np.array([usual[moment] for moment in moments.tolist()]),
                breaks,
                np.searchsorted(done, begins, "right"),
                np.searchsorted(done, begins + _MINUTE_S, "right"),
                moments,
                slack_s=_MINUTE_S / 2,
            ),
        ),
        "%",
    )


def _at_work(rows: pd.DataFrame, report: Report, metric: str, now: datetime) -> pd.DataFrame:
    """The samples of the training; of how busy a GPU is, those from the first step on."""
    window = work_window(report.run, now)
    if metric == "gpu_utilization" and window is not None:
        rows = rows[rows["timestamp"] >= window.start]
    inside = pd.Series(False, index=rows.index)
    for start, end in training_spans(report.job, now):
        inside |= (rows["timestamp"] >= start) & (rows["timestamp"] < end)
    return rows[inside]


def _why_none(report: Report) -> str:
    gaps = [gap for gap in report.run.gaps if gap.what == "profiler"]
    if gaps:
        return " ".join(part for part in (gaps[0].why, gaps[0].remedy) if part)
    return "Only a job's profiler tells single GPUs apart, and this job's output of one was not read."
