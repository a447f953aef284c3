"""Runs whose GPUs look busy: rules that judge by the configuration and by MFU, outside the model parallel library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from monitor.model import Node, Run, steps_frame
from tests.builders import nodes_of, steps
from tests.diagnose.advice_cases import MEGATRON, advised, levels
from tests.diagnose.runs import BUSY, Cases, healthy
from tests.diagnose.utilization_runs import said, tflops

A100 = tuple(
    replace(node, gpu_model="NVIDIA A100", interconnect="nvswitch", network_gbps=400.0) for node in nodes_of(4)
)
T4 = tuple(
    replace(node, instance_type="ml.g4dn.12xlarge", gpus=4, gpu_model="NVIDIA T4", gpu_memory_gib=16.0,
            interconnect="none", network_gbps=50.0, efa=False)
    for node in nodes_of(4)
)  # fmt: skip
V100 = tuple(replace(node, gpu_model="NVIDIA V100", gpu_memory_gib=32.0) for node in nodes_of(4))
FOUR = tuple(node.name for node in A100)
SPINNING = levels(97, 60)
#: 64 % of a step of eight stages with four microbatches is waiting.
LARGE_BUBBLE = {
    "pipeline-model-parallel-size": 8,
    "tensor-model-parallel-size": 2,
    "micro-batch-size": 2,
    "global-batch-size": 16,
}
ACCUMULATED = {"per_device_train_batch_size": 1, "gradient_accumulation_steps": 32, "bf16": True}
SHAPE = {
    "num_layers": 24,
    "hidden_size": 2048,
    "num_attention_heads": 16,
    "vocab_size": 50_257,
    "max_seq_length": 2048,
}
FSDP = {"fsdp": "full_shard auto_wrap", "bf16": True}


def script(given: Mapping[str, Any], level: Mapping[str, float] = SPINNING, nodes: tuple[Node, ...] = A100) -> Run:
    return advised(level, None, given, nodes)


def printing(mfu_or_tflops: pd.DataFrame | float, given: Mapping[str, Any] | None = None) -> Run:
    """A script that prints its TFLOP/s, or its MFU in percent."""
    base = script({"bf16": True, **(given or {})})
    if isinstance(mfu_or_tflops, float):
        told = said([(2 + minute, "mfu", f"{mfu_or_tflops:g}") for minute in range(20)])
        return replace(base, events=told, steps=steps(FOUR, 1700, 2.0))
    return replace(base, steps=steps_frame(mfu_or_tflops))


FIRES: Cases = {
    "pipeline-bubble": lambda: [
        script(LARGE_BUBBLE),
        # Four stages of four microbatches; the layers are known, so that chunks of them are.
        script({**MEGATRON, "global-batch-size": 32, "num-layers": 32}),
        script({"deepspeed": '{"train_micro_batch_size_per_gpu": 2}', "zero_stage": 1, "pipeline_parallel_size": 4,
                "gradient_accumulation_steps": 4}),
        # Nobody sees its GPUs, and memory has no room: the bubble is there all the same.
        script(LARGE_BUBBLE, {"cpu_utilization": 10.0}),
        script(LARGE_BUBBLE, levels(97, 96)),
    ],
    "small-microbatch": lambda: [
        script(ACCUMULATED, levels(97, 20)),
        script({**ACCUMULATED, **SHAPE, "gradient_checkpointing": True}, levels(97, 40)),
        script({**FSDP, **ACCUMULATED}, levels(97, 20)),
        script({"deepspeed": '{"train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 16}', "zero_stage": 2},
               levels(97, 30)),
    ],
    "needless-sharding": lambda: [
        script({**FSDP, **ACCUMULATED, "parameters_billion": 1.3}, levels(97, 20)),
        script({"deepspeed": '{"zero_optimization": {"stage": 3}}', "bf16": True, "parameters_billion": 0.8}, levels(97, 25)),
        # Without links and step times nothing is predicted.
        script({**FSDP, "parameters_billion": 0.4}, levels(90, 20), V100),
    ],
    "full-precision": lambda: [
        script({"mixed_precision": "no"}),
        script({"precision": "32-true"}, nodes=V100),
        script({"per_device_train_batch_size": 8, "fp16": False}, nodes=T4),
        script({"fp16": False, "bf16": False}, levels(30, 20)),
        # Their tensor cores have no bf16.
        script({"bf16": True, "fp16": False}, nodes=T4),
        script({"mixed_precision": "bf16"}, nodes=V100),
        replace(script({}), events=said([(1, "hint", "TensorFloat32 tensor cores for float32 available but not enabled.")])),
    ],
    "low-mfu": lambda: [
        printing(3.0),
        printing(tflops(9.0)),
        printing(5.0, {"attn_implementation": "eager", "torch_compile": False}),
        # The bubble explains a part of it, and by far not all.
        printing(2.0, LARGE_BUBBLE),
    ],
}  # fmt: skip

SILENT: Cases = {
    "pipeline-bubble": lambda: [
        healthy(),
        # 3 of 67 and 3 of 19; chunks make it small; not known; no pipeline; SMP's own.
        script({**MEGATRON, "global-batch-size": 512}),
        script({**MEGATRON, "global-batch-size": 128}),
        script({**MEGATRON, "global-batch-size": 64, "virtual_pipeline_model_parallel_size": 4}),
        script(MEGATRON),
        script({"tensor-model-parallel-size": 8, "micro-batch-size": 1, "global-batch-size": 8}),
        advised(BUSY, {"ddp": True, "pipeline_parallel_degree": 4, "microbatches": 4, "active_microbatches": 4}),
    ],
    "small-microbatch": lambda: [
        healthy(),
        # Nothing is accumulated; memory is full, or not known; large already; a pipeline wants many.
        script({"per_device_train_batch_size": 1}, levels(97, 20)),
        script(ACCUMULATED, levels(97, 70)),
        script(ACCUMULATED, {"gpu_utilization": 97.0}),
        script({**ACCUMULATED, "per_device_train_batch_size": 16}, levels(97, 20)),
        script({**MEGATRON, "micro-batch-size": 1, "global-batch-size": 256}, levels(97, 20)),
    ],
    "needless-sharding": lambda: [
        healthy(),
        # Too large for one; room for the state and none for its gradients' buckets; not sharded; size not known.
        script({**FSDP, "parameters_billion": 7}, levels(97, 40)),
        script({**FSDP, "parameters_billion": 1.9}, levels(97, 20)),
        script({"fsdp": "shard_grad_op", "parameters_billion": 0.4}, levels(97, 20)),
        script(FSDP, levels(97, 20)),
        script({"deepspeed": '{"zero_optimization": {"stage": 1}}', "parameters_billion": 0.8}, levels(97, 25)),
        advised(levels(83, 30), {"ddp": True, "sharded_data_parallel_degree": 16}, {"parameters_billion": 0.632}, T4),
    ],
    "full-precision": lambda: [
        script({"bf16": True, "fp16": False}),
        # One switch is no word about the other; a script that says nothing may cast by itself.
        script({"fp16": False}),
        script({}),
        script({"precision": "bf16-mixed"}),
        script({"precision": "16-mixed"}, nodes=T4),
        # What is printed beside a library's warning is what is computed in.
        replace(
            script({"precision": "bf16-mixed"}),
            events=said([(1, "hint", "TensorFloat32 tensor cores for float32 available but not enabled.")]),
        ),
        script({"mixed_precision": "no"}, nodes=tuple(replace(node, gpu_model="NVIDIA K80") for node in A100)),
    ],
    "low-mfu": lambda: [
        healthy(),
        printing(42.0),
        printing(24.0),
        # Half of it is the pipeline's bubble; the usual is not known; GPUs that wait have a finding of their own.
        printing(15.0, LARGE_BUBBLE),
        replace(printing(3.0), job=replace(printing(3.0).job, nodes=T4)),
        replace(printing(15.0), metrics=script({}, levels(40, 60)).metrics),
        # Too short to tell.
        replace(printing(3.0), steps=steps(FOUR, 5, 2.0)),
    ],
}  # fmt: skip
