"""Rules about work that is distributed or computed in a way that leaves GPUs below what they could do."""

from __future__ import annotations

from monitor.analyze.stages import peer_groups
from monitor.diagnose.advised import read
from monitor.diagnose.device_words import enough, fewest_points
from monitor.diagnose.rule import Case, rule
from monitor.diagnose.stakes import STEPS
from monitor.model import Evidence, Finding, Prediction, Recommendation, Saving
from monitor.words import count, percent

#: Stages of equal work differ by less.
UNEQUAL_POINTS = 10.0
# GPUs that compute for most of the time gain from faster arithmetic.
_COMPUTES_PCT = 60.0


@rule(
    "unbalanced-stages",
    silenced_by=("stall", "slow-node", "unused-gpus", "idle-gpus", "one-gpu-in-use"),
    whole_log=True,
)
def unbalanced_stages(case: Case) -> Finding | None:
    """The stages of the pipeline are not equally busy: the busiest sets the pace.

    What it means: the nodes of one group of pipeline stages are busier than those of another by at least ten points
    of GPU utilization (median over their minutes). Only pipelines whose stages are on different nodes can be judged.

    Why it matters: a step takes as long as its slowest stage; the others' spare time is lost.

    What to do: move layers from the busy stages to the others: with SMP v1, a lower memory_weight balances
    computation (or use auto_partition=false with your own partition); with Megatron-LM, change the number of layers
    of the first and last stage.

    Source: SMP v1 core features (memory_weight balances memory and computation); the ten points are this project's.
    The gain is at most what equal stages would bring.
    """
    setup = case.setup
    if (setup.pipeline_degree or 1) < 2 or not enough(case):
        return None
    groups = peer_groups(case.run.job)
    if groups is None or len(set(groups.values())) < 2:
        return None
    busy = case.steady[case.steady["metric"] == "gpu_utilization"]
    by_group = busy.assign(group=busy["node"].astype(str).map(groups)).groupby("group")["value_pct"]
    medians = by_group.median()[by_group.count() >= fewest_points(case)]
    if len(medians) < 2 or medians.max() - medians.min() < UNEQUAL_POINTS:
        return None
    high, low = str(medians.idxmax()), str(medians.idxmin())
    most = 100 * (medians.mean() / medians.max() - 1)
    what = "memory_weight" if setup.framework == "smp1" else "the layers of each stage"
    return Finding(
        "unbalanced-stages",
        "info",
        "low",
        f"Pipeline stages unequally busy: GPU {medians.max():.0f} and {medians.min():.0f} %",
        f"The GPUs of stage {_stage(high)} ({count(_size(groups, high), 'node')}) are {percent(medians.max())} "
        f"busy, those of stage {_stage(low)} {percent(medians.min())} (median over their minutes): the busiest "
        "stage sets the pace.",
        tuple(
            Evidence(f"GPU utilization, median, stage {_stage(str(name))}", float(value), "%")
            for name, value in medians.items()
        ),
        Recommendation(
            "Lower memory_weight (0.8 balances memory, 0 computation), or define your own partition (auto_partition=false)."
            if setup.framework == "smp1"
            else "Move layers from the busy stages to the others and compare the step times.",
            what if setup.framework == "smp1" else None,
            setup.real("memory_weight") if setup.framework == "smp1" else None,
            0.2 if setup.framework == "smp1" else None,
            "SMP v1 core features; schedule bound by the slowest stage",
        ),
        Prediction(
            (most, most / 2, 0.0),
            None,
            "Model-based, not measured. At most what equally busy stages would gain; utilization also counts "
            "waiting inside NCCL.",
        ),
        ("the time of each stage: stages do not log it", "waiting inside NCCL, which looks busy"),
        savings=(Saving(STEPS, -most / 200),),
    )


@rule("full-precision", silenced_by=("invalid-configuration", "stall"), whole_log=True)
def full_precision(case: Case) -> Finding | None:
    """Training runs in 32-bit precision on GPUs with 16-bit tensor cores.

    What it means: neither the library's nor the script's configuration turns on fp16 or bf16, and the GPUs compute
    most of the time.

    Why it matters: matrix products in 16 bits run two to four times as fast on tensor cores, and activations take
    half the memory.

    What to do: train in bf16 (A100 and newer) or fp16 with loss scaling, and watch the loss until you trust it. SMP
    v1 accepts bf16 only with sharded data parallelism.

    Source: SMP v2 best practices (always use mixed precision); SMP v1 configuration (fp16 since 1.10); data sheets of
    the GPUs.
    """
    setup, gpu = case.setup, case.pooled.get("gpu_utilization")
    known = setup.known("precision")
    models = {node.gpu_model or "" for node in case.run.job.nodes if node.gpus}
    if known is None or known.value != "fp32" or gpu is None or gpu.p50 < _COMPUTES_PCT or not enough(case):
        return None
    if setup.framework not in ("smp1", "smp2", "fsdp", "deepspeed", "megatron") or not models:
        return None
    if not all(model.startswith("NVIDIA") for model in models):
        return None
    sharded = (setup.number("sharded_data_parallel_degree") or 1) > 1
    to = "bf16" if setup.framework != "smp1" or (sharded and not models & {"NVIDIA V100", "NVIDIA T4"}) else "fp16"
    return Finding(
        "full-precision",
        "info",
        "low" if known.is_default else "medium",
        f"32-bit precision on {' and '.join(sorted(models))}",
        f"Precision is fp32 ({known.read_from}) on {' and '.join(sorted(models))}, and GPUs are {percent(gpu.p50)} "
        "busy: in 16 bits matrix products would run two to four times as fast, and activations would take half the "
        "memory.",
        read(case, "precision", "fp16", "bf16"),
        Recommendation(
            f"Train in {to}{' with loss scaling' if to == 'fp16' else ''}, and compare the step times and losses of "
            "a short run.",
            to,
            False,
            True,
            "SMP v2 best practices: always use mixed precision",
        ),
        None,
        ("whether the script itself casts (autocast)", "whether the model trains as well in 16 bits"),
    )


def _stage(group: str) -> str:
    """The stages of a group of peers, whose name is the type and the stages."""
    return group.rpartition(" ")[2]


def _size(groups: dict[str, str], group: str) -> int:
    return sum(1 for each in groups.values() if each == group)
