"""Faults of GPUs that look busy: little useful work, waiting that counts as work, the wrong arithmetic, needless parts."""

from __future__ import annotations

import json
from dataclasses import replace

from benchmarks.planted.draw import Rng, Wish, ordinary, with_habits
from benchmarks.planted.faults_ended import Planted
from benchmarks.planted.hardware import G4DN, P3, P3DN, P4D, P5, Hardware
from benchmarks.planted.plan import Plan
from benchmarks.planted.truth import fault

_LIVE = ("completed", "running")
_PARAMETERS = 24 * 12 * 2048**2 + 32_000 * 2048
_ACCUMULATE = ("hf", "pairs", "lightning")


def low_mfu(rng: Rng, name: str, seed: int) -> Planted:
    """GPUs look busy, and the model gets 2 to 18 percent of their peak; the script prints tokens, TFLOP/s or its MFU."""
    wish = Wish(("megatron", "torchtitan", "nanogpt"), (P4D, P5), ends=_LIVE)
    plan = ordinary(rng, name, seed, wish)
    most = 0.18 if plan.hardware is P4D else 0.14
    plan = replace(plan, mfu=float(rng.uniform(0.02, most)), network="efa" if plan.nodes > 1 else "")
    return plan, fault("low-mfu", kind=plan.framework)


def pipelined(rng: Rng, name: str, seed: int, bubble_below: float, bubble_above: float) -> Plan:
    """A pipeline of Megatron-LM whose bubble lies between these, by its arguments alone."""
    nodes = (2, 4, 8, 16)[int(rng.integers(4))]
    plan = ordinary(rng, name, seed, Wish(("megatron",), (P4D, P5), (nodes,), ends=_LIVE))
    tensor, size = (2, 4, 8)[int(rng.integers(3))], (1, 2)[int(rng.integers(2))]
    stages = min((2, 4, 8)[int(rng.integers(3))], plan.world // tensor)
    fitting = [
        m for m in (1, 2, 4, 8, 16, 32, 64, 128, 256) if bubble_above <= (stages - 1) / (m + stages - 1) <= bubble_below
    ]
    microbatches = fitting[int(rng.integers(len(fitting)))]
    replicas = plan.world // (tensor * stages)
    batch = replicas * size * microbatches
    arguments = {
        "tensor-model-parallel-size": str(tensor),
        "pipeline-model-parallel-size": str(stages),
        "micro-batch-size": str(size),
        "global-batch-size": str(batch),
        "use-distributed-optimizer": "true",
        "bf16": "true",
    }
    levels = replace(plan.levels, gpu=float(rng.uniform(93, 99)), memory=float(rng.uniform(45, 80)))
    plan = replace(plan, tensor_parallel=tensor, pipeline_parallel=stages)
    return replace(plan, hyperparameters=arguments, batch=batch, levels=levels, network="efa")


def pipeline_bubble(rng: Rng, name: str, seed: int) -> Planted:
    """A third of each step and more is waiting inside NCCL."""
    plan = pipelined(rng, name, seed, 0.9, 0.3)
    # What waits does not compute.
    stages, size = plan.pipeline_parallel, int(plan.hyperparameters["micro-batch-size"])
    microbatches = plan.batch // (size * (plan.world // (plan.tensor_parallel * stages)))
    share = microbatches / (microbatches + stages - 1)
    return replace(plan, mfu=plan.mfu * share), fault("pipeline-bubble", "pipeline-inside-node")


def full_precision(rng: Rng, name: str, seed: int) -> Planted:
    """The script is told to compute in 32 bits, each in its own words."""
    of: tuple[Hardware, ...] = (P4D, P5, P3, P3DN, G4DN)
    plan = ordinary(rng, name, seed, Wish(("hf", "lightning", "pairs", "vision"), of, (1, 2, 4), ends=_LIVE))
    said = {
        "hf": {"per_device_train_batch_size": "8", "fp16": "false"},
        "lightning": {"precision": json.dumps("32-true")},
        "pairs": {"fp16": "false", "bf16": "false"},
        "vision": {"mixed_precision": json.dumps("no")},
    }[plan.framework]
    levels = replace(plan.levels, gpu=float(rng.uniform(90, 99)))
    return replace(plan, hyperparameters=said, levels=levels), fault("full-precision", kind=plan.framework)


def small_microbatch(rng: Rng, name: str, seed: int) -> Planted:
    """One sample at a time, many times a step, with most of the memory free."""
    plan = ordinary(rng, name, seed, Wish(_ACCUMULATE, (P4D, P5), (1, 2, 4), ends=_LIVE))
    steps = (16, 32, 64)[int(rng.integers(3))]
    shape = {"num_hidden_layers": "24", "hidden_size": "2048", "num_attention_heads": "16", "vocab_size": "32000"}
    said = {
        "per_device_train_batch_size": "1",
        "gradient_accumulation_steps": str(steps),
        "gradient_checkpointing": "true",
        "bf16": "true",
        "max_seq_length": "1024",
        **shape,
    }
    levels = replace(plan.levels, memory=float(rng.uniform(42, 60)), gpu=float(rng.uniform(88, 98)))
    plan = replace(plan, hyperparameters=said, levels=levels, batch=steps * plan.world, sequence=1024)
    # What 1.27 billion parameters take at this MFU.
    flops = 6 * _PARAMETERS * plan.batch * plan.sequence
    step_s = flops / (plan.mfu * 0.9 * plan.hardware.peak_tflops * 1e12 * plan.world)
    count = max(int(plan.steps * plan.pace.step_s / step_s), 40)
    plan = with_habits(rng, replace(plan, pace=replace(plan.pace, step_s=step_s), steps=count))
    return plan, fault("small-microbatch", "shard-optimizer-state", "low-mfu")


def needless_sharding(rng: Rng, name: str, seed: int) -> Planted:
    """A model that one GPU would hold is sharded over all of them, and gathered for each of many microbatches."""
    plan = ordinary(rng, name, seed, Wish(("hf", "pairs"), (P4D,), (2, 4), step_s=(0.6, 2), ends=_LIVE))
    said = {
        "fsdp": json.dumps("full_shard auto_wrap"),
        "per_device_train_batch_size": "8",
        "gradient_accumulation_steps": "16",
        "bf16": "true",
        "parameters_billion": f"{float(rng.uniform(0.9, 1.3)):.2f}",
    }
    levels = replace(plan.levels, memory=float(rng.uniform(14, 24)), gpu=float(rng.uniform(88, 98)))
    plan = replace(plan, hyperparameters=said, levels=levels, network="efa")
    return plan, fault("needless-sharding", "small-microbatch", "low-mfu")
