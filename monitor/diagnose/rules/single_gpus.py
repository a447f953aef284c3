"""Rules about single GPUs of a node, which only the output of a job's profiler tells apart."""

from __future__ import annotations

from monitor.analyze.devices import Processes, processes_per_host
from monitor.analyze.single_gpus import UnlikeGpu, WrongGpus, unlike_gpus, wrong_gpus
from monitor.diagnose.rulebook import Case, rule
from monitor.diagnose.stakes import STEPS
from monitor.diagnose.words.devices import gpu_numbers, money_of, pipeline_degree, share_of
from monitor.model import Evidence, Finding, Recommendation, Saving
from monitor.words import count, percent

# With nothing to do and hardly any memory, no process uses it.
_UNUSED_PCT = 2.0
_OTHER_MEMORY = 10.0
_NAMED = 3


@rule("gpu-binding", needs="profiler", silenced_by=("stall", "nccl-timeout"))
def gpu_binding(case: Case) -> Finding | None:
    """Processes run on the wrong GPUs: one GPU has two of them while another is empty.

    What it means: in the samples of the job's profiler, over at least three minutes, a GPU of a node is empty (at most 2 % busy
    and 2 % of its memory, at the 95th percentile) although the node starts a process for it, or although another GPU holds
    at least 1.3 times the memory of the others and 15 points more. An empty GPU alone is no wrong binding.

    Why it matters: two processes on one GPU take turns, the others wait for both at every step, and the empty GPU is paid
    for. It may also be what a CUDA out of memory error comes from.

    What to do: let each process select its own GPU before it allocates anything (torch.cuda.set_device with LOCAL_RANK), and
    do not set CUDA_VISIBLE_DEVICES for all of them.

    Source: the profiler's GPUUtilization and GPUMemoryUtilization by GPU; the thresholds are this project's.
    """
    told = processes_per_host(case.run.job, case.run.events)
    found = wrong_gpus(case.gpus, told.each if told else None)
    if not found:
        return None
    worst = max(found, key=lambda one: (len(one.empty), bool(one.shared)))
    savings = _unused(case, found)
    each = f"{told.each} processes run there, and only " if told and told.each > worst.used else "Only "
    held = ""
    if worst.shared_held_pct is not None:
        more = percent(worst.shared_held_pct)
        held = f" {gpu_numbers(worst.shared)} {'holds' if len(worst.shared) == 1 else 'hold'} {more} of its memory, the others"
        held += f" {percent(worst.others_held_pct)}: two processes seem to share it."
    nodes = f" So it is on {count(len(found) - 1, 'more node')}." if found[1:] else ""
    return Finding(
        "gpu-binding",
        "warning",
        "high" if worst.shared and told else "medium",
        f"{gpu_numbers(worst.empty)} of {worst.node} {'is' if len(worst.empty) == 1 else 'are'} empty{_elsewhere(worst, told)}",
        f"Processes seem to run on the wrong GPUs of {worst.node}: {gpu_numbers(worst.empty)} "
        f"{'is' if len(worst.empty) == 1 else 'are'} empty. {each}{worst.used} of {worst.gpus} GPUs are in use."
        f"{held}{nodes}{money_of(case, savings, 'of idle GPUs')}",
        (
            Evidence("GPUs in use", worst.used, f"of {worst.gpus}", worst.node, view="gpu_utilization"),
            *(
                (
                    Evidence(
                        f"{gpu_numbers(worst.shared)}: memory",
                        worst.shared_held_pct,
                        "%",
                        worst.node,
                        view="gpu_memory_utilization",
                    ),
                )
                if worst.shared_held_pct is not None
                else ()
            ),
            Evidence(
                "memory of the other GPUs in use", worst.others_held_pct, "%", worst.node, view="gpu_memory_utilization"
            ),
        ),
        Recommendation(
            "Let each process take its own GPU: torch.cuda.set_device(int(os.environ['LOCAL_RANK'])) before anything is "
            "allocated, and leave CUDA_VISIBLE_DEVICES alone.",
            source="rule gpu-binding",
        ),
        not_checked=(
            "which process runs on which GPU",
            "minutes that were not read: a profiler's output is read in part",
        ),
        savings=savings,
    )


def _elsewhere(one: WrongGpus, told: Processes | None) -> str:
    """Where the processes are that it lacks, for the title."""
    if one.shared:
        return f", {gpu_numbers(one.shared)} {'is' if len(one.shared) == 1 else 'are'} shared"
    return f", though {told.each} processes run" if told else ""


def _unused(case: Case, found: tuple[WrongGpus, ...]) -> tuple[Saving, ...]:
    share = share_of(case, (len(one.empty) for one in found))
    return () if share is None else (Saving(STEPS, share),)


@rule("unlike-gpu", needs="profiler", silenced_by=("stall", "nccl-timeout", "one-gpu-in-use", "gpu-binding"))
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
        Evidence(
            f"{where}: GPU utilization", one.busy_pct, "%", one.node, one.since, one.until, view="gpu_utilization"
        ),
        Evidence(
            f"{where}: median of its siblings",
            one.siblings_busy_pct,
            "%",
            one.node,
            one.since,
            one.until,
            view="gpu_utilization",
        ),
    )
