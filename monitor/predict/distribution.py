"""A setup as the SageMaker SDK's ``distribution`` argument, and what else has to be set in the training script."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from monitor.predict.layout import SHAPE
from monitor.predict.parameters import ALIASES_V1, V1, V2, ParameterSpec, active_microbatches_by_default, names
from monitor.predict.setup import Setup, schema_of

# Given even where it is the default: v1's guide asks for it, and the SDK takes v2's library as off without any parameter.
_ALWAYS = names("pipeline_parallel_degree hybrid_shard_degree")
_LOADER = {"batch_size": "the batch size of each process's data loader"}
_OF_FSDP = {
    **_LOADER,
    "activation_checkpointing": "apply_activation_checkpointing(model)",
    "sharding_strategy": "FullyShardedDataParallel(sharding_strategy=...)",
}
# What a training script or its configuration calls it, by library.
_IN_SCRIPT: Mapping[str, Mapping[str, str]] = {
    "smp1": {
        **_LOADER,
        "activation_checkpointing": "smp.set_activation_checkpointing(module)",
        "activation_checkpointing_layers": 'strategy="group_N" of smp.set_activation_checkpointing',
    },
    "smp2": _OF_FSDP,
    "fsdp": _OF_FSDP,
    "deepspeed": {
        "zero_stage": "zero_optimization.stage",
        "micro_batch_size": "train_micro_batch_size_per_gpu",
        "global_batch_size": "train_batch_size",
        "gradient_accumulation_steps": "gradient_accumulation_steps",
        "stage3_max_live_parameters": "zero_optimization.stage3_max_live_parameters",
        "pipeline_parallel_degree": "PipelineModule(num_stages=...)",
    },
    "megatron": {
        "pipeline_parallel_degree": "--pipeline-model-parallel-size",
        "tensor_parallel_degree": "--tensor-model-parallel-size",
        "context_parallel_degree": "--context-parallel-size",
        "expert_parallel_degree": "--expert-model-parallel-size",
        "layers_per_virtual_stage": "--num-layers-per-virtual-pipeline-stage",
        "micro_batch_size": "--micro-batch-size",
        "global_batch_size": "--global-batch-size",
        "activation_checkpointing": "--recompute-granularity full",
        "selective_recomputation": "--recompute-granularity selective",
        "sequence_parallel": "--sequence-parallel",
        "shard_optimizer_state": "--use-distributed-optimizer",
    },
}
_OF_SCRIPTS = names(
    "batch_size micro_batch_size global_batch_size gradient_accumulation_steps activation_checkpointing "
    "activation_checkpointing_layers selective_recomputation sequence_parallel flash_attention precision"
)


def distribution(setup: Setup) -> dict[str, Any]:
    """The estimator's ``distribution`` argument; of the library's parameters those that were given or are no defaults."""
    if setup.framework == "smp1":
        return {
            "smdistributed": {"modelparallel": {"enabled": True, "parameters": _parameters(setup, V1)}},
            "mpi": {"enabled": True, **_processes(setup)},
        }
    if setup.framework == "smp2":
        parallel = {"modelparallel": {"enabled": True, "parameters": _parameters(setup, V2)}}
        return {"torch_distributed": {"enabled": True}, "smdistributed": parallel}
    return {"torch_distributed": {"enabled": True}} if setup.framework else {}


def of_the_script(setup: Setup, changes: Collection[str] = ()) -> dict[str, Any]:
    """What was given and is not in ``distribution``: hyperparameters, or lines of the script. The model's shape is told
    where it is one of the ``changes``."""
    schema = schema_of(setup.framework)
    wanted = (_OF_SCRIPTS | _names_in_script(setup).keys() | (set(SHAPE) & set(changes))) - schema.keys()
    if schema is V1:
        # Follows from fp16 and bf16, which are the library's.
        wanted -= {"precision"}
    given = {name: known for name, known in setup.values.items() if name in wanted and not known.is_default}
    return {name: given[name].value for name in sorted(given)}


def name_in_script(setup: Setup, name: str) -> str:
    """What its library or script calls a parameter of ``of_the_script``; "" where that differs from script to script."""
    return _names_in_script(setup).get(name, "")


def _names_in_script(setup: Setup) -> Mapping[str, str]:
    return _IN_SCRIPT.get(setup.framework or "", {})


def _parameters(setup: Setup, schema: Mapping[str, ParameterSpec]) -> dict[str, Any]:
    given = {ALIASES_V1.get(name, name) for name in setup.library}
    found = {}
    for name in schema:
        if setup.known(name) is not None and (name in _ALWAYS or name in given or not is_default(setup, name)):
            found[name] = setup.values[name].value
    if schema is V1 and (setup.tensor_degree or 1) > 1 and not setup.is_job and not setup.is_given("ddp"):
        # Tensor parallelism needs it, and the plan said nothing against it.
        found["ddp"] = True
    # What the schema lacks stays: problems say so.
    unknown = {name: value for name, value in setup.library.items() if ALIASES_V1.get(name, name) not in schema}
    return {**found, **unknown}


def is_default(setup: Setup, name: str) -> bool:
    """Whether a value is its library's default: taken as such, or printed by it among all the others."""
    known, entry = setup.values[name], schema_of(setup.framework).get(name)
    if known.is_default or entry is None or not known.read_from.startswith("log"):
        return known.is_default
    # Of what has no default in the schema, what was printed is that of the release.
    default = _default(setup, name, entry)
    return default is None or known.value == default


def _default(setup: Setup, name: str, entry: ParameterSpec) -> Any:
    if name != "active_microbatches":
        return entry.default
    return active_microbatches_by_default(setup.pipeline_degree or 1, setup.number("microbatches") or 1)


def _processes(setup: Setup) -> dict[str, int]:
    each = setup.number("processes_per_host") or setup.gpus_per_node
    return {"processes_per_host": each} if each else {}
