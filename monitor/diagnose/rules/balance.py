"""A rule about stages of a pipeline that are not equally busy."""

from __future__ import annotations

from monitor.analyze.peers import peer_groups
from monitor.diagnose.rulebook import Case, rule
from monitor.diagnose.words.devices import enough, fewest_points
from monitor.model import Evidence, Finding, Recommendation
from monitor.words import count, percent

#: Stages of equal work differ by less.
UNEQUAL_POINTS = 10.0


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
    What equal stages would gain is not predicted: no published pair tells, and utilization also counts waiting inside NCCL.
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
            Evidence(f"GPU utilization, median, stage {_stage(str(name))}", float(value), "%", view="gpu_utilization")
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
        None,
        (
            "the time of each stage: stages do not log it",
            "waiting inside NCCL, which looks busy",
            "the gain: no published pairs calibrate a figure",
        ),
    )


def _stage(group: str) -> str:
    """The stages of a group of peers, whose name is the type and the stages."""
    return group.rpartition(" ")[2]


def _size(groups: dict[str, str], group: str) -> int:
    return sum(1 for each in groups.values() if each == group)
