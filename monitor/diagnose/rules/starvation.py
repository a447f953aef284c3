"""Rules about GPUs that wait for the CPU, or repeatedly for something else, for minutes or, as a job's profiler shows, for less;
they come before the general one on low utilization."""

from __future__ import annotations

import pandas as pd

from monitor.analyze.stalls import Stalls, recurring_stalls
from monitor.analyze.utilization import LOW_PCT, dips, distribution
from monitor.diagnose.rulebook import Case, rule
from monitor.diagnose.stakes import STEPS
from monitor.diagnose.words.devices import enough, fewest_points, left_out, money_of, span, spread
from monitor.model import Distribution, Evidence, Finding, Recommendation, Saving
from monitor.words import count, nodes, percent, step_seconds

# SageMaker Debugger: CPUBottleneck says CPU above 90; OverallSystemUsage calls more than 70 bound by the CPU.
CPU_FULL_PCT = 90.0
CPU_BOUND_PCT = 70.0
GPU_WAITS_PCT = 60.0
CPU_IN_DIPS_PCT = 80.0
_MORE_WORKERS = (
    "Give the data loader more workers (up to vCPUs / processes) with prefetching and persistent_workers, or move "
    "decoding to the GPU or out of the job. To check first: train for ten minutes on data cached in memory; if the "
    "GPUs fill up, this was the cause."
)


@rule(
    "cpu-bottleneck",
    needs="metrics",
    silenced_by=("stall", "one-gpu-in-use", "unused-gpus", "idle-gpus"),
    explains=("low-gpu-utilization", "fluctuating-gpu-utilization"),
)
def cpu_bottleneck(case: Case) -> Finding | None:
    """The CPU is full while the GPUs wait.

    What it means: CPU utilization of the GPU hosts (or of hosts without GPUs that feed them) is above 90 % at its 95th
    percentile and above 70 % at its median, GPU utilization is below 60 % at its median, and both still hold in the second
    half of the time: a cache that fills during the first epoch, or tokenization at the start, does not count.

    Why it matters: the most expensive part of the instance waits for the cheapest; more or larger GPUs would not help.

    What to do: use more loader workers and prefetching, decode and augment on the GPU or before the job, or use an
    instance with more vCPUs per GPU; if separate hosts feed the GPUs, use more of them.

    Source: SageMaker Debugger's CPUBottleneck (CPU above 90 %) and OverallSystemUsage (above 70 % is bound by the
    CPU), on one-minute means per host; the GPU limit and the second-half condition are this project's.
    """
    if case.window is None or not enough(case):
        return None
    gpu = case.pooled["gpu_utilization"]
    gpu_hosts = {node.name for node in case.run.job.nodes if node.gpus}
    feeders = {node.name for node in case.run.job.nodes if node.gpus == 0}
    hosts, place = gpu_hosts, "the GPU hosts"
    cpu = _full(case, gpu_hosts)
    if cpu is None and feeders:
        hosts, place, cpu = feeders, "the hosts that feed them", _full(case, feeders)
    if cpu is None or not _waits(case):
        return None
    savings = (Saving(STEPS, 1 - gpu.p50 / 100),)
    where = nodes(sorted(hosts), len(case.run.job.nodes))
    return Finding(
        "cpu-bottleneck",
        "warning",
        "high" if cpu.p50 > CPU_FULL_PCT and case.window.since == "first step" else "medium",
        f"CPUs full at {percent(cpu.p50)}, GPUs waiting at {percent(gpu.p50)}",
        f"GPUs wait for the CPU: GPU {spread(gpu)} while the CPUs of {place} are at {percent(cpu.p50)} (p95 {cpu.p95:.0f}) "
        f"{where} since {case.clock(case.window.start)}{left_out(case)}.{money_of(case, savings, 'of waiting GPUs')}",
        (
            Evidence("CPU utilization, p95", cpu.p95, "%", None, *span(case), view="cpu_utilization"),
            Evidence("CPU utilization, p50", cpu.p50, "%", None, *span(case), view="cpu_utilization"),
            Evidence("GPU utilization, p50", gpu.p50, "%", None, *span(case), view="gpu_utilization"),
        ),
        Recommendation(
            "Add hosts to the group that feeds the GPUs, or use larger ones." if hosts is feeders else _MORE_WORKERS,
            source="SageMaker Debugger rule CPUBottleneck",
        ),
        not_checked=("which process uses the CPU: CloudWatch has one figure per host",),
        savings=savings,
    )


def _full(case: Case, hosts: set[str]) -> Distribution | None:
    """The CPU of these hosts where it is full, over all minutes and over those of the second half."""
    rows = case.steady[(case.steady["metric"] == "cpu_utilization") & case.steady["node"].isin(hosts)]
    if rows["timestamp"].nunique() < fewest_points(case):
        return None
    late = rows[rows["timestamp"] >= _half(rows)]
    whole, second = distribution(rows["value_pct"]), distribution(late["value_pct"])
    full = all(one is not None and one.p95 > CPU_FULL_PCT and one.p50 > CPU_BOUND_PCT for one in (whole, second))
    return whole if full else None


def _waits(case: Case) -> bool:
    rows = case.steady[case.steady["metric"] == "gpu_utilization"]
    late = rows.loc[rows["timestamp"] >= _half(rows), "value_pct"]
    return bool(rows["value_pct"].median() < GPU_WAITS_PCT and late.median() < GPU_WAITS_PCT)


def _half(rows: pd.DataFrame) -> pd.Timestamp:
    first, last = rows["timestamp"].min(), rows["timestamp"].max()
    return first + (last - first) / 2


@rule(
    "fluctuating-gpu-utilization",
    needs="metrics",
    silenced_by=("stall", "one-gpu-in-use", "unused-gpus", "idle-gpus", "cpu-bottleneck"),
    whole_log=True,
)
def fluctuating_gpu_utilization(case: Case) -> Finding | None:
    """GPUs are busy, but repeatedly idle for a minute or more.

    What it means: a node's GPU utilization is 70 % or more at its 95th percentile and below 10 % at its 5th, with
    three or more dips that continue in the second half of the time. Minutes of checkpoints, evaluations and restarts
    are left out, and so are dips during which disk usage grows: these are checkpoints that are not logged.

    Why it matters: the GPUs can be kept busy, so what they wait for in the dips is the only obstacle.

    What to do: read what the log says during the dips; a data loader that runs dry, fetching a shard, or writing a
    log or checkpoint in the training loop are the usual causes.

    Source: SageMaker Debugger's LowGPUUtilization rule (p95 above 70, p5 below 10 is fluctuation), on one-minute means;
    the number of dips is this project's.
    """
    found = dips(case.steady)
    if not found or case.window is None:
        return None
    worst = min(found, key=lambda one: one.p50)
    hit = [one.node for one in found]
    busy = case.steady[(case.steady["metric"] == "gpu_utilization") & case.steady["node"].isin(hit)]["value_pct"]
    share = max(0.0, 1 - float(busy.mean()) / worst.p95) * len(hit) / max(len(hit), case.gpu_nodes)
    savings = (Saving(STEPS, share),)
    by_cpu = worst.cpu_in_dips is not None and worst.cpu_in_dips > CPU_IN_DIPS_PCT
    cause = (
        f" The CPU is at {percent(worst.cpu_in_dips)} in the dips: the input pipeline cannot keep up." if by_cpu else ""
    )
    return Finding(
        "fluctuating-gpu-utilization",
        "warning",
        "high" if by_cpu else "medium",
        f"GPUs idle in {worst.dips} dips, {worst.minutes:.0f} min in all",
        f"GPU utilization jumps between {percent(worst.p95)} and {percent(worst.p5)} {nodes(hit, case.gpu_nodes or len(hit))} "
        f"since {case.clock(case.window.start)}: {worst.dips} dips below {LOW_PCT:.0f} % on {worst.node}, {worst.minutes:.0f} "
        f"minutes in all{_unexplained(case)}.{cause}{money_of(case, savings, 'of waiting GPUs')}",
        (
            Evidence("GPU utilization, p95", worst.p95, "%", worst.node, *span(case), view="gpu_utilization"),
            Evidence("GPU utilization, p5", worst.p5, "%", worst.node, *span(case), view="gpu_utilization"),
            Evidence(f"dips below {LOW_PCT:.0f} %", float(worst.dips), "", worst.node, *span(case)),
            *(
                Evidence(f"CPU utilization {when}, median", value, "%", worst.node, view="cpu_utilization")
                for when, value in (("in the dips", worst.cpu_in_dips), ("otherwise", worst.cpu_else))
                if value is not None
            ),
        ),
        Recommendation(
            _MORE_WORKERS
            if by_cpu
            else "Read what the log says during the dips; then train for ten minutes on data cached in memory. If "
            "the dips go away, the input is the cause: use more workers and prefetching, FastFile mode or FSx.",
            source="SageMaker Debugger rule LowGPUUtilization",
        ),
        not_checked=("disk and network: CloudWatch has no figures for their load in training jobs",),
        savings=savings,
    )


def _unexplained(case: Case) -> str:
    """What was looked for and does not explain the dips; nothing is claimed where no log line was read."""
    if not case.run.logs.lines:
        return "; without the logs, checkpoints and evaluations cannot be ruled out"
    return ", not explained by checkpoints or evaluations"


_SURE = 8


@rule(
    "recurring-stalls",
    needs="profiler",
    silenced_by=("stall", "nccl-timeout", "checkpoint-stall"),
    explains=("low-gpu-utilization", "fluctuating-gpu-utilization"),
)
def stalls_that_recur(case: Case) -> Finding | None:
    """All GPUs of a node stand still again and again, for less than a minute each time.

    What it means: in the samples of the job's profiler, all GPUs of a node are below 20 % for 1 to 60 seconds, at least five
    times at one period (or three times, each beside a checkpoint's line), in two of three of the minutes that were read, and
    3 % of the time or more. The period is compared with the step time: every step, or every so many.

    Why it matters: one-minute averages hide it. Two seconds in every ten look like "80 % busy", and cost a fifth of the bill.

    What to do: if it comes at every step, the input is late: more loader workers, prefetching, faster storage. If it comes
    with checkpoints, write them in the background or each rank its own part. If it comes every so many steps, look at
    what the script does then: logging, evaluation, clearing caches.

    Source: the profiler's GPUUtilization by GPU and its sampling times; the thresholds are this project's.
    """
    steps = case.steps
    told = case.run.events[case.run.events["kind"].str.startswith("checkpoint")]["timestamp"].dropna()
    saved_s = [at.timestamp() for at in told]
    with_saves = recurring_stalls(case.gpus_at_work, None, saved_s) if saved_s else ()
    with_saves = tuple(one for one in with_saves if one.goes_with == "checkpoint")
    others = recurring_stalls(case.gpus, steps.median_s if steps is not None else None)
    found = sorted((*with_saves, *others), key=lambda one: -one.share)
    if not found:
        return None
    worst = found[0]
    nodes = {one.node for one in found}
    # Checkpoints were read on purpose, so their share of what was read is not their share of the time.
    savings = () if worst.goes_with == "checkpoint" else (Saving(STEPS, min(1.0, worst.share)),)
    return Finding(
        "recurring-stalls",
        "warning",
        "high" if worst.count >= _SURE else "medium",
        f"GPUs stand still {worst.length_s:.1f} s {_rhythm(worst)}",
        f"All GPUs of {worst.node} stand still for {worst.length_s:.1f} s {_rhythm(worst)}{_with(worst, case)}: "
        f"{count(worst.count, 'time')} in the minutes that were read since {case.clock(worst.since)}"
        f"{_share(worst)}.{_others(len(nodes) - 1)} One-minute averages hide it."
        f"{money_of(case, savings, 'of waiting GPUs')}",
        tuple(item for one in found[:3] for item in _evidence(one)),
        Recommendation(_ADVICE[worst.goes_with], source="rule recurring-stalls"),
        not_checked=("minutes that were not read: a profiler's output is read in part",),
        savings=savings,
    )


_ADVICE = {
    "step": "Each step waits for its input: give the data loader more workers, let it prefetch, or cache the data. To check "
    "first: train for ten minutes on data cached in memory.",
    "steps": "Look at what the script does every so many steps: logging that reads values from the GPU, evaluation, garbage "
    "collection, clearing the allocator's cache. Do it less often, or in the background.",
    "checkpoint": "Write checkpoints in the background (torch.distributed.checkpoint.async_save), let each rank write its "
    "own part, or save less often.",
    "": "Find out what the script does at this period: a log line at the same distance, a loader that opens its next file, a "
    "thread that flushes. Samples of py-spy during a standstill show it.",
}


def _rhythm(one: Stalls) -> str:
    if one.goes_with == "step":
        return "in each step"
    if one.goes_with == "steps":
        return f"every {one.steps} steps"
    if one.goes_with == "checkpoint":
        return "at checkpoints" if one.period_s is None else f"at checkpoints, every {_time(one.period_s)}"
    return f"every {_time(one.period_s)}"


def _with(one: Stalls, case: Case) -> str:
    if one.goes_with in {"step", "steps"} and case.steps is not None and case.steps.median_s is not None:
        return f" (every {_time(one.period_s)}; a step takes {step_seconds(case.steps.median_s)})"
    return ""


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "so often"
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _share(one: Stalls) -> str:
    return "" if one.goes_with == "checkpoint" else f", {percent(100 * one.share)} of the time"


def _others(more: int) -> str:
    return f" So do those of {count(more, 'more node')}." if more else ""


def _evidence(one: Stalls) -> tuple[Evidence, ...]:
    since, until = pd.Timestamp(one.since), pd.Timestamp(one.until)
    period = (Evidence("standstills: period", one.period_s, "s", one.node, since, until),) if one.period_s else ()
    return (Evidence("standstills: length, p50", one.length_s, "s", one.node, since, until), *period)
