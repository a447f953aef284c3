"""What a setup amounts to: the shape of its model, its layout and its pipeline, framework by framework."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from monitor.predict.layout import SHAPE, ModelShape, layout_of, missing_of_layout, pipeline_of, shape_of
from monitor.predict.pipeline import PipelineSetting
from monitor.predict.setup import setup_from

GPT: dict[str, Any] = {
    "num_layers": 24,
    "hidden_width": 1024,
    "num_heads": 16,
    "vocab_size": 50257,
    "max_context_width": 512,
}
NODES: dict[str, Any] = {"instance_count": 4, "gpus_per_node": 8}


def test_shape_of_a_model() -> None:
    assert shape_of(setup_from(GPT)) == ModelShape(24, 1024, 16, 50257, 512)
    assert shape_of(setup_from({**GPT, "parameters_billion": 0.5})) == ModelShape(24, 1024, 16, 50257, 512, 0.5e9)
    part = setup_from({name: value for name, value in GPT.items() if name != "num_heads"})
    assert shape_of(part) is None
    assert part.missing(*SHAPE) == ("attention_heads",)


@pytest.mark.parametrize(
    ("values", "sharding", "degree"),
    [
        ({"microbatches": 1, "batch_size": 4}, "none", 1),
        (
            {"microbatches": 1, "batch_size": 4, "shard_optimizer_state": True, "tensor_parallel_degree": 4},
            "optimizer",
            8,
        ),
        ({"microbatches": 1, "batch_size": 4, "sharded_data_parallel_degree": 8}, "full", 8),
        ({"hybrid_shard_degree": 16, "batch_size": 4}, "full", 16),
        ({"hybrid_shard_degree": 1, "batch_size": 4}, "none", 1),
        ({"hybrid_shard_degree": 0, "batch_size": 4}, "full", 32),
        ({"fsdp": "full_shard", "batch_size": 4}, "full", 32),
        ({"fsdp": "hybrid_shard", "batch_size": 4}, "full", 8),
        ({"fsdp": "shard_grad_op", "batch_size": 4}, "gradients", 32),
        ({"fsdp": "no_shard", "batch_size": 4}, "none", 1),
        ({"deepspeed": {"zero_optimization": {"stage": 3}}, "batch_size": 4}, "full", 32),
        ({"tensor_model_parallel_size": 4, "use_distributed_optimizer": True, "micro_batch_size": 1}, "optimizer", 8),
        ({"tensor_model_parallel_size": 4, "micro_batch_size": 1}, "none", 1),
    ],
)
def test_what_is_sharded_over_how_many(values: dict[str, Any], sharding: str, degree: int) -> None:
    layout = layout_of(setup_from({**values, **NODES}))
    assert layout is not None
    assert (layout.sharding, layout.shard_degree) == (sharding, degree)


def test_layout_of_smp_v1() -> None:
    setup = setup_from(
        {
            **NODES,
            "pipeline_parallel_degree": 2,
            "tensor_parallel_degree": 4,
            "ddp": True,
            "microbatches": 8,
            "batch_size": 32,
            "optimize": "memory",
            "fp16": True,
            "offload_activations": True,
            "activation_loading_horizon": 2,
            "activation_checkpointing": 1,
            "activation_strategy": "group_3",
        }
    )
    layout = layout_of(setup)
    assert layout is not None
    assert (layout.pipeline, layout.tensor, layout.microbatch_size, layout.in_flight) == (2, 4, 4, 4)
    assert (layout.checkpointed_layers, layout.offload, layout.loading_horizon) == (3, True, 2)
    assert (layout.sequence_parallel, layout.half_precision) == (True, True)


def test_a_job_of_smp_v1_runs_in_full_precision_by_default_and_a_plan_means_half() -> None:
    setup = setup_from({"microbatches": 1, "batch_size": 1, **NODES})
    of_plan, of_job = (layout_of(replace(setup, is_job=is_job)) for is_job in (False, True))
    assert of_plan is not None
    assert of_job is not None
    assert (of_plan.half_precision, of_job.half_precision) == (True, False)


def test_ranks_that_read_a_batch_each_share_the_work_on_all_of_them() -> None:
    setup = setup_from({"microbatches": 2, "batch_size": 8, "tensor_parallel_degree": 4, **NODES})
    for other, size in ((setup, 4), (replace(setup, is_job=True), 16)):
        layout = layout_of(other)
        assert layout is not None
        assert layout.microbatch_size == size
    given = setup_from(
        {"microbatches": 2, "batch_size": 8, "tensor_parallel_degree": 4, "prescaled_batch": True, **NODES}
    )
    layout = layout_of(replace(given, is_job=True))
    assert layout is not None
    assert layout.microbatch_size == 4


@pytest.mark.parametrize(
    ("values", "missing"),
    [
        ({"microbatches": 2}, ("batch_size",)),
        ({"microbatches": 4, "batch_size": 6}, ("batch_size",)),
        ({"fsdp": "full_shard", "batch_size": 2}, ("instance_count", "gpus_per_node")),
        ({"deepspeed": {"zero_optimization": {"stage": 1}}}, ("pipeline_parallel_degree", "micro_batch_size")),
        ({"lr": 1}, ("pipeline_parallel_degree", "tensor_parallel_degree", "micro_batch_size")),
    ],
)
def test_what_is_missing_of_a_layout_is_said(values: dict[str, Any], missing: tuple[str, ...]) -> None:
    setup = setup_from(values)
    assert layout_of(setup) is None
    assert missing_of_layout(setup) == missing


@pytest.mark.parametrize(
    ("values", "setting"),
    [
        ({"pipeline_parallel_degree": 4, "microbatches": 8, "batch_size": 32}, PipelineSetting(4, 8, "smp", 6, 1, 4.0)),
        ({"pipeline_parallel_degree": 4, "microbatches": 8, "active_microbatches": 2}, PipelineSetting(4, 8, "smp", 2)),
        (
            {"pipeline_parallel_degree": 4, "microbatches": 8, "active_microbatches": 20},
            PipelineSetting(4, 8, "smp", 8),
        ),
        ({"pipeline_parallel_degree": 4, "microbatches": 4, "pipeline": "simple"}, PipelineSetting(4, 4, "gpipe")),
        ({"pipeline_parallel_degree": 4, "microbatches": 8, "pipeline": "simple"}, PipelineSetting(4, 8, "smp", 6)),
        (
            {"pipeline_model_parallel_size": 4, "global_batch_size": 64, "micro_batch_size": 2, **NODES},
            PipelineSetting(4, 4, "1f1b", None, 1, 2.0),
        ),
        (
            {
                "pipeline_model_parallel_size": 4,
                "num_microbatches": 8,
                "num_layers": 32,
                "num_layers_per_virtual_pipeline_stage": 2,
            },
            PipelineSetting(4, 8, "1f1b", None, 4),
        ),
        ({"pipeline_model_parallel_size": 4}, None),
        ({}, None),
    ],
)
def test_pipeline(values: dict[str, Any], setting: PipelineSetting | None) -> None:
    assert pipeline_of(setup_from(values)) == setting
