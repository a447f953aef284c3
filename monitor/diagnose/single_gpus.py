"""Rules about single GPUs of a node, which only the output of a job's profiler tells apart."""

from __future__ import annotations

from monitor.analyze.unlike_gpus import UnlikeGpu, unlike_gpus
from monitor.diagnose.device_words import pipeline_degree
from monitor.diagnose.rule import Case, rule
from monitor.model import Evidence, Finding, Recommendation
from monitor.words import percent

# With nothing to do and hardly any memory, no process uses it.
_UNUSED_PCT = 2.0
_OTHER_MEMORY = 10.0
_NAMED = 3


@rule("unlike-gpu", silenced_by=("stall", "nccl-timeout", "one-gpu-in-use"))
def unlike_gpu(case: Case) -> Finding | None:
    """One GPU of a node is less busy, or busier, than the other GPUs of the same node.

    What it means: in the samples of the job's profiler, one GPU's utilization is at least 10 points away from the median
    of its siblings, beyond their own spread, in at least three of the minutes that were read, from the first of them to the
    last. Nodes with fewer than three GPUs are not judged, nor are nodes on which many GPUs differ, or pipelines, whose
    stages may differ for good reason.

    Why it matters: CloudWatch has one figure per host; with eight GPUs, one that is idle lowers it by an eighth, which looks
    like any other loss. In synchronous training, all GPUs wait for the slowest one at every step.

    What to do: if the GPU is idle and empty, start a process for it. If it holds other memory than its siblings, check which
    ranks run on it (CUDA_VISIBLE_DEVICES, LOCAL_RANK). Otherwise look at the input of that rank, and whether the same GPU
    is odd in the next run: if not, it was the instance.

    Source: the profiler's GPUUtilization and GPUMemoryUtilization by GPU; the thresholds are this project's.
    """
    if pipeline_degree(case) > 1:
        return None
    found = unlike_gpus(case.gpus)
    if not found:
        return None
    worst = found[0]
    figures = f"{percent(worst.busy_pct)} against {percent(worst.siblings_busy_pct)}"
    when = "in every minute that was read" if worst.from_the_start else f"since about {case.clock(worst.since)}"
    more = ""
    if found[1:]:
        names = ", ".join(one.name for one in found[1 : 1 + _NAMED])
        more = f" So {'is' if len(found) == 2 else 'are'} {names}{' and others' if len(found) > 1 + _NAMED else ''}."
    return Finding(
        "unlike-gpu",
        "warning",
        "high" if worst.minutes >= 2 * 3 else "medium",
        f"{worst.name} differs from its siblings: {figures}",
        f"GPU {worst.gpu} of the {worst.of} GPUs of {worst.node} is {abs(worst.points):.0f} points "
        f"{'less busy' if worst.points < 0 else 'busier'} than its siblings {when} ({figures}, "
        f"{worst.minutes} minutes).{_memory(worst)}{more}",
        tuple(item for one in found[:_NAMED] for item in _evidence(one)),
        Recommendation(_advice(worst), source="rule unlike-gpu"),
        not_checked=("minutes that were not read: a profiler's output is read in part",),
    )


def _memory(one: UnlikeGpu) -> str:
    if _is_unused(one):
        return " It holds no memory either: no process uses it."
    if abs(one.held_pct - one.siblings_held_pct) > _OTHER_MEMORY:
        return f" It holds {percent(one.held_pct)} of its memory, its siblings {percent(one.siblings_held_pct)}."
    return " It holds as much memory as they do." if one.held_pct == one.held_pct else ""


def _is_unused(one: UnlikeGpu) -> bool:
    return one.busy_pct <= _UNUSED_PCT and one.held_pct <= _UNUSED_PCT


def _advice(one: UnlikeGpu) -> str:
    if _is_unused(one):
        return f"Start one process per GPU: {one.of} on each node."
    if abs(one.held_pct - one.siblings_held_pct) > _OTHER_MEMORY:
        return (
            f"Check which processes run on GPU {one.gpu} of {one.node}: CUDA_VISIBLE_DEVICES, and whether each rank "
            "selects the GPU of its LOCAL_RANK."
        )
    if one.points < 0:
        return (
            f"Look at what the rank on GPU {one.gpu} of {one.node} loads and computes. If the same GPU is odd in the "
            "next run, it is the rank; if not, it was the instance."
        )
    return (
        f"The other GPUs seem to wait for GPU {one.gpu} of {one.node}. If it is busier again in the next run, give its rank "
        "less to do; if not, it was the instance."
    )


def _evidence(one: UnlikeGpu) -> tuple[Evidence, ...]:
    where = f"GPU {one.gpu}"
    return (
        Evidence(f"{where}: GPU utilization", one.busy_pct, "%", one.node, one.since, one.until),
        Evidence(f"{where}: median of its siblings", one.siblings_busy_pct, "%", one.node, one.since, one.until),
    )
