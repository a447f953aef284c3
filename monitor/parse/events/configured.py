"""Lines on which a library or a script prints how it is configured, as "name: value" under the names that it uses.

SMP v1 prints every parameter of its own, Megatron-LM its table of arguments, DeepSpeed its configuration, Hugging Face's
Trainer the sizes of its batches, SMP's example scripts their arguments; SageMaker's toolkit prints the hyperparameters.
"""

from __future__ import annotations

import json
import re
from typing import Any

from monitor.parse.events.reader import event
from monitor.parse.numbers import integer

#: SMP v1's own lines: they say that it runs, besides what they say.
SMP = "configuration"
#: What others print of theirs.
OTHERS = "printed-configuration"
#: The hyperparameters as the toolkit prints them, as JSON.
GIVEN = "hyperparameters"

_MEGATRON = [
    "tensor_model_parallel_size",
    "pipeline_model_parallel_size",
    "context_parallel_size",
    "expert_model_parallel_size",
    "virtual_pipeline_model_parallel_size",
    "num_layers_per_virtual_pipeline_stage",
    "micro_batch_size",
    "global_batch_size",
    "num_layers",
    "hidden_size",
    "num_attention_heads",
    "seq_length",
    "padded_vocab_size",
    "params_dtype",
    "sequence_parallel",
    "use_distributed_optimizer",
    "recompute_granularity",
    "recompute_num_layers",
    "checkpoint_activations",
    "checkpoint_num_layers",
    "use_flash_attn",
    "zero_stage",
]
# DeepSpeed's train_batch_size is of the whole job; a script's of the same name seldom is.
_DEEPSPEED = {
    "train_batch_size": "global_batch_size",
    "train_micro_batch_size_per_gpu": "train_micro_batch_size_per_gpu",
    "gradient_accumulation_steps": "gradient_accumulation_steps",
    "zero_optimization_stage": "zero_optimization_stage",
    "world_size": "data_parallel_size",
    "fp16_enabled": "fp16",
    "bfloat16_enabled": "bf16",
}
_TRAINER = {
    "Instantaneous batch size per device": "per_device_train_batch_size",
    "Total train batch size (w. parallel, distributed & accumulation)": "global_batch_size",
    "Gradient Accumulation steps": "gradient_accumulation_steps",
}
_SCRIPT = [
    "train_batch_size",
    "hidden_width",
    "num_layers",
    "num_heads",
    "vocab_size",
    "max_context_width",
    "activation_checkpointing",
    "activation_strategy",
]
#: Megatron-LM's count of processes, on a line that is an event of its own; DeepSpeed's of that name counts data-parallel ranks.
WORLD = re.compile(r"^(?!.*:print\]).*(?:\bworld_size \.{3,60} (?=\d+\s*$)|\busing world size: )(?P<count>\d{1,6})\b")
_MOST_GIVEN = 100
_LONGEST_WORD = 60
_SECRET = re.compile(r"secret|passw|pwd|token|credential|key", re.IGNORECASE)
# Of the script's texts only these are kept: any other may be a path, a name or a secret.
_WORDS = frozenset(
    [
        "activation_strategy",
        "fsdp",
        "sharding_strategy",
        "fsdp_sharding_strategy",
        "precision",
        "mixed_precision",
        "strategy",
        "torch_dtype",
        "recompute_granularity",
        "attn_implementation",
    ]
)


def _said(match: re.Match[str]) -> str | None:
    value = match["value"].strip().strip("'")
    return None if value in {"None", ""} else f"{match['name']}: {value}"


def _deepspeed(match: re.Match[str]) -> str | None:
    return None if match["value"] == "None" else f"{_DEEPSPEED[match['name']]}: {match['value']}"


def _trainer(match: re.Match[str]) -> str:
    return f"{_TRAINER[match['name']]}: {match['value'].replace(',', '')}"


def _hyperparameters(match: re.Match[str]) -> str | None:
    try:
        data = json.loads(match["json"], parse_int=integer)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    library = data.pop("mp_parameters", None)
    first = list(data.items())[:_MOST_GIVEN]
    kept: dict[str, Any] = {name: value for name, value in first if _is_plain(name, value, name in _WORDS)}
    if isinstance(library, dict):
        inner = {name: value for name, value in library.items() if _is_plain(name, value, True)}
        kept["mp_parameters"] = dict(list(inner.items())[:_MOST_GIVEN])
    return json.dumps(kept) if kept else None


def _is_plain(name: str, value: object, with_words: bool) -> bool:
    if len(name) > _LONGEST_WORD or _SECRET.search(name):
        return False
    return isinstance(value, bool | int | float) or (
        with_words and isinstance(value, str) and len(value) <= _LONGEST_WORD
    )


ROWS = (
    event(
        SMP,
        "modelparallel/backend/config.py",
        r"modelparallel/backend/config\.py:\d+\]\s{2,}(?P<name>\w+): (?P<value>.*)$",
        lambda match: f"{match['name']}: {match['value'].strip()}",
    ),
    event(
        OTHERS,
        "|".join(f"  {name} ..." for name in _MEGATRON),
        rf"\s{{2}}(?P<name>{'|'.join(_MEGATRON)}) \.{{3,60}} (?P<value>\S{{1,40}})\s*$",
        _said,
    ),
    event(
        OTHERS,
        "|".join(f":print]   {name} " for name in _DEEPSPEED),
        rf"config\.py:\d{{1,6}}:print\] {{3}}(?P<name>{'|'.join(_DEEPSPEED)}) \.* ?(?P<value>\w{{1,20}})\s*$",
        _deepspeed,
    ),
    event(
        OTHERS,
        "|".join(f"{name} = " for name in _TRAINER),
        rf"(?P<name>{'|'.join(map(re.escape, _TRAINER))}) = (?P<value>\d[\d,]{{0,14}})\s*$",
        _trainer,
    ),
    # Masked autoencoders' loop, and the many that were made from it.
    event(
        OTHERS,
        "accumulate grad iterations: ",
        r"^\s*+accumulate grad iterations: (?P<value>\d{1,6})\s*$",
        lambda match: f"gradient_accumulation_steps: {match['value']}",
    ),
    # Lightning names what it multiplies in, also where a library says beside it what 32 bits would gain.
    event(
        OTHERS,
        "Automatic Mixed Precision (AMP)",
        r"\bUsing (?P<value>bfloat16|16bit) Automatic Mixed Precision \(AMP\)",
        lambda match: f"precision: {'bf16-mixed' if match['value'] == 'bfloat16' else '16-mixed'}",
    ),
    event(
        OTHERS,
        "gradient_checkpointing=",
        r"(?:^|[ (,])(?P<name>gradient_checkpointing)=(?P<value>True|False)(?=[,)])",
        _said,
    ),
    event(
        OTHERS,
        "'max_context_width': ",
        rf"[{{ ]'(?P<name>{'|'.join(_SCRIPT)})': (?P<value>\d{{1,9}}|'\w{{1,20}}')(?=[,}}])",
        _said,
    )._replace(many=True),
    event(GIVEN, "SM_HPS=", r"^(?>.*?\bSM_HPS=(?=\{))(?P<json>.*\})", _hyperparameters)._replace(whole_line=True),
)
