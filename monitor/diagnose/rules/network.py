"""Rules about the network between the nodes: EFA that is there and not in use, and steps that wait for communication."""

from __future__ import annotations

from monitor.analyze.devices import without_efa
from monitor.diagnose.rulebook import Case, parameter, rule
from monitor.diagnose.stakes import STEPS
from monitor.diagnose.words.devices import enough, everywhere, money_of, slow_on_efa, span
from monitor.model import Evidence, Finding, Recommendation, Saving
from monitor.words import nodes, percent, step_seconds

BUSY_P50_PCT = 90.0
# A shard group over so many nodes and more has its gathers on the slow links.
SHARDED_OVER_NODES = 2
_QUOTED = 120


@rule("efa-not-in-use", needs="logs", explains=("communication-bound", "low-gpu-utilization"))
def efa_not_in_use(case: Case) -> Finding | None:
    """The nodes have an Elastic Fabric Adapter (EFA), but NCCL does not use it.

    What it means: all nodes with GPUs are of types with EFA, there are two or more of them, and NCCL's startup lines
    name sockets as its network, or say that the EFA plug-in found no provider; no line of the node shows EFA in use.

    Why it matters: gradients, shards and activations then go through TCP: a fraction of the bandwidth, at many times the
    latency. A larger instance with a faster network changes nothing.

    What to do: use an image with aws-ofi-nccl and libfabric (the AWS Deep Learning Containers have them), do not set
    NCCL_NET or FI_PROVIDER to anything else, and make sure the VPC's security group allows all traffic to and from
    itself.

    Source: NCCL and aws-ofi-nccl log lines ("Selected Provider is efa", "Using network Socket"); EFA by type from EC2's
    DescribeInstanceTypes; the SageMaker training toolkit requests EFA on some of these types only.
    """
    slow = slow_on_efa(case)
    if not slow:
        return None
    first = slow[0]
    where = nodes([one.node for one in slow if one.node], case.gpu_nodes) if first.node else "between the nodes"
    kinds = sorted({node.instance_type or "" for node in case.run.job.nodes if node.gpus})
    what = "sockets are in use" if first.what == "sockets" else "EFA was requested but not found"
    since = f" since {case.clock(first.at)}" if first.at is not None else ""
    return Finding(
        "efa-not-in-use",
        "warning",
        "high" if first.what == "sockets" else "medium",
        "EFA not in use: NCCL uses sockets" if first.what == "sockets" else "NCCL's plug-in did not find EFA",
        f"{', '.join(kinds)} has EFA, but NCCL does not use it: {what} {where}{since}, on {case.gpu_nodes} nodes. "
        f"The log says “{first.line[:_QUOTED]}”.",
        tuple(Evidence("NCCL's network", one.what, "", one.node or None, one.at, line=one.line) for one in slow[:3]),
        Recommendation(
            "Use an AWS Deep Learning Container (or install aws-ofi-nccl and libfabric), set FI_PROVIDER=efa, leave NCCL_NET "
            "unset, and check that the security group allows all traffic to and from itself. With NCCL_DEBUG=INFO the log must "
            "then say “Selected Provider is efa”.",
            parameter="FI_PROVIDER",
            to_value="efa",
            source="AWS: EFA and NCCL; aws-ofi-nccl",
        ),
        not_checked=("how much of the step is communication: CloudWatch has no network figures for training jobs",),
    )


@rule("communication-bound", needs="logs", silenced_by=("stall",))
def communication_bound(case: Case) -> Finding | None:
    """GPUs look busy, but the model gets little out of them, and the configuration sends a lot over slow links.

    What it means: GPU utilization is above 90 % at its median, the model FLOP utilization (MFU) is below half of what
    is typical for this GPU, and a likely explanation was seen: NCCL uses sockets, or a tensor or shard group spans
    several nodes.

    Why it matters: a GPU that waits inside a communication kernel counts as busy, so utilization looks perfect while
    half the money or more pays for waiting.

    What to do: first of all EFA; then tensor parallelism inside a node; shard groups no larger than a node; fewer
    synchronizations (gradient accumulation).

    Source: MFU as defined by Chowdhery et al. 2022 (6 FLOP per parameter and token, with attention); typical values
    are from published runs (A100 46 %, H100 35 %: MosaicML; V100 24 %: Megatron-LM); the threshold of half is this
    project's.
    """
    gpu = case.pooled.get("gpu_utilization")
    if gpu is None or gpu.p50 <= BUSY_P50_PCT or not enough(case) or case.gpu_nodes < 2 or case.window is None:
        return None
    seen = _confirmation(case)
    step_s = case.steps.median_s if case.steps is not None else None
    got = case.mfu if seen is not None else None
    if seen is None or got is None or got.healthy is None or not got.is_low:
        return None
    why, proof, advice = seen
    savings = (Saving(STEPS, 1 - got.value / got.healthy),)
    took = f", {step_seconds(step_s)} a step" if step_s is not None else ""
    return Finding(
        "communication-bound",
        "warning",
        "medium",
        f"GPUs busy, little useful work: MFU {percent(100 * got.value)}",
        f"GPUs look busy, {percent(gpu.p50)} {everywhere(case)} since {case.clock(case.window.start)}, but the "
        f"model gets {percent(100 * got.value)} of their peak{took}; {percent(100 * got.healthy)} is typical on "
        f"{got.gpu_model}. {why}{money_of(case, savings, 'of GPUs waiting for communication')}",
        (
            Evidence("GPU utilization, p50", gpu.p50, "%", None, *span(case), view="gpu_utilization"),
            Evidence("model FLOP utilization", 100 * got.value, "%", None, *span(case)),
            proof,
        ),
        advice,
        not_checked=(
            f"how exact the MFU is: it is from {got.how}",
            "the precision: full precision and very long sequences have a lower MFU for good reason",
        ),
        savings=savings,
    )


def _confirmation(case: Case) -> tuple[str, Evidence, Recommendation] | None:
    """What sends much over the slow links: in words, as evidence, and what to change; None where nothing was seen."""
    if slow := without_efa(case.run.events):
        said = Evidence("NCCL's network", slow[0].what, "", slow[0].node or None, slow[0].at, line=slow[0].line)
        if slow_on_efa(case):
            text = "Get EFA working, then measure the step time again."
            return "NCCL does not use EFA.", said, Recommendation(text, "FI_PROVIDER", None, "efa", "aws-ofi-nccl")
        if slow[0].what == "sockets":
            text = (
                "Compare with a run on one node at the same batch size per GPU: the time saved there is "
                "communication. Then use an instance type with EFA, synchronize less often (gradient accumulation), "
                "or shard inside a node."
            )
            return "NCCL uses sockets.", said, Recommendation(text, source="diagnosis from MFU and NCCL's log lines")
    per_node = min((node.gpus or 0 for node in case.run.job.nodes if node.gpus), default=0)
    for name, limit in (
        ("tensor_parallel_degree", per_node + 1),
        ("tensor_model_parallel_size", per_node + 1),
        ("sharded_data_parallel_degree", SHARDED_OVER_NODES * per_node),
        ("hybrid_shard_degree", SHARDED_OVER_NODES * per_node),
    ):
        degree = parameter(case, name)
        if degree is not None and per_node and degree >= limit:
            said = Evidence(name, float(degree), f"across nodes of {per_node} GPUs")
            text = f"Set {name} to {per_node}, so that its traffic stays inside a node, if the model fits."
            advice = Recommendation(text, name, degree, per_node, "SMP best practices")
            return f"{name} {degree} spans nodes of {per_node} GPUs.", said, advice
    return None
