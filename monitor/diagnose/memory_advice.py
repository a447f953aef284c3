"""What makes a model fit into a GPU that was too small for it. The cheapest change first, in the words of the job's framework."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from monitor.analyze.memory import Fill
from monitor.diagnose.advised import MOST_MEMORY_PCT, prediction
from monitor.diagnose.hints import when_memory_is_short
from monitor.diagnose.rulebook import Case, parameter
from monitor.model import Prediction, Recommendation
from monitor.predict.outcome import Outcome, what_if
from monitor.predict.setup import Setup
from monitor.words import percent

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


_ADDED = " (each figure includes the changes before it)"


@dataclass(frozen=True, slots=True)
class Advice:
    """The steps in words, and what the first of them that is one knob would do to time and memory."""

    recommendation: Recommendation
    prediction: Prediction | None


@dataclass(frozen=True, slots=True)
class _Step:
    """One change, and what becomes of the GPU memory with it; empty where that cannot be told."""

    words: str
    becomes: str = ""


def advice(case: Case, found: Fill) -> Advice:
    """What costs nothing, a smaller batch, then the other changes by what they add to the step time, those of which nobody can
    tell last; with the predicted memory where it can be told, one added to the other until it fits."""
    name, batch = _batch(case)
    to = batch // 2 if batch is not None and batch > 1 else None
    steps: list[_Step] = []
    if found.shared:
        steps.append(
            _Step("see which other process is on that GPU (two ranks on one device: set_device by local rank)")
        )
    if found.fragmented:
        words = (
            "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, since the allocator held enough memory, but in pieces"
        )
        steps.append(_Step(words))
    values: dict[str, Any] = {}
    first: Outcome | None = None
    if to is not None:
        words, values = _half_batch(case, name, batch or 0, to)
        first = what_if(case.setup, values)
        steps.append(_Step(words, _becomes(first)))
    elif batch is None:
        steps.append(_Step("half the batch size per device, with twice the gradient accumulation steps"))
    steps += [*_further(case, values), *map(_Step, when_memory_is_short(case))]
    added = sum(bool(step.becomes) for step in steps) > 1
    numbered = "; ".join(f"({number}) {step.words}{step.becomes}" for number, step in enumerate(steps, start=1))
    one_knob = not (found.shared or found.fragmented or to is None)
    recommendation = Recommendation(
        f"Change one thing at a time, the cheapest first{_ADDED if added else ''}: {numbered}.",
        parameter=name or None if one_knob else None,
        from_value=batch if one_knob else None,
        to_value=to if one_knob else None,
        source=_FRAMEWORK_WORDS[framework(case)],
    )
    return Advice(recommendation, prediction(first) if one_knob and first is not None else None)


def _half_batch(case: Case, name: str, batch: int, to: int) -> tuple[str, dict[str, Any]]:
    """(words, parameters) of half the samples at once."""
    setup, m = case.setup, case.setup.microbatches or 1
    if setup.framework == "smp1":
        if m > 1 and to % m:
            fewer = max(1, m // 2)
            words = f"{name} {batch} → {to}, with microbatches {m} -> {fewer} so that it divides evenly"
            return words, {
                "batch_size": to,
                "microbatches": fewer,
                "active_microbatches": min(fewer, setup.window or 1),
            }
        return f"{name} {batch} → {to} with twice the gradient accumulation steps, for the same global batch", {
            "batch_size": to
        }
    return f"{name} {batch} → {to} with twice the gradient accumulation steps, for the same global batch", {name: to}


def _becomes(found: Outcome) -> str:
    """`` (peak GPU memory 104 % → about 71 %)``; empty where it cannot be told."""
    used, start, limit = found.memory.utilization_pct(), found.memory.start_gib, found.memory.limit_gib
    if used is None or start is None or not limit:
        return ""
    now = f"peak GPU memory ≥ {percent(100 * start / limit)}"
    if found.memory.bound:
        return f" ({now} → at least {percent(used[0])}, since the model's shape is not known)"
    return f" ({now} → about {percent(used[1])}{', fits' if used[2] < MOST_MEMORY_PCT else ''})"


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
        ("recompute", "smp.set_activation_checkpointing on the transformer layers (about a third more time per step)"),
        ("active_microbatches", "active_microbatches {active} → {fewer}"),
        ("shard_optimizer_state", "shard_optimizer_state: True"),
        ("offload_activations", "offload_activations: True, with checkpointing and microbatches above 1"),
        ("tensor", "tensor_parallel_degree {tensor} → {doubled}, inside a node"),
    ),
    "smp2": (
        ("recompute", "apply_activation_checkpointing on the transformer layers (about a third more time per step)"),
        ("hybrid_shard_degree", "a larger hybrid_shard_degree, or 0 for all ranks"),
        ("sm_activation_offloading", "sm_activation_offloading: true"),
        ("tensor", "tensor_parallel_degree {tensor} → {doubled}, inside a node"),
    ),
    "deepspeed": (
        ("recompute", "activation checkpointing (gradient_checkpointing_enable or deepspeed.checkpointing)"),
        ("zero3", "zero_optimization.stage 3, and offload_optimizer to the CPU if that is not enough"),
        ("tensor", "tensor parallelism, inside a node"),
    ),
    "megatron": (
        ("recompute", "--recompute-activations, then --recompute-granularity full"),
        ("distributed_optimizer", "--use-distributed-optimizer and --sequence-parallel"),
        ("tensor", "--tensor-model-parallel-size {tensor} → {doubled}, inside a node"),
    ),
    "hf": (
        ("recompute", "gradient_checkpointing=True (about a third more time per step)"),
        ("fsdp", 'fsdp="full_shard auto_wrap", or a DeepSpeed configuration with ZeRO stage 3'),
    ),
    "lightning": (
        ("recompute", "activation checkpointing (FSDPStrategy's activation_checkpointing_policy, or torch.utils.checkpoint)"),
        ("fsdp", 'strategy="fsdp" or "deepspeed_stage_3"'),
    ),
    "fsdp": (
        ("recompute", "apply_activation_checkpointing on the transformer blocks (about a third more time per step)"),
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
        ("recompute", "torch.utils.checkpoint on the largest blocks (about a third more time per step)"),
        ("fsdp", "FSDP (full shard) instead of DDP"),
    ),
}  # fmt: skip


def _further(case: Case, so_far: dict[str, Any]) -> list[_Step]:
    """What comes behind the batch; what is on already is left out. Each is added to those before it."""
    setup, known = case.setup, framework(case)
    tensor, active = setup.tensor_degree or 1, setup.window
    gpus = max((node.gpus or 0 for node in case.run.job.nodes), default=0)
    values, out = dict(so_far), []
    fewer = (active or 2) // 2
    for what, words in sorted(_CHANGES[known], key=lambda change: _cost(setup, _values_of(change[0], fewer, tensor))):
        if what == "recompute" and (setup.flag("activation_checkpointing") or setup.flag("selective_recomputation")):
            continue
        if what == "active_microbatches" and (active is None or active < 2):
            continue
        if what == "tensor" and gpus and 2 * tensor > gpus:
            continue
        if what not in {"recompute", "active_microbatches", "tensor"} and _is_on(case, what):
            continue
        values |= _values_of(what, fewer, tensor)
        found = what_if(setup, values)
        told = _becomes(found) if not found.memory.bound else ""
        said = words.format(tensor=tensor, doubled=2 * tensor, active=active, fewer=fewer)
        out.append(_Step(said, told))
    return out


def _cost(setup: Setup, values: dict[str, Any]) -> float:
    """What a change adds to the step time, percent, also where no data calibrate it: it only sorts. More than any where nobody
    can tell."""
    change = what_if(setup, values).time.estimate_pct if values else None
    return float("inf") if change is None else change[1]


def _values_of(what: str, fewer: int, tensor: int) -> dict[str, Any]:
    """The parameters that a change of ``_CHANGES`` sets; empty where it is none that is predicted."""
    known: dict[str, dict[str, Any]] = {
        "recompute": {"activation_checkpointing": True},
        "active_microbatches": {"active_microbatches": fewer},
        "shard_optimizer_state": {"shard_optimizer_state": True},
        "offload_activations": {"offload_activations": True},
        "zero3": {"zero_stage": 3},
        "distributed_optimizer": {"shard_optimizer_state": True, "sequence_parallel": True},
        "full_shard": {"sharding_strategy": "full_shard"},
        "tensor": {"tensor_parallel_degree": 2 * tensor},
    }
    return known.get(what, {})


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
