"""How busy are the running jobs? GPU and GPU memory of their last hours, all jobs in a few calls."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pandas as pd

from monitor.fetch.instance_types import lookup
from monitor.fetch.metrics.data import QUERIES_PER_CALL, MetricQuery, ask
from monitor.model import Gap, JobSummary
from monitor.model.host_metrics import HOST_METRIC_NAMES, HOST_NAMESPACE, OF_GPUS, devices, host_name

if TYPE_CHECKING:
    from monitor.aws.clients import Clients

#: What is looked at, and in which steps: enough to see a fall, few enough points for many jobs in one call.
SPAN = timedelta(hours=3)
PERIOD_S = 300
#: All jobs together; further hosts are left out, evenly.
MOST_CALLS = 6


@dataclass(frozen=True, slots=True)
class Glance:
    """One job, percent of one device, mean over its hosts; None is a time without data."""

    gpu_pct: tuple[float | None, ...] = ()
    gpu_memory_pct: tuple[float | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Glances:
    """Name of a job -> how busy it is; a job without GPUs, or whose type is not known, is not in it."""

    jobs: Mapping[str, Glance] = field(default_factory=dict)
    gaps: tuple[Gap, ...] = ()


def read_glances(clients: Clients, jobs: Sequence[JobSummary], now: datetime) -> Glances:
    """The last hours of these jobs. NoCredentials alone is raised."""
    with_gpus = [(job, count) for job in jobs if (count := _gpus(job))]
    if not with_gpus:
        return Glances()
    most = MOST_CALLS * QUERIES_PER_CALL // len(OF_GPUS)
    per_job = max(1, most // len(with_gpus))
    hosts = {job.name: _chosen(job.instance_count or 1, per_job) for job, _ in with_gpus}
    queries = [
        _query(f"{metric}_{place}_{host}", job.name, host, metric)
        for place, (job, _) in enumerate(with_gpus[:most])
        for host in hosts[job.name]
        for metric in OF_GPUS
    ]
    end = datetime.fromtimestamp(math.ceil(now.timestamp() / PERIOD_S) * PERIOD_S, UTC)
    answer = ask(clients, queries, end - SPAN, end, PERIOD_S)
    frame = answer.rows(queries)
    frame["at"] = frame["timestamp"].dt.floor(f"{PERIOD_S}s")
    means = frame.groupby(["node", "metric", "at"])["value"].mean()
    times = pd.date_range(end - SPAN, end, freq=f"{PERIOD_S}s", inclusive="left", unit="ms")
    found = {}
    for job, gpus in with_gpus[:most]:
        gpu, memory = (_series(means, job.name, metric, times, gpus) for metric in OF_GPUS)
        found[job.name] = Glance(gpu, memory)
    return Glances(found, tuple(answer.gaps()))


def _gpus(job: JobSummary) -> int | None:
    """GPUs of each host; None for several types, or where the type is not known: host sums cannot be divided then."""
    known = lookup(job.instance_type) if job.instance_type else None
    return None if known is None else devices(known, "gpu_utilization")


def _chosen(count: int, most: int) -> list[int]:
    """Numbers of hosts from 1, all of them or ``most`` evenly."""
    if count <= most:
        return list(range(1, count + 1))
    return [1 + place * count // most for place in range(most)]


def _query(key: str, job: str, host: int, metric: str) -> MetricQuery:
    dimension = {"Name": "Host", "Value": host_name(job, f"algo-{host}")}
    which = {"Namespace": HOST_NAMESPACE, "MetricName": HOST_METRIC_NAMES[metric], "Dimensions": [dimension]}
    return MetricQuery(key, job, metric, {"Metric": which, "Period": PERIOD_S, "Stat": "Average"})


def _series(means: pd.Series, job: str, metric: str, times: pd.DatetimeIndex, gpus: int) -> tuple[float | None, ...]:
    """From the first value on; before it the job had not begun."""
    try:
        found = means.loc[(job, metric)]
    except KeyError:
        return ()
    values = (found / gpus).clip(0, 100).reindex(times)
    values = values.loc[values.first_valid_index() : values.last_valid_index()]
    return tuple(None if pd.isna(each) else float(each) for each in values)
