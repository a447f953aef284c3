"""What a job's HyperParameters say of its configuration, its launcher and its model-parallel library.

The SageMaker SDKs write the launcher as ``sagemaker_*`` keys, the library's parameters as ``mp_parameters``, and the
script's own arguments beside them, most values encoded as JSON.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from monitor.masking import masked
from monitor.model import Parameter
from monitor.parse.numbers import integer

MP_PARAMETERS = "mp_parameters"
_PROCESSES = "sagemaker_mpi_num_of_processes_per_host"

# In the order in which the container's toolkit looks at them: the first that is true starts the job.
_LAUNCHERS = (
    ("sagemaker_mpi_enabled", "mpi"),
    ("sagemaker_pytorch_ddp_enabled", "smddp"),
    ("sagemaker_torch_distributed_enabled", "torchrun"),
    ("sagemaker_distributed_dataparallel_enabled", "smddp"),
    ("sagemaker_pytorch_xla_multi_worker_enabled", "xla"),
    ("sagemaker_parameter_server_enabled", "parameter-server"),
)
_ONLY_IN_V2 = frozenset(
    [
        "hybrid_shard_degree",
        "sm_activation_offloading",
        "context_parallel_degree",
        "expert_parallel_degree",
        "fsdp_cache_flush_warnings",
        "allow_empty_shards",
    ]
)
_ONLY_IN_V1 = frozenset(
    [
        "partitions",
        "pipeline_parallel_degree",
        "microbatches",
        "active_microbatches",
        "pipeline",
        "optimize",
        "placement_strategy",
        "auto_partition",
        "default_partition",
        "prescaled_batch",
        "memory_weight",
        "ddp",
        "horovod",
        "ddp_port",
        "ddp_dist_backend",
        "contiguous",
        "shard_optimizer_state",
        "offload_activations",
        "fp16",
        "fp16_params",
        "bf16",
        "sharded_data_parallel_degree",
        "delayed_parameter_initialization",
        "skip_tracing",
        "tensor_parallel_seed",
    ]
)


def configuration(hyperparameters: Mapping[str, str], secrets: Sequence[str] = ()) -> dict[str, Parameter]:
    """Parameter by name, decoded, secrets masked (``secrets`` wherever they stand).

    The library's parameters override the script's of the same name.
    ``sagemaker_*`` keys are left out but for the processes a host, as ``processes_per_host``.
    """
    script = {
        name: Parameter(masked(name, decoded(text), secrets), "hyperparameters")
        for name, text in hyperparameters.items()
        if name != MP_PARAMETERS and not name.startswith("sagemaker_")
    }
    library = {
        name: Parameter(masked(name, value, secrets), MP_PARAMETERS)
        for name, value in _library(hyperparameters).items()
    }
    processes = decoded(hyperparameters.get(_PROCESSES, "null"))
    launch = {"processes_per_host": Parameter(processes, _PROCESSES)} if isinstance(processes, int) else {}
    return script | launch | library


def launcher(hyperparameters: Mapping[str, str]) -> str | None:
    """mpi, smddp, torchrun, xla, parameter-server or script; None where no key tells (newer SDKs write none)."""
    for key, name in _LAUNCHERS:
        if _is_on(hyperparameters.get(key)):
            return name
    return "script" if "sagemaker_program" in hyperparameters else None


def smp_version(hyperparameters: Mapping[str, str]) -> Literal[1, 2] | None:
    """The major version of the model-parallel library; None where it is not used or cannot be told."""
    names = _library(hyperparameters).keys()
    if not names:
        return None
    if _is_on(hyperparameters.get("sagemaker_torch_distributed_enabled")) or names & _ONLY_IN_V2:
        return 2
    if _is_on(hyperparameters.get("sagemaker_mpi_enabled")) or names & _ONLY_IN_V1:
        return 1
    return None


def masked_texts(hyperparameters: Mapping[str, str], secrets: Sequence[str] = ()) -> dict[str, str]:
    """The raw texts as they were given, secrets masked, also inside texts that are JSON objects."""
    clean = {}
    for name, text in hyperparameters.items():
        value = _library(hyperparameters) if name == MP_PARAMETERS else decoded(text)
        shown = masked(name, value, secrets)
        # Only what was masked is written anew: the rest stays letter by letter.
        clean[name] = text if shown == value else shown if isinstance(shown, str) else json.dumps(shown)
    return clean


def decoded(text: str) -> Any:
    """The value of an SDK's JSON text, or the text itself where it is none."""
    try:
        value = json.loads(text, parse_constant=_no_number, parse_float=_number, parse_int=integer)
        if "\\ud" in text.lower():
            # An escaped half of a character is no text, which this raises for.
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except (ValueError, RecursionError):
        return text


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is a word here, not a number")


def _number(text: str) -> float:
    return float(text) if math.isfinite(float(text)) else _no_number(text)


def _is_on(text: str | None) -> bool:
    return text is not None and str(decoded(text)).lower() in {"true", "1"}


def _library(hyperparameters: Mapping[str, str]) -> dict[str, Any]:
    return library_of(hyperparameters.get(MP_PARAMETERS, "{}"))


def library_of(text: str) -> dict[str, Any]:
    """``mp_parameters`` as a dict: JSON, JSON inside JSON, or "name=value,name=value"; empty where it is none of them."""
    value = decoded(text)
    if isinstance(value, str):
        value = decoded(value)
    if isinstance(value, dict):
        return value
    if not isinstance(value, str):
        return {}
    pairs = (part.partition("=") for part in value.split(",") if "=" in part)
    return {name.strip(): word(text.strip()) for name, _, text in pairs}


def word(text: str) -> Any:
    """A value as people write one: JSON, or True, FALSE and None."""
    return {"true": True, "false": False, "none": None}.get(text.lower(), decoded(text))
