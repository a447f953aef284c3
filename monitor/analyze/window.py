"""When the job was at work: the minutes that utilization is judged over."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

import pandas as pd

from monitor.model import Job, Run

# CloudWatch's newest minutes are incomplete (its delay is not documented), and a job's last ones are its teardown.
LEFT_OUT_AT_END = timedelta(minutes=3)
# A node whose GPU shows this much has begun; tracing and allocation come before.
BUSY_PCT = 5.0


@dataclass(frozen=True, slots=True)
class Window:
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


def work_window(run: Run, now: datetime) -> Window | None:
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
    return Window(start, end, since) if end > start else None  # type: ignore[arg-type]


def in_window(metrics: pd.DataFrame, window: Window | None, run: Run, now: datetime) -> pd.DataFrame:
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
    return None if pd.isna(first) else first.to_pydatetime()


def _first_busy(metrics: pd.DataFrame) -> datetime | None:
    busy = metrics[(metrics["metric"] == "gpu_utilization") & (metrics["value_pct"] >= BUSY_PCT)]
    return None if busy.empty else busy["timestamp"].min().to_pydatetime()
