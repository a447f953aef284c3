"""Which values in a setup are not valid for their parameter, so that they count as unknown? The library's own
parameters are checked against its schema elsewhere; here are those of the job, the model and the script.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from monitor.predict.memory_change import MOST_USED_PCT
from monitor.predict.problem import Problem, problem
from monitor.predict.setup_types import Setup, whole_number, yes_or_no
from monitor.predict.smp_schema import V1, V2

_COUNTS = frozenset(
    {
        "pipeline_parallel_degree",
        "tensor_parallel_degree",
        "context_parallel_degree",
        "expert_parallel_degree",
        "microbatches",
        "active_microbatches",
        "batch_size",
        "micro_batch_size",
        "global_batch_size",
        "gradient_accumulation_steps",
        "activation_checkpointing_layers",
        "layers",
        "hidden_size",
        "attention_heads",
        "vocabulary_size",
        "sequence_length",
        "virtual_stages",
        "layers_per_virtual_stage",
        "instance_count",
        "processes_per_host",
        "world_size",
        "data_parallel_size",
    }
)
_FLAGS = frozenset({"activation_checkpointing", "selective_recomputation", "sequence_parallel", "flash_attention"})
_AMOUNTS = frozenset({"parameters_billion", "gpu_memory_gib", "network_gbps", "step_time_s"})
_WORDS: Mapping[str, tuple[str, ...]] = {
    "precision": ("fp16", "bf16", "fp32"),
    "interconnect": ("none", "nvlink", "nvswitch", "neuronlink"),
    "sharding_strategy": ("full_shard", "shard_grad_op", "no_shard", "hybrid_shard", "hybrid_shard_zero2"),
}
#: A count that was given beside a shape may differ from the shape's by so much either way.
_COUNT_FACTOR = 1.5


def of_values(setup: Setup) -> Iterator[Problem]:
    """Values that say nothing, then a model's size that contradicts its shape."""
    schema = {"smp1": V1, "smp2": V2}.get(setup.framework or "", {})
    for name, known in setup.values.items():
        if known.is_default or known.value is None or (name in schema and name in setup.library):
            continue
        wrong = _wrong(setup, name, known.value)
        if wrong:
            yield problem(
                setup,
                name,
                f"{name}={known.value!r:.60} is {wrong}: it is treated as not known.",
                f"Give {name} a valid value, or leave it out.",
                "",
            )
    shape, billions = setup.shape(), setup.real("parameters_billion")
    if shape is not None and billions:
        by_shape = 12e-9 * shape.layers * shape.hidden**2 + 1e-9 * shape.embedding
        if not 1 / _COUNT_FACTOR <= billions / by_shape <= _COUNT_FACTOR:
            words = (
                f"parameters_billion={billions:g} does not match the shape: {shape.layers} layers of {shape.hidden} "
                f"are a GPT of {by_shape:.3g} billion parameters."
            )
            yield problem(
                setup,
                "parameters_billion",
                words,
                "Correct one or the other; a model other than a GPT (experts, gated layers) may differ that much.",
                "arXiv 2104.04473, equation 2",
                severity="info",
            )


def _wrong(setup: Setup, name: str, value: Any) -> str:
    """Why ``value`` says nothing; "" where it does."""
    if name in _COUNTS:
        number = whole_number(value)
        return "not a whole number of at least 1" if number is None or number < 1 else ""
    if name == "gpus_per_node":
        number = whole_number(value)
        return "not a whole number of at least 0" if number is None or number < 0 else ""
    if name == "gpu_memory_utilization":
        share = setup.real(name)
        return "not a percentage of a device's memory" if share is None or share > MOST_USED_PCT else ""
    if name in _AMOUNTS:
        return "not an amount above 0" if not setup.real(name) else ""
    if name in _FLAGS:
        return "neither true nor false" if yes_or_no(value) is None else ""
    if name == "instance_type":
        return "not the name of an instance type" if not isinstance(value, str) or not value else ""
    if name in _WORDS:
        return f"not one of {', '.join(_WORDS[name])}" if value not in _WORDS[name] else ""
    return ""
