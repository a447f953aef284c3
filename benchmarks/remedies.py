"""Random setups of all seven kinds: does each remedy cure what it is for, break nothing else, and contradict no other one?"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from monitor.choices import Framework
from monitor.predict.problems.libraries import SetupProblem
from monitor.predict.problems.rules import problems_of
from monitor.predict.setup import Setup, changed, setup_from

COUNT = 5_000
#: None is a script that names no library.
KINDS: tuple[Framework | None, ...] = ("smp1", "smp2", "fsdp", "deepspeed", "megatron", "ddp", None)
_DEGREES = (1, 2, 3, 4, 6, 8, 12, 16)
_BATCHES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 30, 32, 64)
_MACHINES = (
    ("ml.p4d.24xlarge", 8, 40.0, "nvswitch", 400.0),
    ("ml.p5.48xlarge", 8, 80.0, "nvswitch", 3200.0),
    ("ml.g4dn.12xlarge", 4, 16.0, "none", 50.0),
    ("ml.g5.12xlarge", 4, 24.0, "none", 40.0),
    ("ml.p3.8xlarge", 4, 16.0, "nvlink", 10.0),
)
_OWN: Mapping[Framework | None, tuple[tuple[str, tuple[Any, ...]], ...]] = {
    "smp1": (
        ("pipeline_parallel_degree", _DEGREES), ("tensor_parallel_degree", _DEGREES), ("microbatches", _BATCHES),
        ("active_microbatches", _BATCHES), ("batch_size", _BATCHES), ("prescaled_batch", (True, False)),
        ("shard_optimizer_state", (True, False)), ("sharded_data_parallel_degree", (1, 2, 4, 8, 16, 32)),
        ("offload_activations", (True, False)), ("activation_checkpointing", (True, False)), ("fp16", (True, False)),
        ("bf16", (True, False)), ("ddp", (True, False)), ("optimize", ("speed", "memory")),
        ("placement_strategy", ("cluster", "spread")), ("pipeline", ("simple", "interleaved")),
    ),
    "smp2": (
        ("hybrid_shard_degree", (0, 1, 2, 4, 8, 12, 16, 32)), ("tensor_parallel_degree", _DEGREES),
        ("context_parallel_degree", (1, 2, 4)), ("expert_parallel_degree", (1, 2, 4)),
        ("sm_activation_offloading", (True, False)), ("activation_checkpointing", (True, False)), ("batch_size", _BATCHES),
    ),
    "fsdp": (
        ("sharding_strategy", ("full_shard", "shard_grad_op", "no_shard", "hybrid_shard")), ("micro_batch_size", _BATCHES),
        ("gradient_accumulation_steps", _BATCHES), ("activation_checkpointing", (True, False)),
        ("tensor_parallel_degree", (1, 2, 4)),
    ),
    "deepspeed": (
        ("zero_stage", (0, 1, 2, 3, 4)), ("micro_batch_size", _BATCHES), ("gradient_accumulation_steps", _BATCHES),
        ("global_batch_size", (16, 32, 64, 128, 256, 512)), ("pipeline_parallel_degree", _DEGREES),
        ("activation_checkpointing", (True, False)),
    ),
    "megatron": (
        ("pipeline_parallel_degree", _DEGREES), ("tensor_parallel_degree", _DEGREES), ("micro_batch_size", _BATCHES),
        ("global_batch_size", (16, 32, 64, 128, 256, 512)), ("virtual_stages", (1, 2, 4)),
        ("context_parallel_degree", (1, 2)), ("attention_heads", (12, 16, 32)), ("sequence_parallel", (True, False)),
        ("shard_optimizer_state", (True, False)),
    ),
    "ddp": (("micro_batch_size", _BATCHES), ("gradient_accumulation_steps", _BATCHES), ("precision", ("fp32", "bf16"))),
    None: (("per_device_train_batch_size", _BATCHES), ("gradient_accumulation_steps", _BATCHES)),
}  # fmt: skip


def setups(count: int, seed: int = 20_261) -> Iterator[Setup]:
    """So many setups, the kinds in turn; most of what a kind has is given."""
    rng = random.Random(seed)
    for number in range(count):
        yield random_setup(rng, KINDS[number % len(KINDS)])


def random_setup(rng: random.Random, kind: Framework | None) -> Setup:
    name, gpus, memory, joined, network = rng.choice(_MACHINES)
    values: dict[str, Any] = {
        "instance_type": name,
        "instance_count": rng.choice((1, 2, 3, 4, 8, 16)),
        "gpus_per_node": gpus,
        "gpu_memory_gib": memory,
        "interconnect": joined,
        "network_gbps": network,
    }
    values |= {parameter: rng.choice(choices) for parameter, choices in _OWN[kind] if rng.random() < 0.75}
    return setup_from(values, kind)


def applied(setup: Setup, problem: SetupProblem) -> Setup | None:
    """The setup as the remedy of a problem wants it; None where it is no single knob."""
    advice = problem.recommendation
    if advice.parameter is None or advice.to_value is None:
        return None
    return changed(setup, {advice.parameter: advice.to_value})


def faults_of(setup: Setup) -> Iterator[str]:
    """What is wrong with the remedies of one setup, each as a kind of fault and the ids it is about."""
    before = problems_of(setup)
    known = {(each.id, each.parameter) for each in before}
    wanted: dict[str, set[str]] = {}
    for each in before:
        advice = each.recommendation
        if advice.parameter is not None and advice.to_value is not None:
            wanted.setdefault(advice.parameter, set()).add(repr(advice.to_value))
        after = applied(setup, each)
        if after is None:
            continue
        left = problems_of(after)
        if any((other.id, other.parameter, other.words) == (each.id, each.parameter, each.words) for other in left):
            yield f"cures nothing: {each.id} {each.parameter}"
        for other in left:
            if (other.id, other.parameter) not in known:
                yield f"breaks: {each.id} {each.parameter} -> {other.id} {other.parameter}"
            elif other.rejected and (other.id, other.parameter) == (each.id, each.parameter):
                yield f"still refused: {each.id} {each.parameter}"
    for parameter, values in wanted.items():
        if len(values) > 1:
            yield f"contradicts: {parameter}"


def failures() -> list[str]:
    """A claim for each kind of fault."""
    return sorted({fault for setup in setups(COUNT) for fault in faults_of(setup)})


def rows(count: int = COUNT) -> list[tuple[str, ...]]:
    """A head, a row for each kind of fault, and the sums."""
    found: Counter[str] = Counter()
    remedies = told = 0
    for setup in setups(count):
        told += 1
        remedies += sum(applied(setup, each) is not None for each in problems_of(setup))
        found.update(faults_of(setup))
    table = [("fault of a remedy", "setups")]
    table += [(name, str(number)) for name, number in found.most_common()]
    return [*table, (f"{remedies} remedies of {told} setups", str(sum(found.values())))]
