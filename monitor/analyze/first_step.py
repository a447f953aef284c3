"""When did the first step begin, and what came before it?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import pandas as pd

from monitor.analyze.window import training_spans
from monitor.model import Job, Run

# A GPU that is busier than this most of the time is training, whether or not lines tell of it.
AT_WORK_PCT = 50.0
MOSTLY = 0.8


@dataclass(frozen=True, slots=True)
class Beginning:
    """The first Training span up to the beginning of the first step."""

    start: datetime
    first_line: datetime | None
    """When the container first spoke: until then its image was pulled, or it was started. None where no line tells."""
    first_step: datetime | None
    """When it began; None where there is none yet."""

    def seconds(self, now: datetime) -> float:
        """How long the first step has been waited for."""
        return ((self.first_step or now) - self.start).total_seconds()


def beginning(run: Run, journal: pd.DataFrame, now: datetime) -> Beginning | None:
    """How the job came to its first step; None where it never trained, or lines have no times."""
    start = _training_start(run.job, now)
    if start is None:
        return None
    heads = run.events.loc[run.events["kind"] == "first-line", "timestamp"].dropna()
    heads = heads[heads >= start]
    first_line = heads.min().to_pydatetime() if len(heads) else None
    first = _first_step(run.steps, journal)
    if first is not None and first < start:
        return None  # a clock of its own, or another run's lines
    return Beginning(start, first_line, first)


def at_work(metrics: pd.DataFrame, since: datetime, until: datetime) -> bool | None:
    """Whether the GPUs were busy most of the minutes of the span; None of fewer than three minutes."""
    rows = metrics[(metrics["metric"] == "gpu_utilization") & metrics["timestamp"].between(since, until)]
    by_minute = rows.groupby("timestamp")["value_pct"].median()
    return bool((by_minute > AT_WORK_PCT).mean() >= MOSTLY) if len(by_minute) >= 3 else None


def _training_start(job: Job, now: datetime) -> datetime | None:
    pulling = [t.start for t in job.transitions if "ownloading the training image" in t.message]
    spans = [start for start, _ in training_spans(job, now) if start not in pulling]
    return spans[0] if spans else None


def _first_step(steps: pd.DataFrame, journal: pd.DataFrame) -> datetime | None:
    """The first report less the time of the steps it stands for."""
    stamped = steps["timestamp"].dropna() if len(steps) else pd.Series(dtype="datetime64[ms, UTC]")
    if stamped.empty:
        return None
    at: datetime = stamped.min().to_pydatetime()
    took_s = 0.0
    if len(journal) and journal["at"].iloc[0] == stamped.min():
        row = journal.iloc[0]
        usual = journal["steps"].median()
        number = max(1, int(row["step"]))
        covered = 1.0 if pd.isna(usual) else min(float(usual), number)
        own_s = row["step_time_s"] if row["kind"] != "smoothed" else float("nan")
        step_s = own_s if pd.notna(own_s) else journal["wall_s"].median()
        took_s = 0.0 if pd.isna(step_s) else float(step_s) * covered
    return at - timedelta(milliseconds=round(1000 * took_s))
