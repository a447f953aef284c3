"""What makes a model fit into a GPU that was too small for it? The cheapest change first, in the words of the job's framework."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from monitor.analyze.cascade import Cascade
from monitor.diagnose.rule import Case, parameter
from monitor.model import Recommendation

# The names under which scripts and libraries take the samples of one device.
_BATCHES = (
    "per_device_train_batch_size",
    "train_micro_batch_size_per_gpu",
    "micro_batch_size",
    "micro-batch-size",
    "train_batch_size",
    "batch_size",
    "batch-size",
    "per_gpu_train_batch_size",
    "batch_size_training",
    "local_batch_size",
)
_RECOMPUTE = ("activation_checkpointing", "gradient_checkpointing", "recompute_activations", "recompute_granularity")
_SIZES = re.compile(r"\b(now|peak|capacity|wanted|idle)=(\d+\.\d+)")
# Where a process that asks for more than there is held less than this share, somebody else holds the rest.
_OWN_SHARE = 0.7
_NEAR_LINES = 60


@dataclass(frozen=True, slots=True)
class Fill:
    """How full the GPU was when it refused, GiB; None where the line does not tell."""

    now: float | None = None
    """Held by live tensors."""
    peak: float | None = None
    """Held by the process, its allocator's reserve included."""
    capacity: float | None = None
    wanted: float | None = None
    idle: float | None = None
    """Reserved by the allocator, and held by no tensor."""

    @property
    def shared(self) -> bool:
        """Whether another process must hold much of the device."""
        return None not in (self.peak, self.capacity, self.wanted) and (
            self.peak + self.wanted < _OWN_SHARE * self.capacity  # type: ignore[operator]
        )

    @property
    def fragmented(self) -> bool:
        """Whether the allocator had enough for what was asked, in pieces."""
        return self.idle is not None and self.wanted is not None and self.idle >= self.wanted > 0


def fill(case: Case, first: Cascade | None) -> Fill:
    """How full the GPU of the rank that failed was, from the line of the refusal or the nearest one of the same rank."""
    rows = case.run.events[(case.run.events["kind"] == "gpu-memory") & case.run.events["text"].str.contains("wanted=")]
    if first is None or rows.empty:
        return Fill()
    rows = rows[(rows["stream"] == first.stream) & ((rows["line"] - first.line).abs() <= _NEAR_LINES)]
    rows = rows[rows["rank"].isna() | (rows["rank"] == first.rank)] if first.rank is not None else rows
    if rows.empty:
        return Fill()
    nearest = rows.loc[(rows["line"] - first.line).abs().astype("int64").idxmin(), "text"]
    return Fill(**{name: float(size) for name, size in _SIZES.findall(str(nearest))})


def advice(case: Case, found: Fill) -> Recommendation:
    """The changes in order of what they cost: nothing, a smaller batch, recomputing, sharding, tensor parallelism."""
    name, batch = _batch(case)
    to = batch // 2 if batch is not None and batch > 1 else None
    steps = []
    if found.shared:
        steps.append("see which other process is on that GPU (two ranks on one device: set_device by local rank)")
    if found.fragmented:
        steps.append("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, since the allocator held enough, but in pieces")
    microbatches = parameter(case, "microbatches") or 1
    if to is not None and microbatches > 1 and to % microbatches:
        steps.append(
            f"{name} {batch} -> {to}, with microbatches {microbatches} -> {max(1, microbatches // 2)} so that it divides"
        )
    elif to is not None:
        steps.append(f"{name} {batch} -> {to} with twice the gradient accumulation steps, for the same global batch")
    elif batch is None:
        steps.append("half the batch of one device, with twice the gradient accumulation steps")
    steps += _further(case)
    numbered = "; ".join(f"({number}) {step}" for number, step in enumerate(steps, start=1))
    if found.shared or found.fragmented or to is None:
        name, batch, to = "", None, None
    return Recommendation(
        f"Change one thing at a time, the cheapest first: {numbered}.",
        parameter=name or None,
        from_value=batch,
        to_value=to,
        source=_FRAMEWORK_WORDS[framework(case)],
    )


def framework(case: Case) -> str:
    """smp1, smp2, deepspeed, megatron, hf, lightning, fsdp, jax, tensorflow; torch where nothing tells."""
    job, names = case.run.job, {name.lower() for name in case.run.job.configuration}
    if job.smp_version is not None:
        return f"smp{job.smp_version}"
    formats = set(case.run.steps["format"]) if len(case.run.steps) else set()
    frames = " ".join(case.ending.frames) + " " + case.ending.text if case.ending is not None else ""
    told = " ".join((*names, *formats, frames)).lower()
    for word, known in (
        ("deepspeed", "deepspeed"),
        ("zero_stage", "deepspeed"),
        ("megatron", "megatron"),
        ("per_device_train_batch_size", "hf"),
        ("hf-trainer", "hf"),
        ("fsdp", "fsdp"),
        ("lightning", "lightning"),
        ("xlaruntimeerror", "jax"),
        ("maxtext", "jax"),
        ("resourceexhausted", "tensorflow"),
        ("oom when allocating", "tensorflow"),
    ):
        if word in told:
            return known
    return "torch"


_FRAMEWORK_WORDS = {
    "smp1": "SageMaker model parallel library v1, parameters",
    "smp2": "SageMaker model parallel library v2, parameters",
    "deepspeed": "DeepSpeed configuration",
    "megatron": "Megatron-LM arguments",
    "hf": "transformers TrainingArguments",
    "lightning": "Lightning Trainer",
    "fsdp": "PyTorch FSDP",
    "jax": "JAX, remat and sharding",
    "tensorflow": "TensorFlow, tf.distribute",
    "torch": "PyTorch, memory management",
}
#: (what, words, parameters that have it on already): checkpointing, sharding, tensor parallelism, in this order.
_CHANGES: dict[str, tuple[tuple[str, str], ...]] = {
    "smp1": (
        ("recompute", "smp.set_activation_checkpointing on the transformer layers (about a third more time a step)"),
        ("active_microbatches", "active_microbatches {active} -> {fewer}"),
        ("shard_optimizer_state", "shard_optimizer_state: True"),
        ("offload_activations", "offload_activations: True, with checkpointing and microbatches above 1"),
        ("tensor", "tensor_parallel_degree {tensor} -> {doubled}, inside a node"),
    ),
    "smp2": (
        ("recompute", "apply_activation_checkpointing on the transformer layers (about a third more time a step)"),
        ("hybrid_shard_degree", "a larger hybrid_shard_degree, or 0 for all ranks"),
        ("sm_activation_offloading", "sm_activation_offloading: true"),
        ("tensor", "tensor_parallel_degree {tensor} -> {doubled}, inside a node"),
    ),
    "deepspeed": (
        ("recompute", "activation checkpointing (gradient_checkpointing_enable or deepspeed.checkpointing)"),
        ("zero3", "zero_optimization.stage 3, and offload_optimizer to the CPU if that is not enough"),
        ("tensor", "tensor parallelism, inside a node"),
    ),
    "megatron": (
        ("recompute", "--recompute-activations, then --recompute-granularity full"),
        ("distributed_optimizer", "--use-distributed-optimizer and --sequence-parallel"),
        ("tensor", "--tensor-model-parallel-size {tensor} -> {doubled}, inside a node"),
    ),
    "hf": (
        ("recompute", "gradient_checkpointing=True (about a third more time a step)"),
        ("fsdp", 'fsdp="full_shard auto_wrap", or a DeepSpeed configuration with ZeRO stage 3'),
    ),
    "lightning": (
        ("recompute", "activation checkpointing (FSDPStrategy's activation_checkpointing_policy, or torch.utils.checkpoint)"),
        ("fsdp", 'strategy="fsdp" or "deepspeed_stage_3"'),
    ),
    "fsdp": (
        ("recompute", "apply_activation_checkpointing on the transformer blocks (about a third more time a step)"),
        ("full_shard", "ShardingStrategy.FULL_SHARD, with each block wrapped by itself"),
        ("tensor", "tensor parallelism (parallelize_module), inside a node"),
    ),
    "jax": (
        ("recompute", "jax.checkpoint (remat) on the layers"),
        ("fsdp", "shard parameters and optimizer state over more devices (fsdp axis)"),
        ("tensor", "a larger tensor axis, inside a node"),
    ),
    "tensorflow": (("recompute", "tf.recompute_grad on the largest blocks"), ("fsdp", "mixed precision (mixed_float16)")),
    "torch": (
        ("recompute", "torch.utils.checkpoint on the largest blocks (about a third more time a step)"),
        ("fsdp", "FSDP (full shard) in place of DDP"),
    ),
}  # fmt: skip


def _further(case: Case) -> list[str]:
    """What comes behind the batch; what is on already is left out."""
    tensor = parameter(case, "tensor_parallel_degree") or parameter(case, "tensor_model_parallel_size") or 1
    active = parameter(case, "active_microbatches")
    gpus = max((node.gpus or 0 for node in case.run.job.nodes), default=0)
    out = []
    for what, words in _CHANGES[framework(case)]:
        if what == "recompute" and any(_is_on(case, name) for name in _RECOMPUTE):
            continue
        if what == "active_microbatches" and (active is None or active < 2):
            continue
        if what == "tensor" and gpus and 2 * tensor > gpus:
            continue
        if what not in {"recompute", "active_microbatches", "tensor"} and _is_on(case, what):
            continue
        out.append(words.format(tensor=tensor, doubled=2 * tensor, active=active, fewer=(active or 2) // 2))
    return out


def _batch(case: Case) -> tuple[str, int | None]:
    return next(((name, size) for name in _BATCHES if (size := parameter(case, name)) is not None), ("", None))


def _is_on(case: Case, name: str) -> bool:
    found = case.run.job.configuration.get(name)
    value: Any = found.value if found is not None else None
    return value not in (
        None,
        False,
        0,
        1 if name == "hybrid_shard_degree" else 0,
        "",
        "0",
        "False",
        "false",
        "none",
        "None",
    )
