"""Jobs that a page must be able to show, one function each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache, wraps
from typing import ParamSpec

from monitor.model import Cost, Evidence, Finding, Gap, JobSummary, Prediction, Recommendation, Report
from tests.builders import METRIC_ORDER, START, metrics, nodes_of, report, steps

P = ParamSpec("P")


def once(make: Callable[P, Report]) -> Callable[P, Report]:
    """The job as it is by itself is one report for all tests: a report is read, and never changed."""
    shared = cache(make)

    @wraps(make)
    def made(*given: P.args, **named: P.kwargs) -> Report:
        return make(*given, **named) if given or named else shared()

    return made


BUSY = dict(zip(METRIC_ORDER, (93.0, 61.0, 34.0, 22.0, 12.0), strict=True))
HALF_IDLE = dict(zip(METRIC_ORDER, (46.0, 41.0, 21.0, 18.0, 12.0), strict=True))
CPU_ONLY = {"cpu_utilization": 88.0, "memory_utilization": 41.0, "disk_utilization": 9.0}

WINDOW = Finding(
    "raise-active-microbatches",
    "warning",
    "medium",
    "GPUs wait half of the time: the pipeline window is too small",
    "GPU 46 % (p5 41, p95 52) on all 4 nodes since the first step, 12:08 UTC; memory has room, 41 %.",
    evidence=(
        Evidence(
            "GPU utilization, mean", 46.0, "%", start=START, end=START + timedelta(minutes=90), view="gpu_utilization"
        ),
        Evidence("GPU memory, p95", 44.0, "%", node="algo-3", view="gpu_memory_utilization"),
        Evidence("active_microbatches", 2, line="[1,0]<stdout>: smp config active_microbatches=2 microbatches=8"),
    ),
    recommendation=Recommendation(
        "Raise active_microbatches from 2 to 4.", "active_microbatches", 2, 4, "SMP best practices"
    ),
    prediction=Prediction((-35.0, -35.0, -31.0), (41.0, 74.0, 82.0), "pipeline schedule model"),
    not_checked=("stage imbalance: stages do not log their times",),
)
UNOBSERVED = Finding(
    "node-timing-unobservable",
    "info",
    "high",
    "Step times of 3 nodes are not in the logs",
    "Only algo-1 prints steps, so a slow node among algo-2 to algo-4 would not be seen in step times.",
    recommendation=Recommendation("Let one rank of each node print its step time."),
)
SLOW_NODE = Finding(
    "slow-node",
    "warning",
    "high",
    "algo-5 is slow: 1.31 x the median of its peers",
    "Its steps take 2.63 s against 2.01 s since 12:10 UTC (412 steps); its GPU is 17 points lower, its CPU is not.",
    evidence=(
        Evidence("step time", 2.63, "s", node="algo-5", view="steps", role="step time"),
        Evidence("median of its peers at the same steps", 2.01, "s", view="steps", role="peers' step time"),
    ),
    recommendation=Recommendation("Replace the instance; if algo-5 is slow again, look at its data shard."),
)
OUT_OF_MEMORY = Finding(
    "cuda-out-of-memory",
    "critical",
    "high",
    "GPU memory ran out on algo-2, rank 11",
    "The first error is an allocation of 2.50 GiB that failed on algo-2 at 12:31 UTC, in step 412; the others follow it.",
    evidence=(
        Evidence(
            "first error",
            node="algo-2",
            start=START + timedelta(minutes=26),
            line="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB",
        ),
    ),
    recommendation=Recommendation("Turn on activation checkpointing, or halve the batch.", source="SMP best practices"),
    not_checked=("fragmentation: the log has no allocator summary",),
)


@once
def healthy(name: str = "vit-mics-4", **others: object) -> Report:
    names = [node.name for node in nodes_of(4)]
    values = {
        "metric_frame": metrics(names, 90, BUSY),
        "step_frame": steps(names[:1], 2400, 2.02, START + timedelta(minutes=3), spikes_every=400),
        "findings": (UNOBSERVED,),
        "cost": Cost(196.62, 9.8, 32.77, "bundled table, us-east-1"),
    }
    return report(name, **(values | others))  # type: ignore[arg-type]


@once
def low_utilization(name: str = "gpt-60b-run-7", **others: object) -> Report:
    names = [node.name for node in nodes_of(4)]
    values = {
        "metric_frame": metrics(names, 90, HALF_IDLE),
        "step_frame": steps(names, 1200, 4.10, START + timedelta(minutes=3)),
        "findings": (WINDOW,),
    }
    return report(name, **(values | others))  # type: ignore[arg-type]


@once
def failed(name: str = "llama-ft-3") -> Report:
    names = [node.name for node in nodes_of(2)]
    return report(
        name,
        status="Failed",
        nodes=nodes_of(2),
        minutes=27,
        metric_frame=metrics(names, 26, BUSY | {"gpu_memory_utilization": 96.0}),
        step_frame=steps(names, 412, 3.1, START + timedelta(minutes=4)),
        findings=(OUT_OF_MEMORY,),
        failure_reason="AlgorithmError: ExecuteUserScriptError: exit code 1",
    )


@once
def gappy(name: str = "denied-metrics-1") -> Report:
    names = [node.name for node in nodes_of(4)]
    return report(
        name,
        step_frame=steps(names, 300, 2.0),
        gaps=(
            Gap(
                "metrics",
                "cloudwatch:GetMetricData was refused.",
                "Allow cloudwatch:GetMetricData for this role.",
                action="cloudwatch:GetMetricData",
            ),
        ),
    )


@once
def no_steps(name: str = "quiet-1") -> Report:
    names = [node.name for node in nodes_of(2)]
    frame = metrics(names, 90, BUSY, missing=(30, 45))
    return report(name, nodes=nodes_of(2), metric_frame=frame)


@once
def no_gpu(name: str = "xgboost-7") -> Report:
    hosts = nodes_of(2, "ml.m5.4xlarge", 0)
    names = [node.name for node in hosts]
    return report(name, nodes=hosts, metric_frame=metrics(names, 40, CPU_ONLY), minutes=40)


@once
def single_node(name: str = "resnet-1") -> Report:
    hosts = nodes_of(1, "ml.g5.12xlarge", 4)
    return report(
        name,
        nodes=hosts,
        metric_frame=metrics(["algo-1"], 60, BUSY, missing=(20, 28)),
        step_frame=steps(["algo-1"], 900, 3.5),
        minutes=60,
    )


@once
def sixty_four(name: str = "gpt-175b-run-1", minutes: int = 90) -> Report:
    hosts = nodes_of(64)
    names = [node.name for node in hosts]
    slow = {"algo-5": -17.0}
    return report(
        name,
        nodes=hosts,
        minutes=minutes,
        metric_frame=metrics(names, minutes, BUSY, slow=slow),
        step_frame=steps(names, minutes * 20, 2.01, slow={"algo-5": 1.31}, spikes_every=400),
        findings=(SLOW_NODE,),
        cost=Cost(3145.9, 201.4, 32.77, "bundled table, us-east-1"),
    )


@once
def never_started(name: str = "no-capacity-2") -> Report:
    return report(name, status="Failed", start=None, failure_reason="CapacityError: Unable to provision capacity")


@once
def hostile(name: str = "hostile-1") -> Report:
    """Text from a log that tries to be markup."""
    evil = (
        "<b>x</b> ![i](https://evil.example/a.png) [l](https://evil.example) :red[z] :smile: $x^2$ https://evil.example"
    )
    finding = Finding(
        "script-error",
        "critical",
        "low",
        f"The script ended: {evil}",
        f"Last words: {evil}",
        evidence=(Evidence("first error", line=evil),),
        recommendation=Recommendation(f"Read this: {evil}"),
        not_checked=(evil,),
    )
    base = failed(name)
    return replace(base, findings=(finding,))


def running(name: str = "gpt-60b-run-8", now: datetime | None = None, minutes: int = 45) -> Report:
    """A job that is under way and started ``minutes`` before ``now``."""
    moment = now or datetime.now(UTC)
    start = moment - timedelta(minutes=minutes)
    names = [node.name for node in nodes_of(4)]
    return report(
        name,
        status="InProgress",
        start=start,
        minutes=minutes,
        metric_frame=metrics(names, minutes, HALF_IDLE, start=start),
        step_frame=steps(names, max(2, int((minutes - 4) * 60 / 4.1)), 4.1, start + timedelta(minutes=3)),
        findings=(WINDOW,),
        cost=Cost(98.3, 40.1, 32.77, "bundled table, us-east-1"),
        reviewed_at=moment,
    )


def summary(built: Report) -> JobSummary:
    """The row that the list of jobs has for it: neither type nor count, as ListTrainingJobs answers."""
    job = built.job
    return JobSummary(job.name, job.status or "", job.created, job.ended)
