"""How busy were a job's hosts? CloudWatch's five system metrics of each node, as host sums."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pandas as pd

from monitor.fetch.metrics.data import MetricQuery, ask
from monitor.fetch.source import some_of
from monitor.model import METRICS, Gap, Job, Node, RawMetrics
from monitor.model.host_metrics import HOST_METRIC_NAMES, HOST_NAMESPACE, OF_GPUS, devices, host_name

if TYPE_CHECKING:
    from monitor.aws.clients import Clients

NAMESPACE = HOST_NAMESPACE

# CloudWatch keeps one-minute points for 15 days, five-minute points for 63, hourly points for 455, and a period finer
# than the age of the start allows gives no data and no error. The margin is for the clocks and for rounding down.
_PERIODS = ((timedelta(days=15), 60), (timedelta(days=63), 300), (timedelta(days=455), 3600))
_MARGIN = timedelta(minutes=10)
# The last points of a host arrive after the job's end.
_AFTER_END = timedelta(minutes=5)
# A host's first points arrive this long after its start.
_FIRST_POINTS = timedelta(minutes=5)
# Points of the last minutes may still be missing or change: they are asked for again.
_STILL_MOVING = timedelta(minutes=15)


def period_s(start: datetime, now: datetime) -> int | None:
    """The finest period in seconds at which CloudWatch still has points of ``start``; None where it has none."""
    for age, period in _PERIODS:
        if now - start < age - _MARGIN:
            return period
    return None


def raw_frame(rows: Any = ()) -> pd.DataFrame:
    """The frame of RawMetrics: ``timestamp node metric value``, value as CloudWatch sums it over a host."""
    frame = pd.DataFrame(rows, columns=["timestamp", "node", "metric", "value"])
    return frame.astype({"timestamp": "datetime64[ms, UTC]", "node": "str", "metric": "str", "value": "float64"})


def read_metrics(clients: Clients, job: Job, now: datetime, known: RawMetrics | None = None) -> RawMetrics:
    """All points from the job's start to its end or ``now``, in ascending time; what is missing is a gap.

    ``known`` is an earlier answer for the same job: then only what came since is asked for, and the last quarter of
    an hour before it. NoCredentials alone is raised: with it nothing else can be had either.
    """
    start = job.started or job.created
    if not _has_run(job) or start is None:
        return without_metrics("No instance has started training, so there are no metrics.")
    if not job.nodes:
        return without_metrics("AWS does not say which instances this job has, so its metrics cannot be read.")
    period = period_s(start, now)
    if period is None:
        return without_metrics("CloudWatch has deleted the metrics of a job this old: it keeps them for 455 days.")
    kept = known.frame if known and known.period_s == period and not known.gaps else raw_frame()
    if len(kept):
        start = max(start, kept["timestamp"].iloc[-1].to_pydatetime() - _STILL_MOVING)
        kept = kept[kept["timestamp"] < _aligned(start, period)]
    end = min(now, job.ended + _AFTER_END) if job.ended else now
    queries = [_query(job, node, metric, period) for node in job.nodes for metric in METRICS if _has(node, metric)]
    answer = ask(clients, queries, _aligned(start, period), _aligned(end, period, up=True), period)
    frame = raw_frame(pd.concat([kept, answer.rows(queries)], ignore_index=True))
    gaps = tuple(answer.gaps()) if answer.is_troubled or answer.messages else tuple(_missing(job, frame, now))
    return RawMetrics(frame, period, gaps)


def without_metrics(why: str, remedy: str = "") -> RawMetrics:
    """No metrics, and the reason."""
    return RawMetrics(raw_frame(), None, (Gap("metrics", why, remedy),))


def _has_run(job: Job) -> bool:
    statuses = {job.secondary_status, *(transition.status for transition in job.transitions)}
    return job.started is not None or "Training" in statuses


def _has(node: Node, metric: str) -> bool:
    return devices(node, metric) != 0


def _query(job: Job, node: Node, metric: str, period: int) -> MetricQuery:
    host = {"Name": "Host", "Value": host_name(job.name, node.name)}
    which = {"Namespace": NAMESPACE, "MetricName": HOST_METRIC_NAMES[metric], "Dimensions": [host]}
    stat = {"Metric": which, "Period": period, "Stat": "Average"}
    return MetricQuery(f"{metric}_{node.name.replace('-', '_')}", node.name, metric, stat)


def _aligned(moment: datetime, period: int, up: bool = False) -> datetime:
    count = moment.timestamp() / period
    return datetime.fromtimestamp((math.ceil(count) if up else math.floor(count)) * period, UTC)


def _missing(job: Job, frame: pd.DataFrame, now: datetime) -> Iterator[Gap]:
    if frame.empty:
        yield Gap("metrics", "CloudWatch has no metrics for this job.", _why_none(job, now))
        return
    seen = set(frame["node"].unique())
    silent = [node.name for node in job.nodes if node.name not in seen]
    if silent:
        yield Gap("metrics", f"CloudWatch has no metrics for {some_of(silent)}.")
    with_gpu = set(frame.loc[frame["metric"].isin(OF_GPUS), "node"].unique())
    blind = [node.name for node in job.nodes if node.gpus and node.name in seen and node.name not in with_gpu]
    if blind:
        yield Gap(
            "metrics", f"CloudWatch has no GPU metrics for {some_of(blind)}, although the instance type has GPUs."
        )


def _why_none(job: Job, now: datetime) -> str:
    if job.is_running and job.started and now - job.started < _FIRST_POINTS:
        return "They appear a few minutes after training starts."
    if job.training_seconds is not None and job.training_seconds < 120:
        return f"It trained for {job.training_seconds} s, and metrics are written once a minute."
    return "Check that the account and region are the job's own."
