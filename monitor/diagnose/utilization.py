"""Rules about devices that wait: the exact causes first, then the general one that they silence."""

from __future__ import annotations

import pandas as pd

from monitor.analyze.step_time import variation
from monitor.diagnose.rule import Case, parameter, rule
from monitor.model import Distribution, Evidence, Finding, Recommendation
from monitor.words import clock, nodes, percent, step_seconds

# SageMaker Debugger's LowGPUUtilization and BatchSize rules: p95 below 70 %, here on one-minute node means.
LOW_P95_PCT = 70.0
# One GPU at full load is 100 in the host's sum; ten more allow for sampling and for contexts on the others.
ONE_GPU_SUM_PCT = 110.0
NEARLY_EVERY = 0.95
IDLE_PCT = 5.0
IDLE_MINUTES = 10.0
# Where neither a step nor a busy minute marks the beginning, start-up may still be under way for a while.
IDLE_MINUTES_FROM_START = 30.0
STEADY_MAD = 0.03
# Fewer points than this say nothing about a 95th percentile.
FEWEST_POINTS = 5


@rule("one-gpu-in-use", silenced_by=("stall",))
def one_gpu_in_use(case: Case) -> Finding | None:
    """One GPU of a multi-GPU host works, the others are paid for.

    What it means: the host's GPU utilization, summed over its GPUs, never passes that of one GPU, and the summed GPU
    memory fits one GPU, on nearly every minute after the first step.

    Why it matters: an instance is billed whole; with one of eight GPUs in use seven eighths of the bill buy nothing.

    What to do: start one process per GPU (torchrun --nproc_per_node, processes_per_host of the distribution), or move
    to an instance with one GPU.

    Source: CloudWatch reports GPU metrics of training jobs as sums over the host's GPUs (SageMaker developer guide,
    monitoring-cloudwatch); thresholds are this project's: sum at most 110 % on 95 % of the minutes.
    """
    hit: list[str] = []
    worst: tuple[int, float, float] | None = None
    counts = {node.name: node.gpus or 0 for node in case.run.job.nodes}
    table = _by_minute(case)
    for name, rows in table.groupby("node", observed=True):
        gpus = counts.get(str(name), 0)
        rows = rows.dropna(subset=["gpu_utilization", "gpu_memory_utilization"])
        if gpus < 2 or len(rows) < FEWEST_POINTS:
            continue
        busy, held = rows["gpu_utilization"] * gpus, rows["gpu_memory_utilization"] * gpus
        on_one = (busy <= ONE_GPU_SUM_PCT) & (held <= ONE_GPU_SUM_PCT)
        if on_one.mean() >= NEARLY_EVERY and busy.median() >= 10.0:
            hit.append(str(name))
            worst = worst or (gpus, float(busy.median()), float(held.median()))
    if worst is None or case.window is None:
        return None
    gpus, busy_sum, held_sum = worst
    where = nodes(hit, len(case.run.job.nodes))
    return Finding(
        "one-gpu-in-use",
        "warning",
        "high" if busy_sum >= 50 else "medium",
        f"One of {gpus} GPUs in use",
        f"It looks as if one of {gpus} GPUs is in use {where} since {clock(case.window.start)}: the GPUs together reach "
        f"{percent(busy_sum)} (one full GPU is 100 %), their memory {percent(held_sum)}. "
        f"The other {gpus - 1} are paid for and idle.",
        (
            Evidence(
                "GPU utilization, sum over the host, median", busy_sum, f"% of {gpus * 100}", hit[0], *_span(case)
            ),
            Evidence("GPU memory, sum over the host, median", held_sum, f"% of {gpus * 100}", hit[0], *_span(case)),
        ),
        Recommendation(
            f"Start {gpus} processes on each host (torchrun --nproc_per_node={gpus}, or processes_per_host={gpus}); if the "
            "work fits one GPU, take an instance with one.",
            parameter="processes_per_host",
            from_value=1,
            to_value=gpus,
            source="CloudWatch's GPU figures are sums over a host's GPUs",
        ),
        not_checked=("which GPU is in use: CloudWatch has no figures of single GPUs",),
    )


@rule("idle-gpus", silenced_by=("stall",))
def idle_gpus(case: Case) -> Finding | None:
    """GPUs do nothing for ten minutes and more after training began.

    What it means: GPU utilization of a node stays below 5 % for at least 10 minutes in a row after the first step.

    Why it matters: the job goes on billing all its instances while nothing is computed: a hung process, a data
    loader that waits, or an evaluation, export or upload that runs on the CPU.

    What to do: read the log lines of that span; stop the job if nothing comes; move long CPU work to a job without GPUs.

    Source: thresholds are this project's; idle GPUs that go on billing are among the most frequent complaints of users.
    """
    if case.window is None:
        return None
    least = IDLE_MINUTES_FROM_START if case.window.since == "training start" else IDLE_MINUTES
    spans = [
        (str(name), *span)
        for name, rows in case.metrics[case.metrics["metric"] == "gpu_utilization"].groupby("node", observed=True)
        if (span := _longest_idle(rows)) is not None and span[2] >= least
    ]
    if not spans:
        return None
    hit = [name for name, *_ in spans]
    name, start, end, minutes = max(spans, key=lambda span: span[3])
    where = nodes(hit, case.gpu_nodes or len(case.run.job.nodes))
    return Finding(
        "idle-gpus",
        "warning",
        "high" if case.window.since == "first step" else "medium",
        f"GPUs idle for {minutes:.0f} min",
        f"GPUs do nothing {where}: below {IDLE_PCT:.0f} % for {minutes:.0f} minutes in a row on {name}, "
        f"{clock(start)} to {clock(end)}, after training had begun. The instances are billed all the same.",
        (Evidence("GPU utilization below 5 %", minutes, "min in a row", name, start, end),),
        Recommendation(
            f"Read what {name} logged from {clock(start)} on. If the job waits for nothing useful, stop it; if it evaluates, "
            "exports or uploads on the CPU, do that in a job without GPUs.",
            source="rule idle-gpus",
        ),
        not_checked=("what the processes did meanwhile: no trace is taken",)
        if case.window.since == "first step"
        else ("when the first step was: no step line was recognised",),
    )


@rule("small-batch", silenced_by=("one-gpu-in-use", "unused-gpus", "idle-gpus", "stall"))
def small_batch(case: Case) -> Finding | None:
    """GPU, GPU memory and CPU are all far from full: the batch is small for the machine.

    What it means: the 95th percentiles of GPU, GPU-memory and CPU utilization are all below 70 %, there is no
    pipeline whose bubbles would explain it, and the steps are steady (MAD at most 3 % of the median).

    Why it matters: nothing is the bottleneck but the amount of work per step; the same samples could be done in less
    time, or on a smaller instance.

    What to do: raise the batch size per device until GPU memory is near 85 %, watching convergence; or take fewer or
    smaller instances.

    Source: SageMaker Debugger's BatchSize rule (70/70/70), rescaled to one-minute data; steadiness by this project.
    """
    gpu, memory, cpu = (case.pooled.get(f"{name}_utilization") for name in ("gpu", "gpu_memory", "cpu"))
    if gpu is None or memory is None or cpu is None or not _enough(case) or _pipeline_degree(case) > 1:
        return None
    wobble = variation(case.run.steps)
    if max(gpu.p95, memory.p95, cpu.p95) >= LOW_P95_PCT or wobble is None or wobble > STEADY_MAD:
        return None
    assert case.window is not None
    assert case.steps is not None
    assert case.steps.median_s is not None
    return Finding(
        "small-batch",
        "warning",
        "medium",
        f"Batch small for the GPUs: {percent(gpu.mean)} busy",
        f"The batch is small for these GPUs: GPU {_spread(gpu)}, GPU memory {percent(memory.p95)} and CPU {percent(cpu.p95)} at "
        f"their 95th percentile {_everywhere(case)} since {clock(case.window.start)}, and every step takes the same "
        f"{step_seconds(case.steps.median_s)} (MAD {wobble * 100:.1f} %). "
        "Nothing is full, so more work per step would cost little time.",
        (*_three(case, gpu, memory, cpu), Evidence("step time, MAD / median", wobble * 100, "%", None, *_span(case))),
        Recommendation(
            "Raise the batch size per device step by step until GPU memory is near 85 %, and watch convergence; or take "
            "fewer or smaller instances for the same speed.",
            parameter="batch_size",
            source="SageMaker Debugger rule BatchSize",
        ),
        not_checked=(
            "whether a larger batch still converges as well",
            "whether the allocator holds memory it does not use",
        ),
    )


@rule("low-gpu-utilization", silenced_by=("one-gpu-in-use", "unused-gpus", "idle-gpus", "small-batch", "stall"))
def low_gpu_utilization(case: Case) -> Finding | None:
    """GPUs wait for a good part of the time.

    What it means: the 95th percentile of GPU utilization over all nodes and minutes after the first step is below 70 %.

    Why it matters: GPU hours are paid whether the GPU works or waits.

    What to do: find what it waits for: the pipeline's window, the input pipeline, communication, or a small batch; the
    finding lists what the configuration and the other figures make likely, in order.

    Source: SageMaker Debugger's LowGPUUtilization rule (p95 below 70), rescaled to one-minute data of whole nodes.
    """
    gpu = case.pooled.get("gpu_utilization")
    if gpu is None or case.window is None or gpu.p95 >= LOW_P95_PCT or not _enough(case):
        return None
    memory, cpu = case.pooled.get("gpu_memory_utilization"), case.pooled.get("cpu_utilization")
    causes = _likely_causes(case, memory, cpu)
    room = f"; GPU memory has room, {percent(memory.p95)}" if memory is not None and memory.p95 < LOW_P95_PCT else ""
    return Finding(
        "low-gpu-utilization",
        "warning",
        "high" if case.window.since == "first step" else "medium",
        f"GPUs work {percent(gpu.mean)} of the time",
        f"GPUs wait for {percent(100 - gpu.mean)} of the time: GPU {_spread(gpu)} {_everywhere(case)} since the "
        f"{case.window.since}, {clock(case.window.start)}{room}. Likely, in this order: {'; '.join(causes)}.",
        _three(case, gpu, memory, cpu),
        Recommendation(_first_step(case, cpu), source="SageMaker Debugger rule LowGPUUtilization; SMP best practices"),
        not_checked=("single GPUs, kernels and network: CloudWatch has no figures of them for training jobs",),
    )


def _likely_causes(case: Case, memory: Distribution | None, cpu: Distribution | None) -> list[str]:
    causes: list[str] = []
    p, m, a = (parameter(case, name) for name in ("pipeline_parallel_degree", "microbatches", "active_microbatches"))
    if _pipeline_degree(case) > 1:
        p = _pipeline_degree(case)
        if a is not None and m is not None and a < min(m, p):
            causes.append(
                f"the pipeline's window is narrow: active_microbatches {a} with {p} stages and {m} microbatches"
            )
        if m is not None and m < 4 * p:
            causes.append(f"few microbatches for the pipeline: {m} for {p} stages leave a bubble")
        if not causes:
            causes.append(f"the pipeline's bubble ({p} stages)")
    if cpu is not None and cpu.p95 > 80:
        causes.append(f"the input pipeline: CPU {percent(cpu.p95)} at its 95th percentile")
    if len(case.run.job.nodes) > 1:
        causes.append("communication between nodes")
    if memory is not None and memory.p95 < LOW_P95_PCT:
        causes.append(f"a small batch: GPU memory {percent(memory.p95)}")
    if cpu is None or cpu.p95 <= 80:
        causes.append("data loading in few processes")
    return causes[:3]


def _first_step(case: Case, cpu: Distribution | None) -> str:
    p, m, a = _pipeline_degree(case), parameter(case, "microbatches"), parameter(case, "active_microbatches")
    if p > 1 and m is not None and a is not None and a < min(m, p):
        return f"Try active_microbatches {min(m, p)} (now {a}) while GPU memory stays below 92 %, and compare the step time."
    if p > 1 and m is not None and m < 4 * p:
        return f"Raise microbatches (now {m}) and the batch with it, so that the {p} stages overlap more."
    if cpu is not None and cpu.p95 > 80:
        return "Give the data loader more workers and prefetch, or read from FSx or FastFile mode."
    return "Time one step with the data loader left out; if it is no faster, raise the batch size per device."


def _pipeline_degree(case: Case) -> int:
    return parameter(case, "pipeline_parallel_degree") or parameter(case, "partitions") or 1


def _enough(case: Case) -> bool:
    points = case.metrics.loc[case.metrics["metric"] == "gpu_utilization", "timestamp"]
    return int(points.nunique()) >= FEWEST_POINTS


def _by_minute(case: Case) -> pd.DataFrame:
    """One row a node and minute, one column a metric; absent columns are there and empty."""
    table = case.metrics.pivot_table(index=["node", "timestamp"], columns="metric", values="value_pct").reset_index()
    return table.reindex(columns=["node", "timestamp", "gpu_utilization", "gpu_memory_utilization"])


def _longest_idle(rows: pd.DataFrame) -> tuple[pd.Timestamp, pd.Timestamp, float] | None:
    """(start, end, minutes) of the longest stretch of idle periods without a gap in the data."""
    rows = rows.sort_values("timestamp")
    period = pd.Timedelta(seconds=int(rows["period_s"].iloc[0]))
    idle = rows["value_pct"] < IDLE_PCT
    broken = ~idle | (rows["timestamp"].diff() > period)
    stretch = rows[idle].groupby(broken.cumsum()[idle])["timestamp"].agg(["min", "max"])
    if stretch.empty:
        return None
    longest = (stretch["max"] - stretch["min"]).idxmax()
    start, end = stretch.loc[longest, "min"], stretch.loc[longest, "max"] + period
    return start, end, (end - start).total_seconds() / 60


def _three(
    case: Case, gpu: Distribution, memory: Distribution | None, cpu: Distribution | None
) -> tuple[Evidence, ...]:
    named = (("GPU utilization", gpu), ("GPU memory utilization", memory), ("CPU utilization", cpu))
    return tuple(
        Evidence(f"{name}, {which}", value, "%", None, *_span(case))
        for name, found in named
        if found is not None
        for which, value in (("mean", found.mean), ("p5", found.p5), ("p95", found.p95))
    )


def _span(case: Case) -> tuple[pd.Timestamp | None, pd.Timestamp | None]:
    return (case.window.start, case.window.end) if case.window else (None, None)


def _spread(found: Distribution) -> str:
    return f"{percent(found.mean)} (p5 {found.p5:.0f}, p95 {found.p95:.0f})"


def _everywhere(case: Case) -> str:
    seen = sorted(set(case.metrics.loc[case.metrics["metric"] == "gpu_utilization", "node"]))
    return nodes(seen, len(case.run.job.nodes))
