"""The parameters of a setup: their names here and in training scripts, what their values may be, and the schema of the
SageMaker model-parallel library.

A script's name is looked up in small letters, hyphens as underscores, and without the sections in front of its last dot
("model.tensor_model_parallel_size", "parallelism.tensor_parallel_degree"). The schema, only facts: of v1 release 1.12.1 with
what the developer guide adds up to the last release, 1.15; of v2 the developer guide's reference.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal


def names(text: str) -> frozenset[str]:
    """The names of a text, which stand between blanks."""
    return frozenset(text.split())


def whole_number(value: object) -> int | None:
    """A whole number out of 8, 8.0 or "8"; None for anything else, yes and no and what counts nothing (10^18) included."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdecimal() and len(value) < 19:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and abs(value) < 10**18 else None


def amount(value: object) -> float | None:
    """An amount, from 0; None for anything else, yes and no and what nothing that is set up comes to (10^15) included."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        return number if 0 <= (number := float(value)) < 1e15 else None  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None


def as_set(value: object) -> str:
    """A value as it is written where it is set: ``true`` for True, ``8`` for 8."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def yes_or_no(value: object) -> bool | None:
    """True and False out of true, 1, "yes", "on" and their opposites; None for anything else."""
    if isinstance(value, bool) or value in (0, 1):
        return bool(value)
    word = value.strip().lower() if isinstance(value, str) else ""
    return True if word in {"true", "1", "yes", "on"} else False if word in {"false", "0", "no", "off"} else None


Kind = Literal["int", "bool", "str", "float", "any"]


@dataclass(frozen=True, slots=True)
class ParameterSpec:
    """A parameter: the type its value must have, its default, the least and the most it may be, and the words it takes."""

    kind: Kind
    default: Any = None
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()


#: The other name that v1 takes for a parameter.
ALIASES_V1: Mapping[str, str] = {"partitions": "pipeline_parallel_degree"}

V1: Mapping[str, ParameterSpec] = {
    "pipeline_parallel_degree": ParameterSpec("int", 1, 1),
    "tensor_parallel_degree": ParameterSpec("int", 1, 1),
    "microbatches": ParameterSpec("int", 1, 1),
    # Its default is a formula: see active_microbatches_by_default.
    "active_microbatches": ParameterSpec("int", None, 1),
    "pipeline": ParameterSpec("str", "interleaved", choices=("simple", "interleaved", "_only_forward")),
    "optimize": ParameterSpec("str", "speed", choices=("speed", "memory")),
    "placement_strategy": ParameterSpec(
        "str", "cluster", choices=("cluster", "spread", "PDT", "PTD", "DPT", "DTP", "TPD", "TDP")
    ),
    "auto_partition": ParameterSpec("bool", True),
    "default_partition": ParameterSpec("int", None, 0),
    "prescaled_batch": ParameterSpec("bool", False),
    "memory_weight": ParameterSpec("float", 0.8, 0, 1),
    "ddp": ParameterSpec("bool", False),
    "horovod": ParameterSpec("bool", False),
    "ddp_port": ParameterSpec("int", None, 0),
    "ddp_dist_backend": ParameterSpec("str", None, choices=("nccl", "auto")),
    "contiguous": ParameterSpec("bool", True),
    "shard_optimizer_state": ParameterSpec("bool", False),
    "offload_activations": ParameterSpec("bool", False),
    "activation_loading_horizon": ParameterSpec("int", 4, 0),
    "fp16": ParameterSpec("bool", False),
    "fp16_params": ParameterSpec("bool", False),
    "bf16": ParameterSpec("bool", False),
    "sharded_data_parallel_degree": ParameterSpec("int", 1, 1),
    "sdp_reduce_bucket_size": ParameterSpec("int", 500_000_000),
    "sdp_param_persistence_threshold": ParameterSpec("int", 1_000_000),
    "sdp_max_live_parameters": ParameterSpec("int", 1_000_000_000),
    "sdp_hierarchical_allgather": ParameterSpec("bool", True),
    "sdp_gradient_clipping": ParameterSpec("float", 1.0),
    "delayed_parameter_initialization": ParameterSpec("bool", False),
    "skip_tracing": ParameterSpec("bool", False),
    "tensor_parallel_seed": ParameterSpec("int", 0, 0),
    # In the guide since 1.3 and not in the schema of 1.12: nothing is said against it.
    "deterministic_server": ParameterSpec("any"),
}
#: Known to the library and not meant for users.
INTERNAL_V1 = names(
    "task_level_activation_loading_horizon task_level_timeline _shard_offloaded_activations _sharded_data_parallelism_config "
    "fast_mode static_mode checkpoint_attentions _match_weights _fp32_grad_accumulation herring load_partition partition_file"
)

V2: Mapping[str, ParameterSpec] = {
    "hybrid_shard_degree": ParameterSpec("int", 0, 0),
    "sm_activation_offloading": ParameterSpec("bool", True),
    "activation_loading_horizon": ParameterSpec("int", 2, 1),
    "fsdp_cache_flush_warnings": ParameterSpec("bool", True),
    "allow_empty_shards": ParameterSpec("bool", False),
    "tensor_parallel_degree": ParameterSpec("int", 1, 1),
    "context_parallel_degree": ParameterSpec("int", 1, 1),
    "expert_parallel_degree": ParameterSpec("int", 1, 1),
    "random_seed": ParameterSpec("int"),
}


def active_microbatches_by_default(stages: int, microbatches: int) -> int:
    """SMP v1: min(pipeline degree + 2, microbatches)."""
    return max(1, min(stages + 2, microbatches))


OwnKind = Literal["", "count", "count from 0", "amount", "percentage of memory", "flag", "name"]


@dataclass(frozen=True, slots=True)
class Own:
    """A parameter of the job, the model or the script: what its value is, and what scripts call it, the most trusted first."""

    kind: OwnKind | tuple[str, ...] = "count"
    """A tuple holds the words that it may be; "" is not checked here."""
    others: str = ""


#: What is said of the job and of the model, besides the library's own parameters.
OWN: Mapping[str, Own] = {
    "pipeline_parallel_degree": Own(others="pipeline_model_parallel_size pipeline_parallel_size pp_size pp_degree"),
    "tensor_parallel_degree": Own(others="tensor_model_parallel_size tensor_parallel_size tp_size tp_degree"),
    "context_parallel_degree": Own(others="context_parallel_size cp_size"),
    "expert_parallel_degree": Own(others="expert_model_parallel_size expert_parallel_size ep_size"),
    "microbatches": Own(others="num_microbatches"),
    "active_microbatches": Own(),
    "batch_size": Own(others="train_batch_size"),
    "micro_batch_size": Own(
        others="per_device_train_batch_size per_gpu_train_batch_size train_micro_batch_size_per_gpu microbatch_size "
        "device_train_microbatch_size local_batch_size"
    ),
    "global_batch_size": Own(others="global_train_batch_size"),
    "gradient_accumulation_steps": Own(
        others="gradient_accumulation grad_accumulation_steps grad_accum_steps accumulate_grad_batches accumulation_steps"
    ),
    "activation_checkpointing": Own(
        "flag",
        "gradient_checkpointing use_gradient_checkpointing enable_gradient_checkpointing enable_activation_checkpointing "
        "activation_checkpoint checkpoint_activations",
    ),
    "activation_checkpointing_layers": Own(
        others="recompute_num_layers checkpoint_num_layers activations_checkpoint_num_layers"
    ),
    "selective_recomputation": Own("flag"),
    "sequence_parallel": Own("flag"),
    "layers": Own(others="num_layers n_layers n_layer num_hidden_layers"),
    "hidden_size": Own(others="hidden_width n_embd d_model"),
    "attention_heads": Own(others="num_attention_heads num_heads n_head n_heads nhead"),
    "vocabulary_size": Own(others="padded_vocab_size vocab_size n_vocab"),
    "sequence_length": Own(
        others="max_context_width seq_length seq_len max_seq_length max_seq_len encoder_seq_length max_sequence_length "
        "block_size context_length max_position_embeddings n_positions"
    ),
    "shard_optimizer_state": Own("", "use_distributed_optimizer"),
    "zero_stage": Own("", "zero_optimization_stage"),
    "flash_attention": Own("flag", "use_flash_attn use_flash_attention flash_attn use_smp_flash_attn"),
    "virtual_stages": Own(others="virtual_pipeline_model_parallel_size"),
    "layers_per_virtual_stage": Own(others="num_layers_per_virtual_pipeline_stage"),
    "processes_per_host": Own(others="nproc_per_node"),
    "parameters_billion": Own("amount", "model_parameters_billion"),
    "precision": Own(("fp16", "bf16", "fp32")),
    "mics_shard_size": Own(""),
    "sharding_strategy": Own(("full_shard", "shard_grad_op", "no_shard", "hybrid_shard", "hybrid_shard_zero2")),
    "stage3_max_live_parameters": Own(""),
    "instance_type": Own("name"),
    "instance_count": Own(),
    "world_size": Own(),
    "data_parallel_size": Own(),
    "gpus_per_node": Own("count from 0"),
    "gpu_memory_gib": Own("amount"),
    "interconnect": Own(("none", "nvlink", "nvswitch", "neuronlink")),
    "network_gbps": Own("amount"),
    "gpu_memory_utilization": Own("percentage of memory"),
    "step_time_s": Own("amount"),
}
CANONICAL = OWN.keys() | V1.keys() | V2.keys()
OTHER_NAMES: Mapping[str, str] = {other: name for name, own in OWN.items() for other in own.others.split()}
# In the order of trust: the parameter's own name, then the others as listed.
_RANK = dict.fromkeys(CANONICAL, 0) | {
    other: place for own in OWN.values() for place, other in enumerate(own.others.split(), 1)
}

# FSDP's strategies by name and, as its configuration files have them, by number.
_NUMBERED_STRATEGIES = ("full_shard", "shard_grad_op", "no_shard", "hybrid_shard", "hybrid_shard_zero2")
_STRATEGIES: Mapping[str, str] = {
    **{name: name for name in _NUMBERED_STRATEGIES},
    **{str(number): name for number, name in enumerate(_NUMBERED_STRATEGIES, 1)},
    "_hybrid_shard_zero2": "hybrid_shard_zero2",
}
_PRECISIONS = (
    ("bf16", re.compile(r"bf(loat)?16(-mixed|-true)?|amp_bf16")),
    ("fp16", re.compile(r"(fp|float)?16(-mixed|-true)?|half|amp_fp16")),
    ("fp32", re.compile(r"(fp|float)?32(-true)?|no|none|full|single")),
)


def plain_name(written: str) -> str:
    """A name as it is looked up."""
    return written.rpartition(".")[2].lstrip("-").replace("-", "_").lower()


def rank(written: str) -> int:
    """Which of several names of one parameter is trusted: the smallest number."""
    return _RANK.get(plain_name(written), 99)


def read(written: str, value: Any) -> Iterator[tuple[str, Any]]:
    """(name, value) of each thing that a script's parameter says of the setup; nothing for what says none.

    Values of the library's own parameters pass as they are; "auto" and what cannot be read are left out.
    """
    name = plain_name(written)
    if value is None or (isinstance(value, str) and value.strip().lower() in {"auto", "", "null"}):
        return
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return
    if name in SPECIAL:
        yield from SPECIAL[name](value)
        return
    canonical = OTHER_NAMES.get(name, name)
    if canonical in CANONICAL and canonical not in SWITCHES:
        yield canonical, value


def strategy(given: Any) -> str | None:
    """FSDP's sharding strategy out of "full_shard auto_wrap", "ShardingStrategy.HYBRID_SHARD" or 1; None where none is."""
    text = " ".join(map(str, given)) if isinstance(given, list) else str(given)
    words = re.split(r"[\s,]+", text.rpartition("ShardingStrategy.")[2].strip().lower())
    return next((_STRATEGIES[word] for word in words if word in _STRATEGIES), None)


def precision(given: Any) -> str | None:
    """bf16, fp16 or fp32 out of "bf16-mixed", "torch.float16" or 32; None where it is none of them."""
    word = str(given).strip().lower().removeprefix("torch.")
    return next((name for name, pattern in _PRECISIONS if pattern.fullmatch(word)), None)


_Reader = Callable[[Any], Iterator[tuple[str, Any]]]


def _one(name: str, value_of: Callable[[Any], Any]) -> _Reader:
    """A reader of what says one thing, where ``value_of`` finds any."""

    def reader(value: Any) -> Iterator[tuple[str, Any]]:
        if (found := value_of(value)) is not None:
            yield name, found

    return reader


def _switch(name: str) -> _Reader:
    """fp16 and bf16, as flags of the script: on tells the precision, off tells nothing."""
    return _one(
        "precision",
        lambda value: name if yes_or_no(value.get("enabled") if isinstance(value, dict) else value) else None,
    )


def _checkpointed_layers(value: Any) -> int | None:
    """Of SMP's strategies of activation checkpointing: each, group_N, contiguous."""
    word = str(value).lower()
    group = re.fullmatch(r"group_(\d{1,4})", word)
    return 1 if word == "each" else int(group[1]) if group else None


def _deepspeed_stage(value: Any) -> int | None:
    """Of PyTorch Lightning's strategy."""
    match = re.match(r"deepspeed_stage_([0-3])(?!\d)", str(value).lower())
    return int(match[1]) if match else None


def _fsdp_config(value: Any) -> Iterator[tuple[str, Any]]:
    for name, inner in value.items() if isinstance(value, dict) else ():
        yield from read(str(name).removeprefix("fsdp_"), inner)


def _recompute(value: Any) -> Iterator[tuple[str, Any]]:
    """Megatron-LM's --recompute-granularity."""
    names = {"full": "activation_checkpointing", "selective": "selective_recomputation"}
    if (word := str(value).lower()) in names:
        yield names[word], True


def _deepspeed(value: Any) -> Iterator[tuple[str, Any]]:
    """A DeepSpeed configuration given inline; a path tells nothing of it."""
    if not isinstance(value, dict):
        return
    batches = {
        "train_batch_size": "global_batch_size",
        "train_micro_batch_size_per_gpu": "micro_batch_size",
        "gradient_accumulation_steps": "gradient_accumulation_steps",
    }
    for name, ours in batches.items():
        if whole_number(value.get(name)) is not None:
            yield ours, value[name]
    zero = value.get("zero_optimization")
    if isinstance(zero, dict):
        for name in ("stage", "mics_shard_size", "stage3_max_live_parameters"):
            if zero.get(name) not in (None, "auto"):
                yield "zero_stage" if name == "stage" else name, zero[name]
    for name in ("fp16", "bf16", "bfloat16"):
        if isinstance(section := value.get(name), dict):
            yield from _switch("fp16" if name == "fp16" else "bf16")(section)


#: Parameters of scripts that have the name of a parameter of SMP v1, and are not the same.
SWITCHES = frozenset({"fp16", "bf16", "fp16_params", "ddp", "pipeline", "optimize"})
#: Names whose values have to be read before they say something.
SPECIAL: Mapping[str, _Reader] = {
    **dict.fromkeys(("fsdp", "sharding_strategy", "fsdp_sharding_strategy"), _one("sharding_strategy", strategy)),
    **dict.fromkeys(("precision", "mixed_precision", "params_dtype", "torch_dtype"), _one("precision", precision)),
    **dict.fromkeys(("fp16", "fp16_params"), _switch("fp16")),
    "bf16": _switch("bf16"),
    "fsdp_config": _fsdp_config,
    "strategy": _one("zero_stage", _deepspeed_stage),
    "activation_strategy": _one("activation_checkpointing_layers", _checkpointed_layers),
    "recompute_granularity": _recompute,
    "attn_implementation": _one("flash_attention", lambda value: str(value).lower().startswith("flash_attention")),
    "deepspeed": _deepspeed,
    "deepspeed_config": _deepspeed,
}
