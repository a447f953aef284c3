"""What does a library assume if a parameter is not given? Defaults by framework, with formulas evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from monitor.predict.setup_types import Framework, Known, whole_number, yes_or_no
from monitor.predict.smp_schema import V1, V2, active_microbatches_by_default

# Of what has no pipeline and, unless it is said, splits no layer.
_ONE_STAGE = {"pipeline_parallel_degree": 1, "tensor_parallel_degree": 1}
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "smp2": {**{name: entry.default for name, entry in V2.items()}, "pipeline_parallel_degree": 1},
    "fsdp": {**_ONE_STAGE, "sharding_strategy": "full_shard", "context_parallel_degree": 1},
    "ddp": {**_ONE_STAGE, "context_parallel_degree": 1},
    "megatron": {**_ONE_STAGE, "context_parallel_degree": 1, "expert_parallel_degree": 1},
    # ZeRO stages 2 and 3 do not go with its pipeline; of the lower ones nobody knows: see below.
    "deepspeed": {"zero_stage": 0, "tensor_parallel_degree": 1},
}
_SOURCES: Mapping[str, str] = {
    "smp1": "default of SMP v1",
    "smp2": "default of SMP v2",
    "fsdp": "default of FSDP",
    "ddp": "default of DDP",
    "megatron": "default of Megatron-LM",
    "deepspeed": "default of DeepSpeed",
}


def with_defaults(framework: Framework | None, given: Mapping[str, Known]) -> dict[str, Known]:
    """``given`` and, behind it, what the framework takes for the rest; ``given`` alone where no framework is known."""
    if framework is None:
        return dict(given)
    values: dict[str, Any] = dict(_DEFAULTS.get(framework, {}))
    if framework == "smp1":
        values = _of_smp1(given)
    if framework == "deepspeed" and _number(given, "zero_stage", 0) >= 2:
        values["pipeline_parallel_degree"] = 1
    source = _SOURCES[framework]
    defaults = {name: Known(value, source, True) for name, value in values.items() if value is not None}
    return {**defaults, **given}


def _of_smp1(given: Mapping[str, Known]) -> dict[str, Any]:
    values: dict[str, Any] = {name: entry.default for name, entry in V1.items()}
    stages, microbatches = _number(given, "pipeline_parallel_degree", 1), _number(given, "microbatches", 1)
    values["active_microbatches"] = active_microbatches_by_default(stages, microbatches)
    half = [name for name in ("fp16", "fp16_params", "bf16") if name in given and yes_or_no(given[name].value)]
    values["precision"] = half[-1].removesuffix("_params") if half else "fp32"
    return values


def _number(given: Mapping[str, Known], name: str, otherwise: int) -> int:
    found = whole_number(given[name].value) if name in given else None
    return otherwise if found is None else found
