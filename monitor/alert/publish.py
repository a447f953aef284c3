"""Step times as metrics of CloudWatch's own: then its alarms and dashboards can use them, also while this program rests.

Namespace ``Trainwatch``; ``StepTime`` (seconds, a statistic set a minute) with the dimensions ``TrainingJobName`` and
``Host``, and over all hosts with ``TrainingJobName`` alone; ``SecondsSinceLastStep`` of the job as of each look.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pandas as pd

from monitor.alert.ledger import Ledger
from monitor.model import Report

if TYPE_CHECKING:
    from monitor.aws.clients import Clients

NAMESPACE = "Trainwatch"
STEP_TIME, SILENCE = "StepTime", "SecondsSinceLastStep"
#: The dimension that names the job.
JOB = "TrainingJobName"
# PutMetricData takes as many at once.
_AT_ONCE = 1000
# Lines of the last minutes may still come; what is older than this is history, not worth an alarm.
_SETTLED, _HISTORY = timedelta(minutes=2), timedelta(hours=3)


def publish(clients: Clients, ledger: Ledger, report: Report, now: datetime) -> int:
    """Sends the minutes that were not sent before; how many figures that were. Errors of ``monitor.errors``."""
    mark = f"published {report.job.arn or report.job.name}"
    known = ledger.mark(mark)
    after = now - _HISTORY if known is None else datetime.fromtimestamp(known, UTC)
    until = (now - _SETTLED).replace(second=0, microsecond=0)
    figures = [*step_times(report, after, until), *silence(report, now)]
    for place in range(0, len(figures), _AT_ONCE):
        clients.call("cloudwatch", "put_metric_data", Namespace=NAMESPACE, MetricData=figures[place : place + _AT_ONCE])
    # A process that dies before this sends a minute twice: its mean stays the same.
    ledger.set_mark(mark, max(until.timestamp(), known or 0.0))
    return len(figures)


def step_times(report: Report, after: datetime, until: datetime) -> Iterator[dict[str, Any]]:
    """One figure for each host and minute with steps in it, and one for the job; from ``after`` to before ``until``."""
    rows = report.run.steps
    rows = rows[
        rows["step_time_s"].notna() & ~rows["warm_up"] & (rows["timestamp"] >= after) & (rows["timestamp"] < until)
    ]
    rows = rows.assign(minute=rows["timestamp"].dt.floor("min"))
    yield from _sets(report, rows, ["minute", "node"])
    yield from _sets(report, rows, ["minute"])


def silence(report: Report, now: datetime) -> Sequence[dict[str, Any]]:
    """How long no step was reported, in a running job that reported one."""
    last = report.run.steps["timestamp"].max() if len(report.run.steps) else pd.NaT
    if pd.isna(last) or not report.job.is_running:
        return ()
    seconds = max(0.0, (now - last.to_pydatetime()).total_seconds())
    return ({**_about(report, SILENCE, now), "Value": round(seconds, 3)},)


def _sets(report: Report, rows: pd.DataFrame, by: list[str]) -> Iterator[dict[str, Any]]:
    figures = rows.groupby(by, observed=True)["step_time_s"].agg(["count", "sum", "min", "max"])
    for place, row in figures.iterrows():
        minute, node = place if len(by) == 2 else (place, "")
        if len(by) == 2 and not node:
            continue
        yield {
            **_about(report, STEP_TIME, minute.to_pydatetime(), str(node)),
            "StatisticValues": {
                "SampleCount": float(row["count"]),
                "Sum": float(row["sum"]),
                "Minimum": float(row["min"]),
                "Maximum": float(row["max"]),
            },
        }


def _about(report: Report, name: str, at: datetime, node: str = "") -> dict[str, Any]:
    dimensions = [{"Name": JOB, "Value": report.job.name}]
    if node:
        dimensions.append({"Name": "Host", "Value": f"{report.job.name}/{node}"})
    return {"MetricName": name, "Dimensions": dimensions, "Timestamp": at, "Unit": "Seconds"}
