"""When did the first step begin and end, and what came before it?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import pandas as pd

from monitor.analyze.journal import usual_step_s
from monitor.analyze.utilization import training_spans
from monitor.model import Job, Run

# A GPU that is busier than this most of the time is training, whether or not lines tell of it.
AT_WORK_PCT = 50.0
MOSTLY = 0.8
# Lines of one block have nearly one time.
_BLOCK = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Beginning:
    """The first Training span up to the end of the first step."""

    start: datetime
    first_line: datetime | None
    """When the container first spoke: until then its image was pulled, or it was started. None where no line tells."""
    first_step: datetime | None
    """When it ended, loading, tracing and compiling within it; None where none has ended yet."""
    began: datetime | None = None
    """When that step itself began, by the time that it prints."""
    usual_s: float | None = None
    """What a step of this job usually takes."""
    sure: bool = True
    """False where the first report stands for many steps, or its line may have come late."""

    def seconds(self, now: datetime) -> float:
        """How long the first step has been waited for."""
        return ((self.first_step or now) - self.start).total_seconds()

    @property
    def step_s(self) -> float:
        """What the first step itself took; 0 where that is not known."""
        return 0.0 if self.began is None or self.first_step is None else (self.first_step - self.began).total_seconds()


def beginning(run: Run, journal: pd.DataFrame, now: datetime) -> Beginning | None:
    """How the job came to its first step; None where it never trained, or lines have no times."""
    start = _training_start(run.job, now)
    if start is None:
        return None
    heads = run.events.loc[run.events["kind"] == "first-line", "timestamp"].dropna()
    heads = heads[heads >= start]
    first_line = heads.min().to_pydatetime() if len(heads) else None
    first = _first_report(run.steps)
    if first is None:
        return Beginning(start, first_line, None)
    if first < start:
        return None  # a clock of its own, or another run's lines
    if journal.empty or pd.isna(journal["at"].iloc[0]):
        return Beginning(start, first_line, first, sure=False)
    usual_s = usual_step_s(journal)
    # Hosts' clocks differ: the first line may be another's than the one that is followed.
    at = min(first, journal["at"].iloc[0].to_pydatetime())
    count = _covered(journal)
    ended = max(start, at - timedelta(seconds=(count - 1) * (usual_s or 0.0)))
    began = max(start, at - timedelta(seconds=_own_s(journal, count, usual_s)))
    alone = len(journal) > 1 and bool(journal["wall_s"].notna().any()) and float(journal["steps"].median()) == 1.0
    sure = alone and bool(pd.notna(journal["step_time_s"].iloc[0]))
    return Beginning(start, first_line, max(ended, began), began, usual_s, sure)


def at_work(metrics: pd.DataFrame, since: datetime, until: datetime) -> bool | None:
    """Whether the GPUs were busy most of the minutes of the span; None of fewer than three minutes."""
    rows = metrics[(metrics["metric"] == "gpu_utilization") & metrics["timestamp"].between(since, until)]
    by_minute = rows.groupby("timestamp")["value_pct"].median()
    return bool((by_minute > AT_WORK_PCT).mean() >= MOSTLY) if len(by_minute) >= 3 else None


def working_since(metrics: pd.DataFrame, until: datetime) -> datetime | None:
    """Since when the GPUs have been busy without a break up to ``until``; None where they were not, just before it."""
    rows = metrics[(metrics["metric"] == "gpu_utilization") & (metrics["timestamp"] < until - timedelta(minutes=1))]
    by_minute = rows.groupby("timestamp")["value_pct"].median()
    if by_minute.empty or by_minute.index[-1] < until - timedelta(minutes=4):
        return None
    idle = by_minute.index[by_minute <= AT_WORK_PCT]
    busy = by_minute.index[by_minute.index > idle[-1]] if len(idle) else by_minute.index
    return busy[0].to_pydatetime() if len(busy) else None


def _training_start(job: Job, now: datetime) -> datetime | None:
    pulling = [t.start for t in job.transitions if "ownloading the training image" in t.message]
    spans = [start for start, _ in training_spans(job, now) if start not in pulling]
    return spans[0] if spans else None


def _first_report(steps: pd.DataFrame) -> datetime | None:
    stamped = steps["timestamp"].dropna() if len(steps) else pd.Series(dtype="datetime64[ms, UTC]")
    return None if stamped.empty else stamped.min().to_pydatetime()


def _covered(journal: pd.DataFrame) -> float:
    """How many steps the first report stands for; where lines come in blocks, those of the first block."""
    usual = journal["steps"].median()
    steps = 1.0 if pd.isna(usual) else min(float(usual), max(1.0, float(journal["step"].iloc[0])))
    if journal["wall_s"].isna().all():
        block = journal["at"] <= journal["at"].iloc[0] + _BLOCK
        steps += float(journal.loc[block, "steps"].fillna(0.0).sum())
    return steps


def _own_s(journal: pd.DataFrame, count: float, usual_s: float | None) -> float:
    """The time of these steps by what the first report prints, which a smoothed time does not tell."""
    printed = journal["step_time_s"].iloc[0] if journal["kind"].iloc[0] != "smoothed" else float("nan")
    return count * float(printed if pd.notna(printed) else usual_s or 0.0)
