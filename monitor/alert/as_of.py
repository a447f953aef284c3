"""What was known of a job at an earlier moment? Its run, cut there, as if it were still going on."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pandas as pd

from monitor.analyze.utilization import LEFT_OUT_AT_END
from monitor.model import Job, Run

_MINUTE = pd.Timedelta(minutes=1)


def as_of(run: Run, at: datetime) -> Run:
    """The run of a job that trained at ``at``. Which lines were neither step nor event by then is not known."""
    steps = run.steps[~(run.steps["timestamp"] > at)]
    events = run.events[~(run.events["timestamp"] > at)]
    # Of the newest minutes nothing is judged anyway.
    ends = run.metrics["timestamp"] + pd.to_timedelta(run.metrics["period_s"].astype("int64"), unit="s")
    metrics = run.metrics[ends <= at - LEFT_OUT_AT_END / 3]
    last = max(
        (frame["timestamp"].max() for frame in (steps, events) if frame["timestamp"].notna().any()), default=None
    )
    seen = None if last is None else last.to_pydatetime()
    logs = replace(run.logs, last_line_at=seen) if run.logs.last_line_at is not None else run.logs
    return replace(
        run,
        job=_job(run.job, at),
        steps=steps.reset_index(drop=True),
        events=events.reset_index(drop=True),
        metrics=metrics.reset_index(drop=True),
        gpus=_written(run.gpus, at),
        hosts=_written(run.hosts, at),
        logs=logs,
    )


def _written(samples: pd.DataFrame, at: datetime) -> pd.DataFrame:
    """The samples of the minutes that a profiler had written: an object appears at the end of its minute."""
    return samples[samples["timestamp"].dt.floor("min") + _MINUTE <= at].reset_index(drop=True)


def _job(job: Job, at: datetime) -> Job:
    if job.ended is not None and job.ended <= at:
        return job
    begun = tuple(
        replace(entry, end=entry.end if entry.end is not None and entry.end <= at else None)
        for entry in job.transitions
        if entry.start <= at
    )
    return replace(
        job,
        status="InProgress",
        secondary_status=begun[-1].status if begun else "Training",
        ended=None,
        transitions=begun,
        training_seconds=None,
        billable_seconds=None,
        failure_reason=None,
    )
