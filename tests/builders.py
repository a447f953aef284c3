"""Frames and reports built by hand, for the tests of what is drawn; the situations are in ``situations.py``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache

import numpy as np
import pandas as pd

from monitor.analyze.utilization import pooled
from monitor.model import (
    ApiBill,
    Bucket,
    Cost,
    Distribution,
    Finding,
    Gap,
    InstanceGroup,
    Job,
    LogCoverage,
    Node,
    NodeStats,
    Parameter,
    Phase,
    Report,
    Run,
    StepSpread,
    StepStats,
    events_frame,
    metrics_frame,
    steps_frame,
)

METRIC_ORDER = (
    "gpu_utilization",
    "gpu_memory_utilization",
    "cpu_utilization",
    "memory_utilization",
    "disk_utilization",
)

START = datetime(2026, 9, 25, 12, 5, tzinfo=UTC)


def nodes_of(count: int, instance_type: str = "ml.p4d.24xlarge", gpus: int = 8) -> tuple[Node, ...]:
    return tuple(
        Node(f"algo-{number}", instance_type, gpus, 96, 40.0 if gpus else None, counts_from="table")
        for number in range(1, count + 1)
    )


def metrics(
    names: Sequence[str],
    minutes: int,
    levels: Mapping[str, float],
    start: datetime = START,
    slow: Mapping[str, float] | None = None,
    missing: tuple[int, int] | None = None,
    spread: float = 3.0,
) -> pd.DataFrame:
    """One value a minute, node and metric; ``slow`` adds points to a node's GPU, ``missing`` leaves out minutes."""
    made = _metrics(tuple(names), minutes, tuple(levels.items()), start, tuple((slow or {}).items()), missing, spread)
    return made.copy(deep=False)


# Most tests ask for one of a few frames, and making one takes longer than what is done with it.
@lru_cache(64)
def _metrics(
    names: tuple[str, ...],
    minutes: int,
    levels: tuple[tuple[str, float], ...],
    start: datetime,
    slow: tuple[tuple[str, float], ...],
    missing: tuple[int, int] | None,
    spread: float,
) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    keep = np.ones(minutes, dtype=bool)
    if missing:
        keep[missing[0] : missing[1]] = False
    times = pd.date_range(start, periods=minutes, freq="min")[keep]
    series = [(name, metric, level) for name in names for metric, level in levels]
    values = []
    for name, metric, level in series:
        drawn = np.clip(level + rng.normal(0, spread, minutes), 0, 100)
        if metric == "gpu_utilization":
            drawn = np.clip(drawn + dict(slow).get(name, 0.0), 0, 100)
        values.append(drawn[keep])
    if not series:
        return metrics_frame()
    # One frame of long columns: a frame a series is most of what a job of 64 nodes costs.
    return metrics_frame(
        {
            "timestamp": times[np.tile(np.arange(len(times)), len(series))],
            "node": np.repeat(np.array([name for name, _, _ in series], dtype=object), len(times)),
            "metric": np.repeat(np.array([metric for _, metric, _ in series], dtype=object), len(times)),
            "value_pct": np.concatenate(values),
            "period_s": 60,
        }
    )


def steps(
    names: Sequence[str],
    count: int,
    step_s: float,
    start: datetime = START,
    slow: Mapping[str, float] | None = None,
    spikes_every: int = 0,
) -> pd.DataFrame:
    """``count`` reports a node; ``slow`` multiplies a node's times; every n-th step may be a spike of 6 x."""
    return _steps(tuple(names), count, step_s, start, tuple((slow or {}).items()), spikes_every).copy(deep=False)


@lru_cache(64)
def _steps(
    names: tuple[str, ...],
    count: int,
    step_s: float,
    start: datetime,
    slow: tuple[tuple[str, float], ...],
    spikes_every: int,
) -> pd.DataFrame:
    rng = np.random.default_rng(11)
    frames = []
    for rank, name in enumerate(names):
        times = step_s * dict(slow).get(name, 1.0) * (1 + rng.normal(0, 0.01, count))
        if spikes_every:
            times[spikes_every - 1 :: spikes_every] *= 6
        times[0] *= 8
        frames.append(
            pd.DataFrame(
                {
                    "node": name,
                    "rank": rank,
                    "step": np.arange(1, count + 1),
                    "timestamp": pd.Timestamp(start) + pd.to_timedelta(np.cumsum(times), unit="s"),
                    "step_time_s": times,
                    "throughput": np.nan,
                    "throughput_unit": "",
                    "loss": np.linspace(9, 3, count),
                    "gpu_memory_gib": np.nan,
                    "format": "bracket",
                    "kind": "step",
                    "stream": f"job/{name}-1",
                    "line": np.arange(1, count + 1) * 3,
                    "total": count * 2,
                    "segment": 0,
                    "warm_up": np.arange(count) == 0,
                }
            )
        )
    return steps_frame(pd.concat(frames) if frames else ())


def _by_node(frame: pd.DataFrame) -> dict[tuple[str, str], pd.Series]:
    """(node, metric) -> its values."""
    by = frame.groupby(["node", "metric"], observed=True)["value_pct"]
    return {(str(node), str(metric)): values for (node, metric), values in by}


def _distribution(values: pd.Series | None) -> Distribution | None:
    if values is None or values.empty:
        return None
    p5, p50, p95 = (float(value) for value in np.percentile(values, [5, 50, 95]))
    return Distribution(float(values.mean()), p5, p50, p95)


def _spread(times: np.ndarray, warm_up: np.ndarray) -> StepSpread | None:
    work = times[~warm_up & ~np.isnan(times)]
    if not len(work):
        return None
    p10, median, p90 = (float(value) for value in np.percentile(work, [10, 50, 90]))
    return StepSpread(len(times), median, p10, p90)


def report(
    name: str = "bert-large-run-3",
    *,
    status: str = "Completed",
    nodes: tuple[Node, ...] | None = None,
    metric_frame: pd.DataFrame | None = None,
    step_frame: pd.DataFrame | None = None,
    start: datetime | None = START,
    minutes: int = 90,
    findings: tuple[Finding, ...] = (),
    gaps: tuple[Gap, ...] = (),
    failure_reason: str | None = None,
    cost: Cost | None = None,
    configuration: Mapping[str, Parameter] | None = None,
    reviewed_at: datetime | None = None,
) -> Report:
    """A report whose figures follow from the frames; phases are two minutes each side of the work."""
    hosts = nodes_of(4) if nodes is None else nodes
    host_names = [node.name for node in hosts]
    metric_rows = metrics_frame() if metric_frame is None else metric_frame
    step_rows = steps_frame() if step_frame is None else step_frame
    running = status in {"InProgress", "Stopping"}
    end = None if start is None else start + timedelta(minutes=minutes)
    job = Job(
        name,
        arn=f"arn:aws:sagemaker:us-east-1:123456789012:training-job/{name}",
        status=status,
        secondary_status="Training" if running else status,
        instance_groups=(InstanceGroup("", hosts[0].instance_type or "", len(hosts)),) if hosts else (),
        created=(start or START) - timedelta(minutes=4),
        started=start,
        ended=None if running else (end or START),
        training_seconds=None if start is None or running else minutes * 60,
        billable_seconds=None if start is None or running else minutes * 60,
        failure_reason=failure_reason,
        nodes=hosts,
        launcher="mpi",
        smp_version=1,
        configuration=configuration
        or {
            "pipeline_parallel_degree": Parameter(4, "mp_parameters"),
            "microbatches": Parameter(8, "mp_parameters"),
            "active_microbatches": Parameter(2, "mp_parameters"),
            "tensor_parallel_degree": Parameter(8, "log: algo-1 line 2110"),
        },
    )
    by_node = _by_node(metric_rows)
    times, warm_up = step_rows["step_time_s"].to_numpy(float), step_rows["warm_up"].to_numpy(bool)
    reporting = {str(node): np.sort(rows) for node, rows in step_rows.groupby("node", observed=True).indices.items()}
    none = np.empty(0, dtype=int)
    stats = tuple(
        NodeStats(
            node,
            *(_distribution(by_node.get((node.name, metric))) for metric in METRIC_ORDER),
            steps=_spread(times[rows], warm_up[rows]),
        )
        for node in hosts
        for rows in (reporting.get(node.name, none),)
    )
    overall = _spread(times, warm_up)
    step_stats = None
    if overall is not None:
        step_stats = StepStats(
            count=overall.count,
            distinct=int(step_rows["step"].nunique()),
            first_step_s=95.0,
            median_s=overall.median_s,
            p10_s=overall.p10_s,
            p90_s=overall.p90_s,
            nodes_observed=int(step_rows["node"].nunique()),
            formats=("bracket",),
            done=int(step_rows["step"].max()),
            total=int(step_rows["step"].max()) * 2,
        )
    used = [each.gpu_memory_utilization.p95 for each in stats if each.gpu_memory_utilization]
    measured = {"gpu_memory_utilization": max(used)} if used else {}
    if overall is not None and overall.median_s is not None:
        measured["step_time_s"] = overall.median_s
    phases: tuple[Phase, ...] = ()
    if start is not None and end is not None:
        marks = [start - timedelta(minutes=4), start - timedelta(minutes=2), start, start + timedelta(minutes=3), end]
        labels = [("pending", False), ("starting", False), ("initialization", True), ("productive", True)]
        phases = tuple(Phase(label, marks[at], marks[at + 1], billed) for at, (label, billed) in enumerate(labels))
    price = (cost or Cost()).price_usd_per_instance_hour
    buckets = tuple(
        Bucket(
            phase.name,
            phase.seconds,
            phase.seconds * len(hosts),
            None if price is None or not phase.billed else phase.seconds * len(hosts) * price / 3600,
        )
        for phase in phases
    )
    run = Run(
        job,
        step_rows,
        metric_rows,
        events_frame(),
        gaps=gaps,
        metrics_period_s=60 if len(metric_rows) else None,
        logs=LogCoverage(streams=len(host_names), lines=12_840 if len(step_rows) else 0),
    )
    return Report(
        run,
        reviewed_at=reviewed_at or (end or START) + timedelta(minutes=20),
        nodes=stats,
        devices=pooled(metric_rows),
        work_since=step_rows["timestamp"].min().to_pydatetime() if len(step_rows) else start,
        steps=step_stats,
        phases=phases,
        buckets=buckets,
        findings=findings,
        cost=cost or Cost(),
        measured={name: Parameter(value, "measured") for name, value in measured.items()},
        api=ApiBill({"DescribeTrainingJob": 1, "GetMetricData": 2, "GetLogEvents": 11}, 0.0021),
    )
