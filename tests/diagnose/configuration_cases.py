"""Runs for the rules about a job's setup: what each of them speaks about, and what it leaves alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from monitor.model import Parameter, Run, steps_frame
from tests.builders import nodes_of
from tests.diagnose.runs import Cases, healthy, run

V1 = {"pipeline_parallel_degree": 2, "microbatches": 4, "ddp": True}


def smp1(
    library: Mapping[str, Any], script: Mapping[str, Any] | None = None, nodes: int = 2, with_steps: bool = True
) -> Run:
    """A healthy run of SMP v1 on hosts of 8 GPUs."""
    base = run(nodes=nodes_of(nodes)) if with_steps else run(step_frame=steps_frame(), nodes=nodes_of(nodes))
    configuration = {
        **{name: Parameter(value, "hyperparameters") for name, value in (script or {}).items()},
        **{name: Parameter(value, "mp_parameters") for name, value in library.items()},
    }
    return replace(base, job=replace(base.job, smp_version=1, configuration=configuration))


FIRES: Cases = {
    "invalid-configuration": lambda: [
        smp1({**V1, "active_microbatches": 6}),
        smp1({**V1, "microbatches": "4"}),
        smp1({**V1, "shard_optimiser_state": True}),
        smp1({**V1, "zero_infinity": True}, with_steps=False),
        smp1({**V1, "offload_activations": True, "microbatches": 1}),
        smp1({**V1, "offload_activations": True}, {"activation_checkpointing": 0}),
        smp1({"pipeline_parallel_degree": 3, "ddp": True}, {"processes_per_host": 8}),
        smp1({"pipeline_parallel_degree": 2, "tensor_parallel_degree": 2, "ddp": True, "bf16": True, "fp16": True}),
    ],
    "batch-not-divisible": lambda: [smp1(V1, {"train_batch_size": 30}), smp1(V1, {"batch_size": 2}, with_steps=False)],
    "tensor-parallel-degree": lambda: [smp1({"tensor_parallel_degree": 6, "ddp": True}, with_steps=False)],
    "tensor-parallel-across-nodes": lambda: [
        smp1({"tensor_parallel_degree": 16, "ddp": True}),
        smp1({"tensor_parallel_degree": 2, "ddp": True, "placement_strategy": "spread"}),
    ],
    "prescaled-batch-off": lambda: [
        smp1({**V1, "tensor_parallel_degree": 4}),
        smp1({**V1, "tensor_parallel_degree": 4, "prescaled_batch": False}),
    ],
    "pipeline-inside-node": lambda: [smp1({**V1, "tensor_parallel_degree": 4, "prescaled_batch": True})],
}


@cache
def _good() -> Run:
    return smp1({**V1, "tensor_parallel_degree": 8, "prescaled_batch": True}, {"train_batch_size": 32})


SILENT: Cases = {
    "invalid-configuration": lambda: [
        _good(),
        healthy(),
        # A release that takes it runs here.
        smp1({**V1, "zero_infinity": True}),
        # AWS's own example of sharded data parallelism.
        smp1({"ddp": True, "sharded_data_parallel_degree": 8, "bf16": True, "offload_activations": True}),
        # Two names of one parameter that agree.
        smp1({**V1, "partitions": 2}),
    ],
    "batch-not-divisible": lambda: [
        _good(),
        smp1(V1),
        smp1({"ddp": True}, {"train_batch_size": 7}),
        smp1(V1, {"batch_size": 2}),
    ],
    "tensor-parallel-degree": lambda: [_good(), smp1(V1), healthy()],
    "tensor-parallel-across-nodes": lambda: [_good(), smp1({"tensor_parallel_degree": 8, "ddp": True}, nodes=1)],
    "prescaled-batch-off": lambda: [_good(), smp1(V1), smp1({"tensor_parallel_degree": 4, "ddp": True}), healthy()],
    "pipeline-inside-node": lambda: [
        _good(),
        smp1({**V1, "tensor_parallel_degree": 4}, nodes=1),
        smp1({**V1, "tensor_parallel_degree": 4, "placement_strategy": "PDT"}, nodes=2),
    ],
}
