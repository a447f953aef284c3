"""Runs for the rules that advise: what each of them speaks about, and what it leaves alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from monitor.model import Node, Parameter, Run
from tests.builders import metrics, nodes_of
from tests.diagnose.failure_cases import out_of_memory
from tests.diagnose.runs import BUSY, LOW, MINUTES, Cases, healthy, run

P4D = nodes_of(4)
G4DN = tuple(
    replace(node, instance_type="ml.g4dn.12xlarge", gpus=4, gpu_memory_gib=16.0, interconnect="none", efa=False)
    for node in nodes_of(8)
)
EMPTY = {"gpu_utilization": 46.0, "gpu_memory_utilization": 41.0, "cpu_utilization": 12.0}
#: GPT with 10 billion parameters.
SHAPE = {
    "num_layers": 48,
    "hidden_width": 4096,
    "num_heads": 32,
    "vocab_size": 50_000,
    "max_context_width": 512,
}
WINDOW = {"ddp": True, "pipeline_parallel_degree": 4, "microbatches": 8, "active_microbatches": 2}


def levels(gpu: float, memory: float, cpu: float = 15.0) -> dict[str, float]:
    return {"gpu_utilization": gpu, "gpu_memory_utilization": memory, "cpu_utilization": cpu}


def advised(
    level: Mapping[str, float],
    library: Mapping[str, Any] | None = None,
    script: Mapping[str, Any] | None = None,
    nodes: tuple[Node, ...] = P4D,
    smp: int | None = None,
) -> Run:
    """An hour at ``level`` with a configuration: the library's own parameters, and the script's."""
    base = run(metrics([node.name for node in nodes], MINUTES, level), nodes=nodes)
    configuration = {
        **{name: Parameter(value, "hyperparameters") for name, value in (script or {}).items()},
        **{name: Parameter(value, "mp_parameters") for name, value in (library or {}).items()},
    }
    version = smp if smp is not None else 1 if library else None
    return replace(base, job=replace(base.job, smp_version=version, configuration=configuration))  # type: ignore[arg-type]


def ran_out(library: Mapping[str, Any], script: Mapping[str, Any] | None = None) -> Run:
    """A job of SMP v1 that ended because a GPU had no memory left."""
    configuration = {
        **{name: Parameter(value, "hyperparameters") for name, value in (script or {}).items()},
        **{name: Parameter(value, "mp_parameters") for name, value in library.items()},
    }
    base = out_of_memory()
    return replace(base, job=replace(base.job, smp_version=1, configuration=configuration))


FEW = {"ddp": True, "pipeline_parallel_degree": 4, "microbatches": 4}
MEGATRON = {"pipeline-model-parallel-size": 4, "tensor-model-parallel-size": 2, "micro-batch-size": 2}
_SHORT = levels(92, 90)
MICS = {"ddp": True, "pipeline_parallel_degree": 1, "sharded_data_parallel_degree": 32}
_VIT = {"num_layers": 32, "hidden_width": 1280, "train_batch_size": 4}

_A100 = tuple(replace(node, gpu_model="NVIDIA A100") for node in P4D)


@cache
def _stages() -> Run:
    """Each of its four nodes holds one stage, by the order of ranks."""
    return advised(levels(90, 60), WINDOW)


def _uneven(points: float) -> Run:
    run = _stages()
    slow = {"algo-3": -points, "algo-4": -points}
    rows = metrics(["algo-1", "algo-2", "algo-3", "algo-4"], MINUTES, levels(90, 60), slow=slow)
    library = {
        **WINDOW,
        "microbatches": 32,
        "active_microbatches": 6,
        "tensor_parallel_degree": 8,
        "prescaled_batch": True,
    }
    configuration = {name: Parameter(value, "mp_parameters") for name, value in library.items()}
    return replace(run, job=replace(run.job, configuration=configuration), metrics=rows)


FIRES: Cases = {
    "unbalanced-stages": lambda: [_uneven(18.0)],
    "full-precision": lambda: [advised(BUSY, {"ddp": True, "sharded_data_parallel_degree": 8}, nodes=_A100)],
    "raise-active-microbatches": lambda: [
        advised(EMPTY, WINDOW),
        advised(EMPTY, {**WINDOW, "tensor_parallel_degree": 8, "prescaled_batch": True, "fp16": True},
                {**SHAPE, "train_batch_size": 32, "activation_checkpointing": 1}),
        # The library's other name, and a default that is printed nowhere.
        advised(levels(30, 20), {"ddp": True, "partitions": 8, "microbatches": 16, "active_microbatches": 4}),
    ],
    "lower-active-microbatches": lambda: [advised(levels(94, 89), {**WINDOW, "microbatches": 32, "active_microbatches": 32})],
    "raise-microbatches": lambda: [
        advised(levels(58, 40), FEW),
        advised(levels(58, 40), FEW, {"train_batch_size": 32}),
        advised(levels(58, 40), None, {**MEGATRON, "global-batch-size": 32}),
        advised(levels(58, 40), None, {"deepspeed": '{"train_micro_batch_size_per_gpu": 2}', "zero_stage": 1,
                                       "pipeline_parallel_size": 4, "gradient_accumulation_steps": 4}),
    ],
    "shard-optimizer-state": lambda: [
        advised(BUSY, {"ddp": True, "tensor_parallel_degree": 4}, {**SHAPE, "train_batch_size": 8}),
        advised(_SHORT, {"ddp": True, "tensor_parallel_degree": 4}),
        advised(BUSY, None, {**MEGATRON, "parameters_billion": 6.7}),
        advised(
            BUSY,
            None,
            {"deepspeed": '{"zero_optimization": {"stage": 0}}', "pipeline_parallel_size": 2, "parameters_billion": 3},
        ),
        advised(BUSY, None, {"fsdp": "no_shard", "parameters_billion": 3}),
    ],
    "activation-checkpointing": lambda: [
        advised(_SHORT, FEW),
        advised(_SHORT, None, {"fsdp": "full_shard auto_wrap", "gradient_checkpointing": False}),
        advised(_SHORT, None, MEGATRON),
        ran_out({"ddp": True, "pipeline_parallel_degree": 2}),
    ],
    "offload-activations": lambda: [
        advised(_SHORT, {**FEW, "microbatches": 16}, {"activation_checkpointing": 1}),
        ran_out({**FEW, "microbatches": 16}, {"activation_checkpointing": 1}),
    ],
    "sharding-across-nodes": lambda: [
        advised(levels(83, 30), MICS, _VIT, G4DN),
        advised(levels(92, 40), {"hybrid_shard_degree": 32}, {"parameters_billion": 7},
                tuple(replace(node, interconnect="nvswitch") for node in P4D), smp=2),
        advised(levels(83, 30), None, {"fsdp": "full_shard", "parameters_billion": 0.6}, G4DN),
        advised(levels(83, 30), None, {"deepspeed": '{"zero_optimization": {"stage": 3}}', "parameters_billion": 0.6}, G4DN),
    ],
    "fewer-features": lambda: [
        advised(levels(93, 30), {"ddp": True, "tensor_parallel_degree": 4}),
        advised(levels(93, 25), {"ddp": True, "tensor_parallel_degree": 1, "fp16": True},
                {**SHAPE, "num_layers": 12, "train_batch_size": 2, "activation_checkpointing": 1}),
    ],
    "instance-type": lambda: [
        advised(levels(83, 60), {"ddp": True, "pipeline_parallel_degree": 8, "microbatches": 32}, nodes=G4DN),
        advised(levels(30, 25, 75)),
    ],
}  # fmt: skip

SILENT: Cases = {
    "unbalanced-stages": lambda: [healthy(), _uneven(4.0), advised(levels(90, 60), WINDOW)],
    "full-precision": lambda: [
        healthy(),
        advised(BUSY, {"ddp": True, "fp16": True}, nodes=_A100),
        advised(LOW, {"ddp": True}, nodes=_A100),
        advised(BUSY, {"ddp": True}),
    ],
    "raise-active-microbatches": lambda: [
        healthy(),
        # Busy; no memory left; as wide as is of use; two stages are full at two; no pipeline.
        advised(levels(92, 41), WINDOW),
        advised(levels(46, 75), WINDOW),
        advised(levels(46, 60), {**WINDOW, "microbatches": 4}),
        advised(EMPTY, {**WINDOW, "active_microbatches": 8}),
        advised(EMPTY, {"ddp": True, "pipeline_parallel_degree": 2, "microbatches": 4, "active_microbatches": 2}),
        advised(EMPTY, {"ddp": True, "pipeline_parallel_degree": 1, "microbatches": 8, "active_microbatches": 2}),
        advised(EMPTY, {"hybrid_shard_degree": 8}, smp=2),
    ],
    "lower-active-microbatches": lambda: [
        healthy(),
        advised(levels(94, 70), {**WINDOW, "microbatches": 32, "active_microbatches": 32}),
        advised(levels(94, 89), {**WINDOW, "microbatches": 32, "active_microbatches": 6}),
    ],
    "raise-microbatches": lambda: [
        healthy(),
        advised(levels(92, 40), FEW),
        advised(levels(58, 40), {**FEW, "microbatches": 16}),
        # One rank is told at a time: first the window.
        advised(EMPTY, WINDOW),
        advised(levels(58, 40), None, {"gradient_accumulation_steps": 2}),
    ],
    "shard-optimizer-state": lambda: [
        healthy(),
        advised(BUSY, {"ddp": True, "tensor_parallel_degree": 4, "shard_optimizer_state": True}, SHAPE),
        advised(BUSY, {"ddp": True}, {**SHAPE, "num_layers": 2}),
        advised(_SHORT, None, {"use_ddp": True}),
        advised(BUSY, {"ddp": True, "tensor_parallel_degree": 4}, {**SHAPE, "optimizer": "SGD"}),
        # One rank has each part.
        advised(BUSY, {"ddp": True, "pipeline_parallel_degree": 4, "tensor_parallel_degree": 8}, SHAPE),
    ],
    "activation-checkpointing": lambda: [
        healthy(),
        advised(BUSY, FEW),
        advised(_SHORT, FEW, {"activation_checkpointing": 1}),
        advised(_SHORT, None, {"learning_rate": 0.1}),
    ],
    "offload-activations": lambda: [
        healthy(),
        advised(BUSY, {**FEW, "microbatches": 16}, {"activation_checkpointing": 1}),
        advised(_SHORT, {**FEW, "microbatches": 16}),
        advised(_SHORT, {**FEW, "pipeline_parallel_degree": 1}, {"activation_checkpointing": 1}),
    ],
    "sharding-across-nodes": lambda: [
        healthy(),
        advised(levels(83, 44), {**MICS, "sharded_data_parallel_degree": 4}, _VIT, G4DN),
        # It would not fit; nothing tells how large it is.
        advised(levels(83, 80), MICS, {**_VIT, "num_layers": 320}, G4DN),
        advised(levels(83, 30), None, {"fsdp": "full_shard"}, G4DN),
        advised(BUSY, {"hybrid_shard_degree": 8}, {"parameters_billion": 7}, smp=2),
    ],
    "fewer-features": lambda: [
        healthy(),
        advised(levels(93, 60), {"ddp": True, "tensor_parallel_degree": 4}),
        advised(EMPTY, WINDOW),
    ],
    "instance-type": lambda: [
        healthy(),
        # Inside a node nothing waits for the network between them.
        advised(levels(83, 30), MICS, _VIT, G4DN),
        advised(levels(92, 30)),
        advised(LOW),
        advised(EMPTY, WINDOW),
    ],
}  # fmt: skip
