"""Rules about GPUs that are not full, or do little though they look busy, when no more specific rule says why: a small batch,
otherwise the likely causes in order."""

from __future__ import annotations

from monitor.analyze.devices import processes_per_host, within
from monitor.analyze.step_time import variation
from monitor.diagnose.advised import SHORT_MEMORY_PCT, fits, memory_p95
from monitor.diagnose.hints import hints
from monitor.diagnose.rulebook import Case, parameter, rule
from monitor.diagnose.rules import memory_to_spare, parallelism
from monitor.diagnose.stakes import STEPS
from monitor.diagnose.words.devices import (
    distributions,
    enough,
    everywhere,
    left_out,
    money_of,
    pipeline_degree,
    slow_on_efa,
    span,
    spread,
)
from monitor.model import Distribution, Evidence, Finding, Recommendation, Saving
from monitor.predict.outcome import bubble_fraction
from monitor.words import percent, step_seconds

_FEWEST_STEPS = 10
# As "room": below it a larger microbatch has a place.
_ROOM_PCT = 80.0
# GPUs that are busier than this do not wait for their input.
_BUSY_PCT = 80.0
_EXPLAINED = (
    *("stall", "nccl-timeout", "one-gpu-in-use", "unused-gpus", "idle-gpus", "cpu-bottleneck", "small-batch"),
    *("fluctuating-gpu-utilization", "communication-bound", "full-precision"),
)


@rule("low-mfu", needs="steps", silenced_by=_EXPLAINED)
def low_mfu(case: Case) -> Finding | None:
    """The model gets less than half of the usual share of the GPUs' peak, and no other finding says why.

    What it means: the model FLOP utilization (MFU), as the log prints it or worked out from batch, sequence length,
    parameters and step time, is below half of what is usual on this GPU, also when the time that GPUs visibly wait, and
    the pipeline's bubble, are left out.

    Why it matters: a GPU counts as busy while any kernel runs, however small; MFU says how much of what you pay for
    reaches the model. At half of the usual MFU the same training costs twice as much.

    What to do: start with what the libraries' own warnings name, then a larger microbatch where memory has room, fused
    attention (sdpa or flash attention) and torch.compile; a profile of one step shows the rest.

    Source: MFU as defined by Chowdhery et al. 2022; usual values are from published runs (A100 46 %, H100 35 %:
    MosaicML; V100 24 %: Megatron-LM); the threshold of half is this project's.
    """
    got = case.mfu
    if got is None or got.healthy is None or case.steps is None or (case.steps.distinct or 0) < _FEWEST_STEPS:
        return None
    gpu = case.pooled.get("gpu_utilization")
    working = (1.0 if gpu is None else max(gpu.p50, 1.0) / 100) * (1 - (bubble_fraction(case.setup) or 0.0))
    if not got.is_low or got.value / working >= got.healthy / 2:
        return None
    is_busy = gpu is not None and gpu.p50 >= _BUSY_PCT
    step_s = case.steps.median_s
    said = tuple(hint for hint in hints(case) if not (is_busy and hint.of_the_loader))
    savings = (Saving(STEPS, 1 - got.value / got.healthy, kind="computing"),)
    took = f", {step_seconds(step_s)} a step" if step_s is not None else ""
    busy = f" GPUs look {percent(gpu.p50)} busy." if gpu is not None else ""
    causes = f" What the log or the configuration names: {'; '.join(hint.cause for hint in said)}." if said else ""
    return Finding(
        "low-mfu",
        "warning",
        "medium",
        f"Little useful work: MFU {percent(100 * got.value)}",
        f"The model gets {percent(100 * got.value)} of the peak of {got.gpu_model}{took}; {percent(100 * got.healthy)} or "
        f"more is usual.{busy}{causes}{money_of(case, savings, 'more than at the usual MFU')}",
        (
            Evidence("model FLOP utilization", round(100 * got.value, 2), "%", None, *span(case)),
            Evidence(f"usual on {got.gpu_model}", 100 * got.healthy, "%"),
            *(
                ()
                if gpu is None
                else (Evidence("GPU utilization, p50", gpu.p50, "%", None, *span(case), view="gpu_utilization"),)
            ),
            *(hint.seen for hint in said),
        ),
        Recommendation(_advice(case, tuple(hint.remedy for hint in said)), source="MFU: Chowdhery et al. 2022"),
        not_checked=(
            f"how exact the MFU is: it is from {got.how}",
            "which kernels take the time: a profile of one step (torch.profiler) tells",
        ),
        savings=savings,
    )


def _advice(case: Case, remedies: tuple[str, ...]) -> str:
    """What costs nothing to try first, in order; nothing that there is no room for."""
    out = list(remedies)
    memory = case.setup.real("gpu_memory_utilization")
    if memory is not None and memory < _ROOM_PCT:
        out.append(f"Raise the microbatch: GPU memory is at {percent(memory)}.")
    if case.setup.flag("flash_attention") is not True and not any("flash_attention" in each for each in out):
        out.append("Use fused attention (sdpa or flash attention).")
    out.append("Profile one step with torch.profiler, and look for gaps between kernels and for small ones.")
    if len(out) == 1:
        return out[0]
    return " ".join(f"({number}) {each}" for number, each in enumerate(out, start=1))


# SageMaker Debugger's LowGPUUtilization and BatchSize rules: p95 below 70 %, here on one-minute node means.
LOW_P95_PCT = 70.0
STEADY_MAD = 0.03
CPU_HIGH_PCT = 80.0
# How near the busy cores must be to the number of loader processes for these to be what is full.
AS_MANY_CORES = 0.10
_WORKERS = ("num_workers", "dataloader_num_workers", "n_workers", "workers", "data_loader_workers")
_EXACT = (
    "busy-core",
    "io-wait",
    "stall",
    "nccl-timeout",
    "one-gpu-in-use",
    "unused-gpus",
    "idle-gpus",
    "cpu-bottleneck",
)


@rule("small-batch", needs="metrics", silenced_by=_EXACT, whole_log=True)
def small_batch(case: Case) -> Finding | None:
    """GPU, GPU memory and CPU are all far from full: the batch is small for this hardware.

    What it means: the 95th percentiles of GPU, GPU-memory and CPU utilization are all below 70 %, there is no
    pipeline whose bubbles would explain it, the steps are steady (MAD at most 3 % of the median), and there is no
    sign of data loaders at their limit or of sockets instead of EFA. Minutes of checkpoints, evaluations and restarts
    are left out.

    Why it matters: the only bottleneck is the amount of work per step; the same samples could be processed in less
    time, or on a smaller instance.

    What to do: raise the batch size per device until GPU memory is near 85 %, watching convergence; or use fewer or
    smaller instances.

    Source: SageMaker Debugger's BatchSize rule (70/70/70), rescaled to one-minute data; the steadiness criterion is
    this project's.
    """
    gpu, memory, cpu = (case.pooled.get(f"{name}_utilization") for name in ("gpu", "gpu_memory", "cpu"))
    if gpu is None or memory is None or cpu is None or not enough(case) or pipeline_degree(case) > 1:
        return None
    wobble = variation(case.run.steps)
    if max(gpu.p95, memory.p95, cpu.p95) >= LOW_P95_PCT or wobble is None or wobble > STEADY_MAD:
        return None
    if _loader_words(case) or _network_evidence(case) or memory_to_spare.has_larger(case):
        return None
    assert case.window is not None
    assert case.steps is not None
    assert case.steps.median_s is not None
    savings = (Saving(STEPS, 1 - gpu.p50 / 100),)
    accumulated = memory_to_spare.small_microbatch.check(case)
    return Finding(
        "small-batch",
        "warning",
        "medium",
        f"Batch small for the GPUs: {percent(gpu.mean)} busy",
        f"The batch is small for these GPUs: GPU {spread(gpu)}, GPU memory p95 {percent(memory.p95)} and CPU p95 "
        f"{percent(cpu.p95)} {everywhere(case)} since {case.clock(case.window.start)}, and every step takes the "
        f"same {step_seconds(case.steps.median_s)} (MAD {wobble * 100:.1f} %){left_out(case)}. Nothing is full, so "
        f"more work per step would take little extra time.{money_of(case, savings, 'of waiting GPUs')}",
        (*distributions(case), Evidence("step time, MAD / median", wobble * 100, "%", None, *span(case), view="steps")),
        accumulated.recommendation
        if accumulated is not None
        else Recommendation(
            "Raise the batch size per device step by step until GPU memory is near 85 %, and watch convergence; or "
            "use fewer or smaller instances at the same speed.",
            parameter="batch_size",
            source="SageMaker Debugger rule BatchSize",
        ),
        not_checked=(
            "whether a larger batch still converges as well",
            "whether the allocator holds memory that it does not use",
            *(("communication between the nodes, which a larger batch would hide",) if case.gpu_nodes > 1 else ()),
        ),
        savings=savings,
    )


@rule(
    "low-gpu-utilization",
    needs="metrics",
    silenced_by=(*_EXACT, "raise-active-microbatches", "fluctuating-gpu-utilization", "small-batch"),
)
def low_gpu_utilization(case: Case) -> Finding | None:
    """GPUs wait for a good part of the time.

    What it means: the 95th percentile of GPU utilization over all nodes and minutes after the first step is below 70 %;
    minutes of checkpoints, evaluations and restarts are left out.

    Why it matters: GPU hours are billed whether the GPU works or waits.

    What to do: find what the GPUs wait for: the pipeline's window, the input pipeline, communication, or a small
    batch; the finding lists what the configuration and the other figures make likely, in order, and what would
    confirm each.

    Source: SageMaker Debugger's LowGPUUtilization rule (p95 below 70), rescaled to one-minute data of whole nodes.
    """
    gpu = case.pooled.get("gpu_utilization")
    if gpu is None or case.window is None or gpu.p95 >= LOW_P95_PCT or not enough(case):
        return None
    if case.window.since == "training start":
        return None  # neither a step nor a busy minute: nothing says that the work has begun
    if parallelism.is_explained(case, gpu.mean) and parallelism.raise_microbatches.check(case) is not None:
        return None  # the bubble is all of it, and its finding says what would gain
    memory, cpu = case.pooled.get("gpu_memory_utilization"), case.pooled.get("cpu_utilization")
    causes = _likely_causes(case, memory, cpu)
    room = (
        f"; GPU memory has room, p95 {percent(memory.p95)}" if memory is not None and memory.p95 < LOW_P95_PCT else ""
    )
    savings = (Saving(STEPS, 1 - gpu.p50 / 100),)
    return Finding(
        "low-gpu-utilization",
        "warning",
        "high" if case.window.since == "first step" else "medium",
        f"GPUs work {percent(gpu.mean)} of the time",
        f"GPUs wait for {percent(100 - gpu.mean)} of the time: GPU {spread(gpu)} {everywhere(case)} since the "
        f"{case.window.since}, "
        f"{case.clock(case.window.start)}{room}{left_out(case)}.{money_of(case, savings, 'of waiting GPUs')} Likely "
        f"causes in order, with what would confirm each: {'; '.join(causes)}.",
        (*distributions(case), *_network_evidence(case), *(hint.seen for hint in hints(case))),
        Recommendation(_first_step(case, cpu), source="SageMaker Debugger rule LowGPUUtilization; SMP best practices"),
        not_checked=(
            "single GPUs, kernels and network: CloudWatch has no figures for them in training jobs"
            if case.gpus.empty
            else "kernels, and minutes that were not read of the profiler's output",
        ),
        savings=savings,
    )


def _likely_causes(case: Case, memory: Distribution | None, cpu: Distribution | None) -> list[str]:
    """In the order of the checks; what was seen stands first in each, what would confirm it in brackets."""
    causes: list[str] = []
    p, m, a = pipeline_degree(case), case.setup.microbatches, case.setup.window
    if p > 1:
        if a is not None and m is not None and a < min(m, p + 2):
            causes.append(
                f"the pipeline's window is narrow: active_microbatches {a} with {p} stages and {m} microbatches (a wider one "
                "shortens the step)"
            )
        if m is not None and m < 4 * p:
            causes.append(
                f"few microbatches for the pipeline: {m} for {p} stages leave a bubble (the step grows by less than the "
                "number of microbatches)"
            )
        if not causes:
            causes.append(f"the pipeline's bubble ({p} stages)")
    causes += [f"{hint.cause} (the job says so itself)" for hint in hints(case)]
    if words := _loader_words(case):
        causes.append(words)
    elif cpu is not None and cpu.p95 > CPU_HIGH_PCT:
        causes.append(
            f"the input pipeline: CPU {percent(cpu.p95)} at its 95th percentile (steps get faster on cached data)"
        )
    if slow := slow_on_efa(case):
        causes.append(f"communication: the log says “{slow[0].line[:80]}”")
    elif case.gpu_nodes > 1:
        causes.append("communication between nodes (a run on one node has a shorter step for the same batch per GPU)")
    if memory is not None and memory.p95 < LOW_P95_PCT:
        causes.append(f"a small batch: GPU memory p95 {percent(memory.p95)} (a larger one costs little time)")
    told = processes_per_host(case.run.job, case.run.events)
    gpus = {node.name: node.gpus or 0 for node in case.run.job.nodes}
    halves = sorted({count // 2 for count in gpus.values()} - {0})
    if told is None and any(within(case.by_minute, gpus, used, 1) for used in halves):
        causes.append("some GPUs without work (count the processes on each host)")
    if not words and (cpu is None or cpu.p95 <= CPU_HIGH_PCT):
        causes.append("data loading in few processes (the step without the loader is shorter)")
    return causes[:3]


def _loader_words(case: Case) -> str:
    """That the data loader has too few processes, where the configuration, and the CPU with it, says so; else empty."""
    for name in _WORKERS:
        workers, told = parameter(case, name), parameter(case, "processes_per_host")
        if workers is None or workers < 0:
            continue
        if workers == 0:
            return f"data loading inside the training process: {name} is 0 (a few workers shorten the step)"
        vcpus = {node.vcpus for node in case.run.job.nodes if node.gpus}
        gpus = {node.gpus for node in case.run.job.nodes if node.gpus}
        cpu = case.pooled.get("cpu_utilization")
        if len(vcpus) == 1 and len(gpus) == 1 and cpu is not None and (cores := vcpus.pop()):
            busy, loaders = cpu.p50 / 100 * cores, workers * (told or gpus.pop() or 1)
            if abs(busy - loaders) <= AS_MANY_CORES * loaders and loaders < cores:
                return (
                    f"data loading in few processes: about {busy:.0f} of {cores} cores are busy, as many as there are loader "
                    f"workers ({name} {workers})"
                )
    return ""


def _network_evidence(case: Case) -> tuple[Evidence, ...]:
    return tuple(
        Evidence("network between the nodes", one.what, "", one.node or None, one.at, line=one.line)
        for one in slow_on_efa(case)[:1]
    )


def _first_step(case: Case, cpu: Distribution | None) -> str:
    p, m, a = pipeline_degree(case), case.setup.microbatches, case.setup.window
    if p > 1 and m is not None and a is not None and a < min(m, p + 2):
        better = min(m, p) if a < min(m, p) else min(m, p + 2)
        if memory_p95(case) is not None and not fits(case.setup, {"active_microbatches": better}):
            return (
                f"Free GPU memory first (recompute activations, shard the optimizer state); then raise active_microbatches from "
                f"{a} to {better}, and compare the step time."
            )
        return (
            f"Try active_microbatches {better} (now {a}) while GPU memory stays below 92 %, and compare the step time."
        )
    if p > 1 and m is not None and m < 4 * p:
        return f"Raise microbatches (now {m}) and the batch with it, so that the {p} stages overlap more."
    if _loader_words(case) or (cpu is not None and cpu.p95 > CPU_HIGH_PCT):
        return "Give the data loader more workers and prefetching, or read from FSx or in FastFile mode."
    if said := hints(case):
        return f"{' '.join(hint.remedy for hint in said)} Then time one step without the data loader."
    memory = memory_p95(case)
    if memory is not None and memory > SHORT_MEMORY_PCT:
        return (
            "Time one step without the data loader; if it is no faster, profile one: GPU memory has no room for a larger "
            "batch."
        )
    return "Time one step without the data loader; if it is no faster, raise the batch size per device."
