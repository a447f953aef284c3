"""What the hosts, and single GPUs in the minutes that were read of a job's profiler, measured that may be judged."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pandas as pd

from monitor.alert.conditions import MEASURES, Threshold
from monitor.alert.track import Track, Tracked, in_order, median_so_far, seconds, steps_done
from monitor.analyze.utilization import LEFT_OUT_AT_END, training_spans, work_window
from monitor.model import Report
from monitor.model.host_metrics import OF_WORK

# Debugger's rule MaxInitializationTime: by then a running job that shows no step has had its time.
_INITIALIZATION = timedelta(minutes=20)
# Points further apart than this have a gap between them.
_GAP_PERIODS = 1.5
# So many minutes make a median that others are compared with.
LEAST_MINUTES = 10


def host_tracks(report: Report, when: Threshold, now: datetime, at_end: bool) -> Tracked:
    """The points of a metric of CloudWatch as of ``now``, one track a node."""
    metric, words = when.metric, MEASURES[when.metric].words
    rows = report.run.metrics[report.run.metrics["metric"] == metric]
    if rows.empty:
        return Tracked(why_none=_why_none(report, metric))
    rows = _judged(rows, report, metric, now, at_end)
    if rows.empty:
        return Tracked(
            why_none=f"No minute of {words} can be judged yet: the newest three are left out, since metrics come late."
        )
    table = rows.sort_values(["node", "timestamp", "value_pct"]).drop_duplicates(["node", "timestamp"])
    table = pd.DataFrame(
        {
            "node": table["node"],
            "begin": seconds(table["timestamp"]),
            "value": table["value_pct"],
            "period": table["period_s"].astype("float64"),
        }
    )
    keys, medians = median_so_far(
        (1000 * table["begin"]).to_numpy("int64"), table["value"].to_numpy("float64"), LEAST_MINUTES
    )
    usual = dict(zip(keys.tolist(), medians.tolist(), strict=True))
    by_steps = when.lasting is not None and when.lasting.steps is not None
    tracks = []
    for node, mine in table.groupby("node", observed=True, sort=False):
        begins, periods = mine["begin"].to_numpy("float64"), mine["period"].to_numpy("float64")
        moments = (1000 * begins).astype("int64")
        done = steps_done(report.run.steps, str(node)) if by_steps else np.empty(0)
        breaks = np.zeros(len(mine), dtype=bool)
        breaks[1:] = np.diff(begins) > _GAP_PERIODS * periods[1:]
        tracks.append(
            Track(
                str(node),
                begins,
                begins + periods,
                mine["value"].to_numpy("float64"),
                np.array([usual[moment] for moment in moments.tolist()]),
                breaks,
                np.searchsorted(done, begins, "right"),
                np.searchsorted(done, begins + periods, "right"),
                moments,
                slack_s=float(periods.max()) / 2,
            )
        )
    return Tracked(in_order(tracks), "%")


def _judged(rows: pd.DataFrame, report: Report, metric: str, now: datetime, at_end: bool) -> pd.DataFrame:
    """The points that lie for the most part in the training, and that neither came too late nor are of the teardown."""
    job = report.job
    ends = rows["timestamp"] + pd.to_timedelta(rows["period_s"].astype("int64"), unit="s")
    half = (ends - rows["timestamp"]) / 2
    inside = pd.Series(False, index=rows.index)
    for start, end in training_spans(job, now):
        inside |= np.minimum(ends, pd.Timestamp(end)) - np.maximum(rows["timestamp"], pd.Timestamp(start)) >= half
    kept = inside & (ends <= now - LEFT_OUT_AT_END)
    # Devices at rest before the first step are initialization, which has findings of its own; how full memory and disk are
    # counts from the beginning.
    begun = _begun(report, now) if metric in OF_WORK else None
    if begun is not None:
        kept &= rows["timestamp"] + half >= begun
    if at_end and job.ended is not None and (kept & (ends <= job.ended - LEFT_OUT_AT_END)).any():
        kept &= ends <= job.ended - LEFT_OUT_AT_END
    return rows[kept]


def _begun(report: Report, now: datetime) -> datetime | None:
    """From when on rest is no longer initialization; None: from the beginning."""
    window = work_window(report.run, now)
    if window is None or window.since != "training start":
        return None if window is None else window.start
    return window.start + _INITIALIZATION if report.job.is_running else None


def _why_none(report: Report, metric: str) -> str:
    gpus = [node.gpus for node in report.job.nodes]
    if metric.startswith("gpu") and gpus and all(count == 0 for count in gpus):
        return "The nodes have no GPUs."
    gaps = [gap for gap in report.run.gaps if gap.what in {"metrics", "normalisation"}]
    if gaps:
        return " ".join(part for part in (gaps[0].why, gaps[0].remedy) if part)
    return f"There are no figures for {MEASURES[metric].words}."


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
        return Tracked(why_none=_why_no_gpu(report))
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


def _why_no_gpu(report: Report) -> str:
    gaps = [gap for gap in report.run.gaps if gap.what == "profiler"]
    if gaps:
        return " ".join(part for part in (gaps[0].why, gaps[0].remedy) if part)
    return "Only a job's profiler tells single GPUs apart, and this job's output of one was not read."
