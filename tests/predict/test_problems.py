"""What in a setup is invalid or useless: one table a rule, and the published configurations that have none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.model import Job
from monitor.predict.problems.libraries import SetupProblem
from monitor.predict.problems.rules import problems_of, unknowns_of
from monitor.predict.setup import setup_from, setup_of

V1: dict[str, Any] = {"pipeline_parallel_degree": 2, "microbatches": 4, "ddp": True}
TWO: dict[str, Any] = {"instance_count": 2, "gpus_per_node": 8}


def found(values: dict[str, Any]) -> list[SetupProblem]:
    return list(problems_of(setup_from(values)))


@pytest.mark.parametrize(
    ("values", "parameter", "change", "to", "rejected"),
    [
        ({**V1, "active_microbatches": 5}, "active_microbatches", "active_microbatches", 4, True),
        (
            {**V1, "tensor_parallel_degree": 2, "ddp": False, "prescaled_batch": True},
            "tensor_parallel_degree",
            "ddp",
            True,
            True,
        ),
        ({**V1, "prescaled_batch": True, "optimize": "memory"}, "prescaled_batch", "optimize", "speed", True),
        ({**V1, "horovod": True}, "horovod", "horovod", False, True),
        ({**V1, "ddp": False, "ddp_port": 9000}, "ddp_port", "ddp", True, True),
        ({**V1, "auto_partition": False}, "auto_partition", "default_partition", 0, True),
        ({**V1, "auto_partition": False, "default_partition": 2}, "default_partition", "default_partition", 0, True),
        ({**V1, "partitions": 4}, "pipeline_parallel_degree", None, None, True),
        (
            {**V1, "sharded_data_parallel_degree": 2},
            "sharded_data_parallel_degree",
            "pipeline_parallel_degree",
            1,
            True,
        ),
        (
            {"ddp": True, "microbatches": 1, "sharded_data_parallel_degree": 2, "shard_optimizer_state": True},
            "shard_optimizer_state",
            "shard_optimizer_state",
            False,
            True,
        ),
        (
            {"ddp": True, "microbatches": 1, "sharded_data_parallel_degree": 2, "tensor_parallel_degree": 2},
            "sharded_data_parallel_degree",
            "prescaled_batch",
            True,
            True,
        ),
        (
            {"ddp": True, "microbatches": 1, "sharded_data_parallel_degree": 6, **TWO},
            "sharded_data_parallel_degree",
            "sharded_data_parallel_degree",
            4,
            True,
        ),
        ({**V1, "bf16": True}, "bf16", None, None, False),
        ({**V1, "microbatches": 8, "pipeline": "simple"}, "pipeline", "pipeline", "interleaved", False),
        ({**V1, "pipeline_parallel_degree": 1, "active_microbatches": 2}, "active_microbatches", None, None, False),
        (
            {**V1, "offload_activations": True, "active_microbatches": 1},
            "offload_activations",
            "offload_activations",
            False,
            False,
        ),
        (
            {**V1, "offload_activations": True, "activation_checkpointing": False},
            "offload_activations",
            "activation_checkpointing",
            True,
            False,
        ),
        (
            {**V1, "shard_optimizer_state": True, "instance_count": 1, "gpus_per_node": 2},
            "shard_optimizer_state",
            "shard_optimizer_state",
            False,
            False,
        ),
        ({**V1, "pipeline_parallel_degree": 3, **TWO}, "pipeline_parallel_degree", "pipeline_parallel_degree", 2, True),
        (
            {**V1, "pipeline_parallel_degree": 8, "tensor_parallel_degree": 4, "prescaled_batch": True, **TWO},
            "pipeline_parallel_degree",
            "pipeline_parallel_degree",
            4,
            True,
        ),
        ({"hybrid_shard_degree": 6, **TWO}, "hybrid_shard_degree", "hybrid_shard_degree", 2, True),
        (
            {"hybrid_shard_degree": 2, "context_parallel_degree": 4},
            "context_parallel_degree",
            "hybrid_shard_degree",
            4,
            True,
        ),
        (
            {"hybrid_shard_degree": 8, "expert_parallel_degree": 2, "tensor_parallel_degree": 2},
            "expert_parallel_degree",
            "expert_parallel_degree",
            1,
            True,
        ),
        ({"hybrid_shard_degree": 8, "microbatches": 4}, "microbatches", None, None, True),
        (
            {"tensor_model_parallel_size": 4, "global_batch_size": 30, "micro_batch_size": 2, **TWO},
            "global_batch_size",
            "global_batch_size",
            24,
            True,
        ),
        (
            {"tensor_model_parallel_size": 4, "num_attention_heads": 18, **TWO},
            "tensor_parallel_degree",
            "tensor_parallel_degree",
            2,
            True,
        ),
        (
            {
                "deepspeed": {
                    "train_batch_size": 60,
                    "train_micro_batch_size_per_gpu": 2,
                    "gradient_accumulation_steps": 2,
                },
                "pipeline_model_parallel_size": None,
                "zero_stage": 2,
                **TWO,
            },
            "global_batch_size",
            "global_batch_size",
            64,
            True,
        ),
        ({"zero_stage": 3, "deepspeed": "ds.json", "pp_size": 4}, "zero_stage", "zero_stage", 1, True),
    ],
)
def test_what_is_rejected_or_ignored(
    values: dict[str, Any], parameter: str, change: str | None, to: Any, rejected: bool
) -> None:
    problems = [each for each in found(values) if each.id == "invalid-configuration"]
    assert [(each.parameter, each.rejected) for each in problems] == [(parameter, rejected)]
    advice = problems[0].recommendation
    assert (advice.parameter, advice.to_value) == (change, to)
    assert problems[0].source
    assert problems[0].severity == "warning"


@pytest.mark.parametrize(
    ("name", "value", "to"),
    [
        ("microbatches", "4", 4),
        ("microbatches", 4.0, 4),
        ("microbatches", 0, 1),
        ("microbatches", True, None),
        ("memory_weight", 1.5, 1),
        ("memory_weight", 1, ...),
        ("sdp_reduce_bucket_size", 5e8, 500_000_000),
        ("ddp", 1, True),
        ("ddp", "true", None),
        ("pipeline", "gpipe", None),
        ("placement_strategy", "PDT", ...),
        ("placement_strategy", "DDT", None),
        ("activation_loading_horizon", 0, ...),
        ("default_partition", None, ...),
    ],
)
def test_types_and_bounds_are_the_schemas(name: str, value: Any, to: Any) -> None:
    """``...`` stands for a value that is right."""
    problems = [each for each in found({"skip_tracing": True, name: value}) if each.parameter == name]
    assert bool(problems) == (to is not ...)
    if problems:
        assert problems[0].recommendation.to_value == to
        assert problems[0].rejected


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("pipeline_paralel_degree", 'did you mean "pipeline_parallel_degree"?'),
        ("hybrid_shard_degree", "belongs to SMP v2"),
        ("zero_infinity", "its schema does not contain it"),
        ("deterministic_server", ""),
        ("_match_weights", ""),
    ],
)
def test_names_that_the_library_does_not_know(name: str, said: str) -> None:
    from monitor.model import Parameter

    configuration = {"microbatches": Parameter(2, "mp_parameters"), name: Parameter(True, "mp_parameters")}
    problems = problems_of(setup_of(Job("a", smp_version=1, configuration=configuration)))
    assert [each.parameter for each in problems] == ([name] if said else [])
    assert all(said in each.words for each in problems)
    # A library that printed its configuration took all names.
    configuration["optimize"] = Parameter("speed", "log line 7")
    assert problems_of(setup_of(Job("a", smp_version=1, configuration=configuration))) == ()


@pytest.mark.parametrize(
    ("values", "ids"),
    [
        ({**V1, "batch_size": 30}, ["batch-not-divisible"]),
        ({**V1, "tensor_parallel_degree": 3, "prescaled_batch": True}, ["tensor-parallel-degree"]),
        ({"tensor_parallel_degree": 16, "ddp": True, "microbatches": 1, **TWO}, ["tensor-parallel-across-nodes"]),
        ({"tensor_model_parallel_size": 16, **TWO}, ["tensor-parallel-across-nodes"]),
        (
            {"tensor_parallel_degree": 2, "ddp": True, "microbatches": 1, "placement_strategy": "TPD", **TWO},
            ["tensor-parallel-across-nodes"],
        ),
        ({"tensor_parallel_degree": 2, "ddp": True, "microbatches": 1, "placement_strategy": "DPT", **TWO}, []),
        ({**V1, "tensor_parallel_degree": 8, **TWO}, ["prescaled-batch-off"]),
        ({**V1, "tensor_parallel_degree": 4, "prescaled_batch": True, **TWO}, ["pipeline-inside-node"]),
        ({**V1, "tensor_parallel_degree": 4, "prescaled_batch": True, "placement_strategy": "PDT", **TWO}, []),
        # Megatron-LM's stages are far apart already.
        ({"tensor_model_parallel_size": 4, "pipeline_model_parallel_size": 2, **TWO}, []),
        ({**V1, "tensor_parallel_degree": 4, "prescaled_batch": True, "instance_count": 1, "gpus_per_node": 8}, []),
    ],
)
def test_exact_ids(values: dict[str, Any], ids: list[str]) -> None:
    assert [each.id for each in found(values)] == ids


@pytest.mark.parametrize(
    "values",
    [
        # The reference points of AWS's guide: 10, 30 and 60 billion parameters on p4d nodes.
        {"tensor_parallel_degree": 4, "microbatches": 1, "batch_size": 40, "instance_count": 16},
        {"tensor_parallel_degree": 8, "microbatches": 1, "batch_size": 32, "instance_count": 16},
        {
            "pipeline_parallel_degree": 2,
            "tensor_parallel_degree": 8,
            "microbatches": 4,
            "active_microbatches": 2,
            "batch_size": 56,
            "instance_count": 32,
        },
    ],
)
def test_published_configurations_of_v1_have_no_problem(values: dict[str, Any]) -> None:
    always = {"ddp": True, "shard_optimizer_state": True, "prescaled_batch": True, "fp16": True, "gpus_per_node": 8}
    assert found({**always, **values}) == []


@pytest.mark.parametrize(
    "values",
    [
        {"hybrid_shard_degree": 8, "instance_count": 1},
        {"hybrid_shard_degree": 256, "instance_count": 32},
        {"hybrid_shard_degree": 128, "tensor_parallel_degree": 4, "instance_count": 64},
    ],
)
def test_published_configurations_of_v2_have_no_problem(values: dict[str, Any]) -> None:
    assert found({**values, "gpus_per_node": 8}) == []


def test_what_cannot_be_read_is_a_problem() -> None:
    problems = problems_of(setup_of(Job("a", hyperparameters={"mp_parameters": "{"})))
    assert [each.parameter for each in problems] == ["mp_parameters"]


@pytest.mark.parametrize(
    ("values", "unknown"),
    [
        (V1, ["instance_count", "batch_size"]),
        ({**V1, **TWO}, ["batch_size"]),
        ({**V1, "instance_type": "ml.p99.huge", "instance_count": 2, "batch_size": 8}, ["instance_type"]),
        ({**V1, **TWO, "batch_size": 8}, []),
        ({}, []),
    ],
)
def test_what_is_missing_is_said(values: dict[str, Any], unknown: list[str]) -> None:
    problems = unknowns_of(setup_from(values))
    assert [each.parameter for each in problems] == unknown
    assert all(each.severity == "info" for each in problems)


_ANY = st.one_of(st.none(), st.booleans(), st.integers(-3, 70), st.floats(-2, 2), st.sampled_from(["speed", "x", "8"]))


@given(
    st.dictionaries(
        st.sampled_from(
            [
                "pipeline_parallel_degree",
                "tensor_parallel_degree",
                "microbatches",
                "active_microbatches",
                "ddp",
                "prescaled_batch",
                "optimize",
                "sharded_data_parallel_degree",
                "offload_activations",
                "shard_optimizer_state",
                "bf16",
                "fp16",
                "batch_size",
                "instance_count",
                "gpus_per_node",
                "hybrid_shard_degree",
                "context_parallel_degree",
                "zero_stage",
                "global_batch_size",
                "micro_batch_size",
                "placement_strategy",
                "default_partition",
                "auto_partition",
                "memory_weight",
            ]
        ),
        _ANY,
    )
)
def test_no_values_are_too_odd_to_be_judged(values: dict[str, Any]) -> None:
    for each in (*found(values), *unknowns_of(setup_from(values))):
        assert each.words.endswith((".", "?")), each.words
        assert each.recommendation.text
