"""How many samples a step has, and when nobody can know."""

from __future__ import annotations

from typing import Any

import pytest

from monitor.predict.layout import samples_of_step, samples_ratio
from monitor.predict.setup import Setup, setup_from

MACHINE = {"instance_count": 4, "gpus_per_node": 8}
SMP1 = {"pipeline_parallel_degree": 2, "tensor_parallel_degree": 8, "microbatches": 4, "batch_size": 48}


def setup(framework: Any = None, **values: Any) -> Setup:
    return setup_from({**MACHINE, **values}, framework)


@pytest.mark.parametrize(
    ("framework", "values", "samples"),
    [
        ("smp1", {**SMP1, "prescaled_batch": True}, 48 * 2),  # one batch for each of two groups of 8
        ("smp1", {**SMP1, "prescaled_batch": False}, 48 * 16),  # one for each rank of a stage
        ("smp1", {"microbatches": 1, "batch_size": 4, "sharded_data_parallel_degree": 4}, 4 * 32),
        ("smp2", {"tensor_parallel_degree": 2, "train_batch_size": 2, "hybrid_shard_degree": 8}, 2 * 16),
        ("fsdp", {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 4}, 2 * 4 * 32),
        ("ddp", {"per_device_train_batch_size": 2}, 64),
        ("megatron", {"micro_batch_size": 1, "global_batch_size": 512, "pipeline_model_parallel_size": 4}, 512),
        ("megatron", {"micro_batch_size": 1, "pipeline_model_parallel_size": 4}, None),  # accumulation is not known
        (None, {"per_device_train_batch_size": 2}, 64),
        (None, {"batch_size": 64}, None),  # of one rank, or of all
        ("smp1", {"microbatches": 4}, None),
    ],
)
def test_samples_of_a_step(framework: Any, values: dict[str, Any], samples: int | None) -> None:
    assert samples_of_step(setup(framework, **values)) == samples


@pytest.mark.parametrize(
    ("before", "after", "ratio"),
    [
        ({"batch_size": 32}, {"batch_size": 64}, 2.0),  # whosever it is, it doubled
        ({"batch_size": 32}, {"batch_size": 32, "instance_count": 8}, None),
        ({"global_batch_size": 256}, {"global_batch_size": 128, "instance_count": 8}, 0.5),
        ({"per_device_train_batch_size": 2}, {"per_device_train_batch_size": 2, "instance_count": 8}, 2.0),
        ({}, {}, None),
    ],
)
def test_the_ratio_of_two_setups(before: dict[str, Any], after: dict[str, Any], ratio: float | None) -> None:
    assert samples_ratio(setup(**before), setup(**after)) == ratio
