"""Rules about what each GPU keeps of parameters, gradients and optimizer states, and over how many GPUs they are shared."""

from __future__ import annotations

from monitor.choices import FRAMEWORK_NAMES
from monitor.diagnose.advised import (
    GROUP_IN_NODE,
    SHARD_OPTIMIZER,
    SHORT_MEMORY_PCT,
    SMP_PRACTICES,
    estimated,
    gain,
    has_room,
    memory_evidence,
    memory_p95,
    memory_words,
    prediction,
    read,
    saved,
)
from monitor.diagnose.rulebook import Case, rule
from monitor.model import Finding, Recommendation
from monitor.predict.layout import sharding_of
from monitor.predict.outcome import Outcome, what_if
from monitor.words import percent

# Below this many parameters the optimizer's state is small beside what else there is (AWS's guide).
_LARGE_BILLIONS = 1.0
# Optimizers without a state of each parameter.
_STATELESS = ("sgd",)


# It takes no time from the steps, as recomputing and offloading do: it is to be tried before them.
@rule(
    "shard-optimizer-state",
    needs="nothing",
    silenced_by=("invalid-configuration",),
    about="risk",
    explains=("activation-checkpointing", "offload-activations"),
    whole_log=True,
)
def shard_optimizer_state(case: Case) -> Finding | None:
    """Each GPU keeps the full optimizer state of its part of the model, although several GPUs have the same part.

    What it means: more than one data-parallel rank holds the same optimizer state, nothing shards it, and the model
    has over a billion parameters or GPU memory is above 85 % at its 95th percentile.

    Why it matters: Adam's state takes 12 of 16 bytes per parameter in half precision; sharded over d ranks, each
    keeps 1/d of it for the same traffic. What is gathered after a step hides behind nothing, so that a step may take longer
    on many nodes; no figure is given, since no published pair tells.

    What to do: shard the optimizer state; use the memory for a larger batch, or for less recomputation. Checkpoints
    are then written in parts, one per rank.

    Source: SMP v1 best practices (shard_optimizer_state; useful above about a billion parameters); ZeRO stage 1, arXiv
    1910.02054.
    """
    setup = case.setup
    option = SHARD_OPTIMIZER.get(setup.framework) if setup.framework else None
    sharded, ranks = sharding_of(setup), setup.reduced_data_parallel
    if option is None or sharded is None or sharded[0] != "none" or ranks is None or ranks < 2 or _stateless(case):
        return None
    billions, memory = setup.real("parameters_billion"), memory_p95(case)
    large, short = billions is not None and billions > _LARGE_BILLIONS, memory is not None and memory > SHORT_MEMORY_PCT
    # A small model of plain data parallelism fills memory with activations.
    if not large and not (short and setup.framework not in ("ddp", "fsdp")):
        return None
    # Of plain data parallelism the parts are those of the optimizer alone.
    found = what_if(
        setup, {"shard_optimizer_state": True} if setup.framework == "ddp" else {option.parameter: option.to}
    )
    size = "" if billions is None else f" of a model with {billions:.3g} billion parameters"
    full = "" if memory is None else f"; GPU memory is at {percent(memory)} (p95 of the fullest node)"
    return Finding(
        "shard-optimizer-state",
        "warning" if short else "info",
        "high" if large else "medium",
        f"Optimizer state not sharded over {ranks} ranks",
        f"Each of {ranks} data-parallel ranks keeps the same optimizer state{size}{full}.",
        (
            *read(case, "shard_optimizer_state", "sharding_strategy", "zero_stage", "parameters_billion"),
            *memory_evidence(case),
        ),
        Recommendation(
            f"{option.words}: {memory_words(found)}. The traffic stays the same, but what is gathered after a step hides "
            "behind nothing: that costs little on one node, and more with every node. Checkpoints are then written in parts.",
            option.parameter,
            _now(case, option.parameter),
            option.to,
            f"{SMP_PRACTICES}; ZeRO (arXiv 1910.02054)",
        ),
        prediction(found),
        (
            *(("whether the optimizer has state: its type is not known",) if not _named_optimizer(case) else ()),
            "the cost in step time: no published pairs calibrate a figure",
        ),
    )


@rule(
    "sharding-across-nodes",
    needs="nothing",
    silenced_by=("invalid-configuration", "communication-bound", "needless-sharding"),
    whole_log=True,
)
def sharding_across_nodes(case: Case) -> Finding | None:
    """The model state is sharded over more GPUs than a node has, although one node's GPUs could hold it.

    What it means: the full-sharding degree (or the world size, if everything is sharded over it) is larger than the
    number of GPUs per node, and with groups of one node's GPUs the predicted memory stays below 92 %.

    Why it matters: every layer of every microbatch gathers its parameters over the network between the nodes; with
    groups inside a node only gradients cross it, once per step.

    What to do: set the degree to the number of GPUs per node and compare the step times; memory use grows because
    each GPU holds a larger share.

    Source: MiCS (arXiv 2205.00119); SMP guides: use the smallest degree that fits. Without NVLink a gain is certain
    and 5 to 30 % is stated, which promises no share of jobs: one measurement is known, 14 % for ViT-630M on
    g4dn.12xlarge. With NVLink and EFA the gain is small, and no figure is given.
    """
    setup = case.setup
    each, nodes, sharded = setup.gpus_per_node, setup.nodes, sharding_of(setup)
    named = GROUP_IN_NODE.get(setup.framework) if setup.framework else None
    if named is None or each is None or nodes is None or nodes < 2 or each < 2 or sharded is None:
        return None
    what, degree = sharded
    if what != "full" or degree <= each or (setup.world or 0) % each:
        return None
    slow = setup.text("interconnect") == "none"
    found = _inside_node(case, each)
    if slow:
        found = estimated(found)
    if not has_room(found):
        return None
    parameter, words = named
    to: object = "HYBRID_SHARD" if parameter == "sharding_strategy" else each
    if parameter == "sharding_strategy" and "fsdp" in case.run.job.configuration:
        # transformers' TrainingArguments.
        parameter, to, words = "fsdp", "hybrid_shard auto_wrap", 'Set fsdp="hybrid_shard auto_wrap"'
    predicted = prediction(found)
    return Finding(
        "sharding-across-nodes",
        "warning" if slow else "info",
        "high" if slow else "medium",
        f"Sharded over {degree} GPUs, nodes have {each}",
        f"{FRAMEWORK_NAMES[setup.framework or 'fsdp']} shards parameters over {degree} GPUs on {-(-degree // each)} "
        f"nodes of {each}: each layer is gathered over the network. The model state would fit one node's {each} "
        f"GPUs: {memory_words(found)}{'; the GPUs of a node have no NVLink' if slow else ''}.",
        (
            *read(case, "sharded_data_parallel_degree", "hybrid_shard_degree", "sharding_strategy", "zero_stage"),
            *read(case, "parameters_billion", "gpus_per_node"),
            *memory_evidence(case),
        ),
        Recommendation(
            f"{words.format(each=each)} and compare the step times.{saved(case, found)} It uses more memory: "
            f"{memory_words(found)}.",
            parameter,
            _now(case, parameter, degree),
            to,
            "SMP best practices: the smallest degree that fits; MiCS (arXiv 2205.00119)",
        ),
        predicted,
        (
            "how much of the gathering is hidden behind compute",
            *(() if slow else ("the gain, which is small: no published pairs calibrate a figure",)),
        ),
        savings=gain(found),
    )


def _inside_node(case: Case, each: int) -> Outcome:
    """Full sharding over the GPUs of one node."""
    parameter, _ = GROUP_IN_NODE[case.setup.framework or "fsdp"]
    return what_if(case.setup, {parameter: "HYBRID_SHARD" if parameter == "sharding_strategy" else each})


def _now(case: Case, parameter: str, otherwise: object = None) -> object:
    known, written = case.setup.known(parameter), case.run.job.configuration.get(parameter)
    return known.value if known is not None else written.value if written is not None else otherwise


def _named_optimizer(case: Case) -> str:
    for name in ("optimizer", "optim", "optimizer_type", "optimizer_name"):
        found = case.run.job.configuration.get(name)
        if found is not None and found.value:
            return str(found.value).lower()
    return ""


def _stateless(case: Case) -> bool:
    momentum = case.run.job.configuration.get("momentum")
    return _named_optimizer(case) in _STATELESS and (momentum is None or str(momentum.value) in {"0", "0.0"})
