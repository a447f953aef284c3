"""Under which names do training scripts specify a setup?

A name is looked up in small letters, hyphens as underscores, and without the sections in front of its last dot
("model.tensor_model_parallel_size", "parallelism.tensor_parallel_degree").
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from monitor.predict.setup_types import whole_number, yes_or_no
from monitor.predict.smp_schema import V1, V2

#: What is said of the job and of the model, besides the library's own parameters.
OWN_NAMES = frozenset(
    [
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
        "activation_checkpointing",
        "activation_checkpointing_layers",
        "selective_recomputation",
        "sequence_parallel",
        "flash_attention",
        "layers",
        "hidden_size",
        "attention_heads",
        "vocabulary_size",
        "sequence_length",
        "parameters_billion",
        "precision",
        "zero_stage",
        "mics_shard_size",
        "sharding_strategy",
        "virtual_stages",
        "layers_per_virtual_stage",
        "instance_type",
        "instance_count",
        "processes_per_host",
        "world_size",
        "data_parallel_size",
        "gpus_per_node",
        "gpu_memory_gib",
        "interconnect",
        "network_gbps",
        "stage3_max_live_parameters",
        "gpu_memory_utilization",
        "step_time_s",
    ]
)
CANONICAL = OWN_NAMES | V1.keys() | V2.keys()

# What the names stand for; the first of a row counts where several are given.
_OTHER_NAMES: Mapping[str, str] = {
    "pipeline_parallel_degree": "pipeline_model_parallel_size pipeline_parallel_size pp_size pp_degree",
    "tensor_parallel_degree": "tensor_model_parallel_size tensor_parallel_size tp_size tp_degree",
    "context_parallel_degree": "context_parallel_size cp_size",
    "expert_parallel_degree": "expert_model_parallel_size expert_parallel_size ep_size",
    "microbatches": "num_microbatches",
    "batch_size": "train_batch_size",
    "micro_batch_size": "per_device_train_batch_size per_gpu_train_batch_size train_micro_batch_size_per_gpu "
    "microbatch_size device_train_microbatch_size local_batch_size",
    "global_batch_size": "global_train_batch_size",
    "gradient_accumulation_steps": "gradient_accumulation grad_accumulation_steps grad_accum_steps accumulate_grad_batches "
    "accumulation_steps",
    "activation_checkpointing": "gradient_checkpointing use_gradient_checkpointing enable_gradient_checkpointing "
    "enable_activation_checkpointing activation_checkpoint checkpoint_activations",
    "activation_checkpointing_layers": "recompute_num_layers checkpoint_num_layers activations_checkpoint_num_layers",
    "layers": "num_layers n_layers n_layer num_hidden_layers",
    "hidden_size": "hidden_width n_embd d_model",
    "attention_heads": "num_attention_heads num_heads n_head n_heads nhead",
    "vocabulary_size": "padded_vocab_size vocab_size n_vocab",
    "sequence_length": "max_context_width seq_length seq_len max_seq_length max_seq_len encoder_seq_length "
    "max_sequence_length block_size context_length max_position_embeddings n_positions",
    "shard_optimizer_state": "use_distributed_optimizer",
    "zero_stage": "zero_optimization_stage",
    "flash_attention": "use_flash_attn use_flash_attention flash_attn use_smp_flash_attn",
    "virtual_stages": "virtual_pipeline_model_parallel_size",
    "layers_per_virtual_stage": "num_layers_per_virtual_pipeline_stage",
    "processes_per_host": "nproc_per_node",
    "parameters_billion": "model_parameters_billion",
}
OTHER_NAMES: Mapping[str, str] = {other: name for name, others in _OTHER_NAMES.items() for other in others.split()}
# In the order of trust: the parameter's own name, then the others as listed.
_RANK = dict.fromkeys(CANONICAL, 0) | {
    other: place for others in _OTHER_NAMES.values() for place, other in enumerate(others.split(), 1)
}

# FSDP's strategies by name and, as its configuration files have them, by number.
_STRATEGIES: Mapping[str, str] = {
    "full_shard": "full_shard",
    "1": "full_shard",
    "shard_grad_op": "shard_grad_op",
    "2": "shard_grad_op",
    "no_shard": "no_shard",
    "3": "no_shard",
    "hybrid_shard": "hybrid_shard",
    "4": "hybrid_shard",
    "hybrid_shard_zero2": "hybrid_shard_zero2",
    "_hybrid_shard_zero2": "hybrid_shard_zero2",
    "5": "hybrid_shard_zero2",
}
_STAGE = re.compile(r"deepspeed_stage_([0-3])(?!\d)")
_GROUP = re.compile(r"group_(\d{1,4})")
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


def strategy(text: Any) -> str | None:
    """FSDP's sharding strategy out of "full_shard auto_wrap", "ShardingStrategy.HYBRID_SHARD" or 1; None where none is."""
    for word in re.split(r"[\s,]+", str(text).rpartition("ShardingStrategy.")[2].strip().lower()):
        if word in _STRATEGIES:
            return _STRATEGIES[word]
    return None


def precision(text: Any) -> str | None:
    """bf16, fp16 or fp32 out of "bf16-mixed", "torch.float16" or 32; None where it is none of them."""
    word = str(text).strip().lower().removeprefix("torch.")
    return next((name for name, pattern in _PRECISIONS if pattern.fullmatch(word)), None)


def _fsdp(value: Any) -> Iterator[tuple[str, Any]]:
    words = " ".join(map(str, value)) if isinstance(value, list) else value
    if (found := strategy(words)) is not None:
        yield "sharding_strategy", found


def _fsdp_config(value: Any) -> Iterator[tuple[str, Any]]:
    for name, inner in value.items() if isinstance(value, dict) else ():
        yield from read(str(name).removeprefix("fsdp_"), inner)


def _strategy(value: Any) -> Iterator[tuple[str, Any]]:
    if (found := strategy(value)) is not None:
        yield "sharding_strategy", found


def _precision(value: Any) -> Iterator[tuple[str, Any]]:
    if (found := precision(value)) is not None:
        yield "precision", found


def _switch(name: str) -> Callable[[Any], Iterator[tuple[str, Any]]]:
    """fp16 and bf16, as flags of the script: on tells the precision, off tells nothing."""

    def read_switch(value: Any) -> Iterator[tuple[str, Any]]:
        if isinstance(value, dict):
            value = value.get("enabled")
        if yes_or_no(value):
            yield "precision", name

    return read_switch


def _activation_strategy(value: Any) -> Iterator[tuple[str, Any]]:
    """SMP's strategies of activation checkpointing: each, group_N, contiguous."""
    word = str(value).lower()
    if word == "each":
        yield "activation_checkpointing_layers", 1
    elif (match := _GROUP.fullmatch(word)) is not None:
        yield "activation_checkpointing_layers", int(match[1])


def _recompute(value: Any) -> Iterator[tuple[str, Any]]:
    """Megatron-LM's --recompute-granularity."""
    word = str(value).lower()
    if word == "full":
        yield "activation_checkpointing", True
    elif word == "selective":
        yield "selective_recomputation", True


def _attention(value: Any) -> Iterator[tuple[str, Any]]:
    yield "flash_attention", str(value).lower().startswith("flash_attention")


def _named_strategy(value: Any) -> Iterator[tuple[str, Any]]:
    """PyTorch Lightning's strategy: of DeepSpeed's its stage."""
    if (match := _STAGE.match(str(value).lower())) is not None:
        yield "zero_stage", int(match[1])


def _deepspeed(value: Any) -> Iterator[tuple[str, Any]]:
    """A DeepSpeed configuration given inline; a path tells nothing of it."""
    if not isinstance(value, dict):
        return
    own = {"train_batch_size": "global_batch_size"}
    for name in ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"):
        if whole_number(value.get(name)) is not None:
            yield own.get(name, OTHER_NAMES.get(name, name)), value[name]
    zero = value.get("zero_optimization")
    if isinstance(zero, dict):
        for name in ("stage", "mics_shard_size", "stage3_max_live_parameters"):
            if zero.get(name) not in (None, "auto"):
                yield "zero_stage" if name == "stage" else name, zero[name]
    for name in ("fp16", "bf16", "bfloat16"):
        section = value.get(name)
        if isinstance(section, dict):
            yield from _switch("fp16" if name == "fp16" else "bf16")(section)


#: Parameters of scripts that have the name of a parameter of SMP v1, and are not the same.
SWITCHES = frozenset({"fp16", "bf16", "fp16_params", "ddp", "pipeline", "optimize"})
#: Names whose values have to be read before they say something.
SPECIAL: Mapping[str, Callable[[Any], Iterator[tuple[str, Any]]]] = {
    "fsdp": _fsdp,
    "fsdp_config": _fsdp_config,
    "sharding_strategy": _strategy,
    "fsdp_sharding_strategy": _strategy,
    "precision": _precision,
    "mixed_precision": _precision,
    "params_dtype": _precision,
    "torch_dtype": _precision,
    "fp16": _switch("fp16"),
    "bf16": _switch("bf16"),
    "fp16_params": _switch("fp16"),
    "strategy": _named_strategy,
    "activation_strategy": _activation_strategy,
    "recompute_granularity": _recompute,
    "attn_implementation": _attention,
    "deepspeed": _deepspeed,
    "deepspeed_config": _deepspeed,
}
