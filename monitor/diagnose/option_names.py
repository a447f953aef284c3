"""What does each framework call the knob? The same advice in the reader's own terms."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from monitor.model import Finding, Job
from monitor.predict.parameters import OTHER_NAMES, plain_name
from monitor.predict.setup import Framework, Setup


@dataclass(frozen=True, slots=True)
class Option:
    """``parameter`` as it is written, with the value to set; ``words`` are the order of it in a sentence."""

    parameter: str
    to: Any
    words: str


#: Optimizer states shared out among the data-parallel ranks.
SHARD_OPTIMIZER: Mapping[Framework, Option] = {
    "smp1": Option("shard_optimizer_state", True, "Set shard_optimizer_state to true in mp_parameters"),
    "megatron": Option("use_distributed_optimizer", True, "Add --use-distributed-optimizer"),
    "deepspeed": Option("zero_stage", 1, 'Set "zero_optimization": {"stage": 1} in the DeepSpeed configuration'),
    "fsdp": Option("sharding_strategy", "SHARD_GRAD_OP", "Set ShardingStrategy.SHARD_GRAD_OP instead of NO_SHARD"),
    "ddp": Option(
        "sharding_strategy",
        "SHARD_GRAD_OP",
        "Wrap the optimizer in ZeroRedundancyOptimizer, or use FSDP with SHARD_GRAD_OP",
    ),
}
#: Each layer's forward done again in the backward.
CHECKPOINTING: Mapping[Framework | None, Option] = {
    "smp1": Option(
        "activation_checkpointing",
        True,
        "Call smp.set_activation_checkpointing on the transformer layers in the script",
    ),
    "smp2": Option(
        "activation_checkpointing",
        True,
        "Wrap the transformer layers with apply_activation_checkpointing in the script",
    ),
    "fsdp": Option(
        "activation_checkpointing",
        True,
        "Wrap the transformer layers with apply_activation_checkpointing in the script",
    ),
    "megatron": Option(
        "recompute_granularity",
        "selective",
        "Add --recompute-granularity selective (2 to 7 % more time), or full with --recompute-method uniform if "
        "that is not enough",
    ),
    "deepspeed": Option(
        "activation_checkpointing",
        True,
        "Checkpoint the layers with deepspeed.checkpointing, or the model's gradient_checkpointing_enable()",
    ),
    None: Option(
        "gradient_checkpointing", True, "Turn on gradient_checkpointing (torch.utils.checkpoint) for the layers"
    ),
}
#: Groups of full sharding that stay inside a node of {each} GPUs.
GROUP_IN_NODE: Mapping[Framework, tuple[str, str]] = {
    "smp1": ("sharded_data_parallel_degree", "Set sharded_data_parallel_degree to {each} in mp_parameters"),
    "smp2": ("hybrid_shard_degree", "Set hybrid_shard_degree to {each}"),
    "fsdp": ("sharding_strategy", "Set ShardingStrategy.HYBRID_SHARD: full sharding inside a node, replicas across nodes"),
    "deepspeed": ("mics_shard_size", 'Set "mics_shard_size": {each} under zero_optimization, with deepspeed.zero.MiCS_Init'),
}  # fmt: skip


def microbatches_option(setup: Setup, to: int) -> Option:
    """``to`` microbatches of a pipeline of one framework, their size kept."""
    now, batch = setup.microbatches or 1, setup.number("global_batch_size")
    if setup.framework == "smp1":
        return Option("microbatches", to, f"Raise microbatches from {now} to {to}")
    if setup.framework == "deepspeed" and batch is not None and setup.number("gradient_accumulation_steps") is None:
        words = f"Raise train_batch_size from {batch} to {batch * to // now}, for {to} microbatches instead of {now}"
        return Option("global_batch_size", batch * to // now, words)
    if setup.framework == "deepspeed":
        return Option(
            "gradient_accumulation_steps",
            to,
            f"Raise gradient_accumulation_steps (the microbatches) from {now} to {to}",
        )
    if setup.framework == "megatron" and batch is not None:
        return Option(
            "global_batch_size",
            batch * to // now,
            f"Raise --global-batch-size from {batch} to {batch * to // now}, for {to} microbatches instead of {now}",
        )
    return Option("microbatches", to, f"Raise the number of microbatches from {now} to {to}")


def written_name(job: Job, canonical: str) -> str:
    """The name under which the job's configuration has a parameter; its own where it has none."""
    for name in job.configuration:
        plain = plain_name(name)
        if OTHER_NAMES.get(plain, plain) == canonical:
            return name
    return canonical


#: What launchers outside SMP call otherwise, in texts that have the library's names.
_DEGREES = ("tensor_parallel_degree", "pipeline_parallel_degree", "context_parallel_degree", "expert_parallel_degree")


def in_its_words(job: Job, finding: Finding) -> Finding:
    """A finding whose texts have the names of degrees as the job's configuration writes them."""
    advice = finding.recommendation
    return replace(
        finding,
        title=_renamed(job, finding.title),
        summary=_renamed(job, finding.summary),
        recommendation=None
        if advice is None
        else replace(
            advice,
            text=_renamed(job, advice.text),
            further=tuple(_renamed(job, each) for each in advice.further),
        ),
    )


def _renamed(job: Job, text: str) -> str:
    for name in _DEGREES:
        text = re.sub(rf"\b{name}\b", written_name(job, name), text)
    return text
