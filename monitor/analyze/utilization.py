"""How busy the devices were: raw host sums to percent of one device, the minutes that utilization is judged over, its
distribution by node, idle stretches and dips.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

import numpy as np
import pandas as pd

from monitor.analyze.checkpoints import MOST_COVERED, Span, share_covered
from monitor.model import METRICS, Distribution, Gap, Job, Node, RawMetrics, Run, metrics_frame, moment_of
from monitor.model.host_metrics import OF_GPUS, OF_WORK, devices


def normalised(raw: RawMetrics, nodes: tuple[Node, ...]) -> tuple[pd.DataFrame, tuple[Gap, ...]]:
    """The Metrics frame (percent of ONE device), each node divided by its own counts, and what had to be left out.

    A node whose counts nobody knows gets no figure for the metrics that need them: a wrong divisor is worse than none.
    """
    frame = raw.frame
    if frame.empty or raw.period_s is None:
        return metrics_frame(), ()
    divisor = pd.Series(1.0, index=frame.index)
    for metric in OF_WORK:
        rows = frame["metric"] == metric
        divisor[rows] = (
            frame.loc[rows, "node"].map({node.name: devices(node, metric) for node in nodes}).astype("float64")
        )
    known = divisor > 0
    out = frame[known].assign(value_pct=(frame["value"] / divisor)[known].clip(lower=0.0), period_s=raw.period_s)
    unknown = frame[~known & ~(frame["metric"].isin(OF_GPUS) & divisor.eq(0))]
    gaps: tuple[Gap, ...] = ()
    if len(unknown):
        gaps = (_not_normalised([node for node in nodes if node.name in set(unknown["node"])]),)
    return metrics_frame(out), gaps


def _not_normalised(nodes: Sequence[Node]) -> Gap:
    """Why sums over the devices of these hosts stay sums."""
    names = [node.name for node in nodes]
    which = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    types = sorted({node.instance_type for node in nodes if node.instance_type})
    why = f"how many GPUs and vCPUs {' and '.join(types)} {'has' if len(types) == 1 else 'have'} is not known"
    remedy = "Allow ec2:DescribeInstanceTypes, or have the script print SM_NUM_GPUS and SM_NUM_CPUS."
    if not types:
        why = "which instance group each of these nodes belongs to is not known"
        remedy = "SageMaker's toolkit logs it at the start (current_instance_type); a script can print it too."
    return Gap(
        "normalisation",
        f"No GPU and CPU percentages for {which}: CloudWatch reports sums over a host's devices, and {why}.",
        remedy,
        transient=True,
    )


def distribution(values: pd.Series) -> Distribution | None:
    """Mean, p5, p50 and p95 of a column of percent values; None of no values."""
    # A review asks for some of each node; by way of pandas that takes ten times as long.
    known = values.to_numpy("float64")
    known = known[~np.isnan(known)]
    if not len(known):
        return None
    p5, p50, p95 = np.quantile(known, [0.05, 0.5, 0.95])
    return Distribution(float(known.mean()), float(p5), float(p50), float(p95))


def by_node(metrics: pd.DataFrame) -> dict[str, dict[str, Distribution]]:
    """node -> metric -> distribution, of the rows given (the window of work)."""
    out: dict[str, dict[str, Distribution]] = {}
    for (node, metric), rows in metrics.groupby(["node", "metric"], observed=True):
        found = distribution(rows["value_pct"])
        if found is not None:
            out.setdefault(str(node), {})[str(metric)] = found
    return out


def pooled(metrics: pd.DataFrame) -> dict[str, Distribution]:
    """metric -> distribution over all nodes and minutes together, of the rows given."""
    found = {name: distribution(metrics.loc[metrics["metric"] == name, "value_pct"]) for name in METRICS}
    return {name: value for name, value in found.items() if value is not None}


# CloudWatch's newest minutes are incomplete (its delay is not documented), and a job's last ones are its teardown.
LEFT_OUT_AT_END = timedelta(minutes=3)
# A node whose GPU shows this much has begun; tracing and allocation come before.
BUSY_PCT = 5.0


@dataclass(frozen=True, slots=True)
class TrainingWindow:
    """From the first step to shortly before the end. ``since`` says how the beginning was found."""

    start: datetime
    end: datetime
    since: Literal["first step", "first busy minute", "training start"]

    @property
    def minutes(self) -> float:
        return max(0.0, (self.end - self.start).total_seconds() / 60)


def training_spans(job: Job, now: datetime) -> tuple[tuple[datetime, datetime], ...]:
    """The spans in which the job's secondary status was Training; the current one ends ``now``."""
    spans = [(t.start, t.end or job.ended or now) for t in job.transitions if t.status == "Training"]
    if not spans and job.started is not None:
        spans = [(job.started, job.ended or now)]
    return tuple((start, end) for start, end in spans if end > start)


def work_window(run: Run, now: datetime) -> TrainingWindow | None:
    """The window of work, or None where the job never trained or has no minute left to judge."""
    spans = training_spans(run.job, now)
    if not spans:
        return None
    end = spans[-1][1] - LEFT_OUT_AT_END
    first, since = _first_step(run.steps) if run.logs.complete else None, "first step"
    if first is None or first >= spans[-1][1]:
        first, since = _first_busy(run.metrics), "first busy minute"
    if first is None:
        first, since = spans[0][0], "training start"
    # The minute that holds the first step began before it.
    start = max(spans[0][0], first)
    return TrainingWindow(start, end, since) if end > start else None  # type: ignore[arg-type]


def in_window(metrics: pd.DataFrame, window: TrainingWindow | None, run: Run, now: datetime) -> pd.DataFrame:
    """The rows of the Metrics frame whose whole period lies in the window and in a Training span."""
    if window is None or metrics.empty:
        return metrics.iloc[:0]
    ends = metrics["timestamp"] + pd.to_timedelta(metrics["period_s"].astype("int64"), unit="s")
    keep = (metrics["timestamp"] >= window.start) & (ends <= window.end)
    inside = pd.Series(False, index=metrics.index)
    for start, end in training_spans(run.job, now):
        inside |= (metrics["timestamp"] >= start) & (ends <= end)
    return metrics[keep & inside]


def _first_step(steps: pd.DataFrame) -> datetime | None:
    first = steps["timestamp"].min() if len(steps) else pd.NaT
    return moment_of(first)


def _first_busy(metrics: pd.DataFrame) -> datetime | None:
    busy = metrics[(metrics["metric"] == "gpu_utilization") & (metrics["value_pct"] >= BUSY_PCT)]
    return None if busy.empty else busy["timestamp"].min().to_pydatetime()


IDLE_PCT = 5.0
LOW_PCT = 10.0
BUSY_DEVICE_PCT = 70.0
# A 5th percentile needs a point below it; a node that dips does so again and again, to the end.
FEWEST_POINTS = 20
FEWEST_DIPS = 3
# Space that grows in nearly all dips, and hardly elsewhere, is what is written in them: checkpoints without a line.
_WRITTEN_SHARE = 0.8
_WRITTEN_POINTS = 0.05


@dataclass(frozen=True, slots=True)
class Stretch:
    """Idle periods in a row on one node."""

    node: str
    start: datetime
    end: datetime
    minutes: float
    """Of the periods that were seen."""


@dataclass(frozen=True, slots=True)
class Dips:
    """A node that is busy (p95) and again and again is not (p5)."""

    node: str
    dips: int
    minutes: float
    """In all dips together."""
    p5: float
    p50: float
    p95: float
    cpu_in_dips: float | None
    """Median CPU utilization in them."""
    cpu_else: float | None


def longest_idle(metrics: pd.DataFrame, spans: Sequence[Span]) -> tuple[Stretch, ...]:
    """The longest stretch of each node whose GPUs are below 5 % and outside of ``spans``; nodes without one are left out.

    One missing point does not break a stretch, and does not count.
    """
    rows = metrics[metrics["metric"] == "gpu_utilization"]
    rows = rows.assign(idle=(rows["value_pct"] < IDLE_PCT) & (share_covered(rows, spans) <= MOST_COVERED))
    found = []
    rested = rows.loc[rows["idle"], "node"].unique()
    for name, mine in rows[rows["node"].isin(rested)].groupby("node", observed=True):
        mine = mine.sort_values("timestamp")
        period = pd.Timedelta(seconds=int(mine["period_s"].iloc[0]))
        idle = mine["idle"]
        begins = ~idle | (mine["timestamp"].diff() > 2 * period)
        stretches = mine[idle].groupby(begins.cumsum()[idle])["timestamp"].agg(["min", "max", "count"])
        if stretches.empty:
            continue
        longest = stretches.loc[stretches["count"].idxmax()]
        end = (longest["max"] + period).to_pydatetime()
        minutes = float(longest["count"] * period.total_seconds() / 60)
        found.append(Stretch(str(name), longest["min"].to_pydatetime(), end, minutes))
    return tuple(found)


def dips(metrics: pd.DataFrame) -> tuple[Dips, ...]:
    """The nodes whose GPU utilization has p95 at 70 % or more and p5 below 10 %, in three dips or more up to the second
    half of the time. Dips in which the disk fills are checkpoints, and none."""
    found = []
    busy = _busy_and_not(metrics)
    for name, mine in metrics[metrics["node"].isin(busy)].groupby("node", observed=True):
        table = mine.pivot_table(index="timestamp", columns="metric", values="value_pct")
        if "gpu_utilization" not in table:
            continue
        gpu = table["gpu_utilization"].dropna()
        if len(gpu) < FEWEST_POINTS:
            continue
        p5, p50, p95 = (float(value) for value in gpu.quantile([0.05, 0.5, 0.95]))
        low = gpu < LOW_PCT
        entered = low & ~low.shift(fill_value=False)
        half = gpu.index[0] + (gpu.index[-1] - gpu.index[0]) / 2
        if p95 < BUSY_DEVICE_PCT or p5 >= LOW_PCT or entered.sum() < FEWEST_DIPS or not low[gpu.index > half].any():
            continue
        table = table.loc[gpu.index]
        if _written_in(table, low):
            continue
        cpu = table["cpu_utilization"] if "cpu_utilization" in table else pd.Series(np.nan, index=table.index)
        minutes = float(low.sum() * int(mine["period_s"].iloc[0]) / 60)
        found.append(Dips(str(name), int(entered.sum()), minutes, p5, p50, p95, _median(cpu[low]), _median(cpu[~low])))
    return tuple(found)


def _busy_and_not(metrics: pd.DataFrame) -> list[str]:
    """The nodes whose GPUs were seen both busy and low: tables of the others need not be made."""
    ends = (
        metrics[metrics["metric"] == "gpu_utilization"].groupby("node", observed=True)["value_pct"].agg(["min", "max"])
    )
    return [str(name) for name in ends.index[(ends["min"] < LOW_PCT) & (ends["max"] >= BUSY_DEVICE_PCT)]]


def _written_in(table: pd.DataFrame, low: pd.Series) -> bool:
    if "disk_utilization" not in table:
        return False
    grown = table["disk_utilization"].diff().clip(lower=0.0).fillna(0.0)
    # What is written in a minute may show in the next.
    near = low | low.shift(fill_value=False)
    total = float(grown.sum())
    number = (near & ~near.shift(fill_value=False)).cumsum()
    by_dip = grown[near].groupby(number[near]).sum()
    return total > 0 and grown[near].sum() >= _WRITTEN_SHARE * total and (by_dip >= _WRITTEN_POINTS).mean() >= 0.5


def _median(values: pd.Series) -> float | None:
    median = values.median()
    return None if pd.isna(median) else float(median)
