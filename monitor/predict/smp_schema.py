"""Which parameters does the SageMaker model-parallel library know, of which type, within which bounds, with which default?

v1: schema of release 1.12.1 with what the developer guide adds up to the last release, 1.15; v2: the developer guide's
reference. Only facts: names and numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["int", "bool", "str", "float", "any"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A parameter: the type its value must have, its default, the least and the most it may be, and the words it takes."""

    kind: Kind
    default: Any = None
    least: float | None = None
    most: float | None = None
    words: tuple[str, ...] = ()


#: The other name that v1 takes for a parameter.
ALIASES_V1: Mapping[str, str] = {"partitions": "pipeline_parallel_degree"}

V1: Mapping[str, Entry] = {
    "pipeline_parallel_degree": Entry("int", 1, 1),
    "tensor_parallel_degree": Entry("int", 1, 1),
    "microbatches": Entry("int", 1, 1),
    # Its default is a formula: see active_microbatches_by_default.
    "active_microbatches": Entry("int", None, 1),
    "pipeline": Entry("str", "interleaved", words=("simple", "interleaved", "_only_forward")),
    "optimize": Entry("str", "speed", words=("speed", "memory")),
    "placement_strategy": Entry(
        "str", "cluster", words=("cluster", "spread", "PDT", "PTD", "DPT", "DTP", "TPD", "TDP")
    ),
    "auto_partition": Entry("bool", True),
    "default_partition": Entry("int", None, 0),
    "prescaled_batch": Entry("bool", False),
    "memory_weight": Entry("float", 0.8, 0, 1),
    "ddp": Entry("bool", False),
    "horovod": Entry("bool", False),
    "ddp_port": Entry("int", None, 0),
    "ddp_dist_backend": Entry("str", None, words=("nccl", "auto")),
    "contiguous": Entry("bool", True),
    "shard_optimizer_state": Entry("bool", False),
    "offload_activations": Entry("bool", False),
    "activation_loading_horizon": Entry("int", 4, 0),
    "fp16": Entry("bool", False),
    "fp16_params": Entry("bool", False),
    "bf16": Entry("bool", False),
    "sharded_data_parallel_degree": Entry("int", 1, 1),
    "sdp_reduce_bucket_size": Entry("int", 500_000_000),
    "sdp_param_persistence_threshold": Entry("int", 1_000_000),
    "sdp_max_live_parameters": Entry("int", 1_000_000_000),
    "sdp_hierarchical_allgather": Entry("bool", True),
    "sdp_gradient_clipping": Entry("float", 1.0),
    "delayed_parameter_initialization": Entry("bool", False),
    "skip_tracing": Entry("bool", False),
    "tensor_parallel_seed": Entry("int", 0, 0),
    # In the guide since 1.3 and not in the schema of 1.12: nothing is said against it.
    "deterministic_server": Entry("any"),
}
#: Known to the library and not meant for users.
INTERNAL_V1 = frozenset(
    [
        "task_level_activation_loading_horizon",
        "task_level_timeline",
        "_shard_offloaded_activations",
        "_sharded_data_parallelism_config",
        "fast_mode",
        "static_mode",
        "checkpoint_attentions",
        "_match_weights",
        "_fp32_grad_accumulation",
        "herring",
        "load_partition",
        "partition_file",
    ]
)

V2: Mapping[str, Entry] = {
    "hybrid_shard_degree": Entry("int", 0, 0),
    "sm_activation_offloading": Entry("bool", True),
    "activation_loading_horizon": Entry("int", 2, 1),
    "fsdp_cache_flush_warnings": Entry("bool", True),
    "allow_empty_shards": Entry("bool", False),
    "tensor_parallel_degree": Entry("int", 1, 1),
    "context_parallel_degree": Entry("int", 1, 1),
    "expert_parallel_degree": Entry("int", 1, 1),
    "random_seed": Entry("int"),
}


def active_microbatches_by_default(stages: int, microbatches: int) -> int:
    """SMP v1: min(pipeline degree + 2, microbatches)."""
    return max(1, min(stages + 2, microbatches))
