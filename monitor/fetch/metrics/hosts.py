"""How busy a job's hosts were. CloudWatch's five system metrics of each node, as host sums; of running jobs a glance at the last
hours; GetMetricData in calls of the right size, all pages, merged by query."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from monitor.aws.calls import Pagination, side_by_side
from monitor.errors import NoCredentials, TrainwatchError
from monitor.fetch.instance_types import lookup
from monitor.fetch.source import gap_of, some_of
from monitor.model import METRICS, Gap, Job, JobSummary, Node, RawMetrics
from monitor.model.host_metrics import HOST_METRIC_NAMES, HOST_NAMESPACE, OF_GPUS, devices, host_name

if TYPE_CHECKING:
    from monitor.aws.clients import Clients

# GetMetricData's limits: metrics of one call, points of one page.
QUERIES_PER_CALL = 500
POINTS_PER_PAGE = 100_800
_SIDE_BY_SIDE = 4
# A page that holds a damaged series is asked for so often before the series is left out.
_TRIES = 3
# Beside CloudWatch's own words for how a series was answered.
_DAMAGED = "Damaged"


@dataclass(frozen=True, slots=True)
class MetricQuery:
    """One metric of one host; ``key`` is its Id in the call."""

    key: str
    node: str
    metric: str
    """This program's name of it."""
    stat: dict[str, Any]
    """CloudWatch's MetricStat."""


@dataclass(slots=True)
class MetricAnswer:
    """What came back so far, and what went wrong."""

    times_ms: dict[str, list[np.ndarray]] = field(default_factory=dict)
    values: dict[str, list[np.ndarray]] = field(default_factory=dict)
    statuses: dict[str, str] = field(default_factory=dict)
    messages: dict[str, None] = field(default_factory=dict)
    errors: list[TrainwatchError] = field(default_factory=list)

    def add(self, page: dict[str, Any]) -> None:
        """Appends one page's points to what earlier pages gave of the same query."""
        for result in _results(page):
            key = result["Id"]
            if _is_damaged(result):
                self.statuses[key] = _DAMAGED
                continue
            times = np.fromiter((moment.timestamp() * 1000 for moment in result.get("Timestamps", ())), float)
            self.times_ms.setdefault(key, []).append(times)
            self.values.setdefault(key, []).append(np.asarray(result.get("Values", ()), float))
            # A page that has a successor says PartialData: the last word counts.
            if self.statuses.get(key) != _DAMAGED:
                self.statuses[key] = result.get("StatusCode", "Complete")
        for message in page.get("Messages", ()):
            self.messages[f"{message.get('Code', '')}: {message.get('Value', '')}"] = None

    def rows(self, queries: Sequence[MetricQuery]) -> pd.DataFrame:
        """``timestamp node metric value`` in ascending time."""
        times = [np.concatenate(self.times_ms.get(query.key) or [np.empty(0)]) for query in queries]
        values = [np.concatenate(self.values.get(query.key) or [np.empty(0)]) for query in queries]
        lengths = [len(each) for each in times]
        all_times = np.concatenate([np.empty(0), *times]).round().astype("datetime64[ms]")
        frame = pd.DataFrame(
            {
                "timestamp": pd.Series(all_times).dt.tz_localize("UTC"),
                "node": np.repeat(np.array([query.node for query in queries], dtype=object), lengths),
                "metric": np.repeat(np.array([query.metric for query in queries], dtype=object), lengths),
                "value": np.concatenate([np.empty(0), *values]),
            }
        )
        return frame.sort_values("timestamp", kind="stable", ignore_index=True)

    def gaps(self) -> Iterator[Gap]:
        """Refusals and series that CloudWatch gave in part, each said once."""
        for error in {str(error): error for error in self.errors}.values():
            yield gap_of("metrics", error)
        counts = Counter(self.statuses.values())
        if counts["Forbidden"]:
            yield Gap(
                "metrics",
                f"AWS does not allow cloudwatch:GetMetricData on {counts['Forbidden']} metric series.",
                "Have cloudwatch:GetMetricData allowed in the IAM policy of that user or role.",
                transient=True,
                action="cloudwatch:GetMetricData",
            )
        broken = counts["InternalError"] + counts["PartialData"]
        if broken:
            of_all = f"{broken} of {len(self.statuses)}"
            why = f"CloudWatch returned {of_all} metric series only in part."
            yield Gap("metrics", why, "Try again in a few minutes.", transient=True)
        if counts[_DAMAGED]:
            of_all = f"{counts[_DAMAGED]} of {len(self.statuses)}"
            why = f"CloudWatch does not answer like AWS: of {of_all} metric series, times and values do not fit."
            yield Gap("metrics", why, "Try again in a few minutes.", transient=True)
        for message in self.messages:
            yield Gap("metrics", f"CloudWatch says {message}.", transient=True)

    @property
    def is_troubled(self) -> bool:
        """Whether points may be missing that CloudWatch has."""
        return bool(self.errors) or any(status != "Complete" for status in self.statuses.values())


def read_points(
    clients: Clients, queries: Sequence[MetricQuery], start: datetime, end: datetime, period_s: int
) -> MetricAnswer:
    """All points in [start, end). What fails in part is in the answer; NoCredentials alone is raised."""
    # Every page is billed for all its metrics again, so a call asks for no more than one page can hold.
    points = max(1, math.ceil((end - start).total_seconds() / period_s))
    size = max(1, min(QUERIES_PER_CALL, POINTS_PER_PAGE // points))
    calls = [queries[at : at + size] for at in range(0, len(queries), size)]
    answer = MetricAnswer()
    for part in side_by_side(lambda batch: _one_call(clients, batch, start, end), calls, _SIDE_BY_SIDE):
        for page in part:
            if isinstance(page, TrainwatchError):
                answer.errors.append(page)
            else:
                answer.add(page)
    return answer


def _whole(clients: Clients, wanted: dict[str, Any]) -> dict[str, Any]:
    """The page; again where a series of it is damaged, and after some tries as it is."""
    page: dict[str, Any] = {}
    for _ in range(_TRIES):
        page = clients.call("cloudwatch", "get_metric_data", **wanted)
        if not any(map(_is_damaged, _results(page))):
            break
    return page


def _results(page: dict[str, Any]) -> Sequence[dict[str, Any]]:
    rows: Sequence[dict[str, Any]] = page.get("MetricDataResults", ())
    return rows


def _is_damaged(result: dict[str, Any]) -> bool:
    """CloudWatch takes no NaN from anybody, so it gives none; and each value has its time."""
    values = result.get("Values", ())
    return len(values) != len(result.get("Timestamps", ())) or not all(map(math.isfinite, values))


def _one_call(
    clients: Clients, batch: Sequence[MetricQuery], start: datetime, end: datetime
) -> list[dict[str, Any] | TrainwatchError]:
    """The pages of one call, and at their end the error that stopped it, if one did."""
    pages: list[dict[str, Any] | TrainwatchError] = []
    wanted = {
        "MetricDataQueries": [{"Id": query.key, "MetricStat": query.stat} for query in batch],
        "StartTime": start,
        "EndTime": end,
        "ScanBy": "TimestampAscending",
    }
    token: str | None = None
    onward = Pagination("cloudwatch:GetMetricData")
    try:
        while True:
            page = _whole(clients, {**wanted, **({"NextToken": token} if token else {})})
            pages.append(page)
            token = onward.after(page.get("NextToken"), sum(len(row.get("Values", ())) for row in _results(page)))
            if token is None:
                return pages
    except NoCredentials:
        raise
    except TrainwatchError as error:
        return [*pages, error]


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
    answer = read_points(clients, queries, _aligned(start, period), _aligned(end, period, up=True), period)
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
        _glance_query(f"{metric}_{place}_{host}", job.name, host, metric)
        for place, (job, _) in enumerate(with_gpus[:most])
        for host in hosts[job.name]
        for metric in OF_GPUS
    ]
    end = datetime.fromtimestamp(math.ceil(now.timestamp() / PERIOD_S) * PERIOD_S, UTC)
    answer = read_points(clients, queries, end - SPAN, end, PERIOD_S)
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


def _glance_query(key: str, job: str, host: int, metric: str) -> MetricQuery:
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
