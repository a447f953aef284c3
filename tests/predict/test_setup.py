"""A job's setup: every spelling of a value, which of several places binds, defaults, and what follows from them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.fetch.configuration import configuration, smp_version
from monitor.model import InstanceGroup, Job, Node, Parameter
from monitor.predict.layout import layout_of, pipeline_of, shape_of
from monitor.predict.parameters import CANONICAL, OTHER_NAMES, SPECIAL, V1, whole_number, yes_or_no
from monitor.predict.setup import Setup, SourcedValue, changed, resolved, setup_from, setup_of


def job_of(script: dict[str, Any] | None = None, library: dict[str, Any] | None = None, nodes: int = 2) -> Job:
    """A job as DescribeTrainingJob tells of it: values as JSON, as the SDK writes them."""
    texts = {name: json.dumps(value) for name, value in (script or {}).items()}
    if library is not None:
        texts |= {"mp_parameters": json.dumps(library), "sagemaker_mpi_enabled": "true"}
    return Job(
        "a",
        hyperparameters=texts,
        configuration=configuration(texts),
        smp_version=smp_version(texts),
        instance_groups=(InstanceGroup("", "ml.p4d.24xlarge", nodes),),
        nodes=tuple(
            Node(f"algo-{n}", "ml.p4d.24xlarge", 8, 96, 40.0, counts_from="table") for n in range(1, nodes + 1)
        ),
    )


ZERO = {"zero_optimization": {"stage": 2, "stage3_max_live_parameters": 5e8}, "bf16": {"enabled": True}}


@pytest.mark.parametrize(
    ("written", "value", "name", "expected"),
    [
        ("pipeline_model_parallel_size", 4, "pipeline_parallel_degree", 4),
        ("model.pipeline_model_parallel_size", 4, "pipeline_parallel_degree", 4),
        ("parallelism.tensor_parallel_degree", 8, "tensor_parallel_degree", 8),
        ("tensor-model-parallel-size", "8", "tensor_parallel_degree", 8),
        ("--tp_size", 2, "tensor_parallel_degree", 2),
        ("context_parallel_size", 2, "context_parallel_degree", 2),
        ("expert_model_parallel_size", 4, "expert_parallel_degree", 4),
        ("num_microbatches", 16, "microbatches", 16),
        ("train_batch_size", 32, "batch_size", 32),
        ("batch-size", 32, "batch_size", 32),
        ("per_device_train_batch_size", 4, "micro_batch_size", 4),
        ("train_micro_batch_size_per_gpu", 4, "micro_batch_size", 4),
        ("train.micro_batch_size", 4, "micro_batch_size", 4),
        ("global_train_batch_size", 512, "global_batch_size", 512),
        ("gradient_accumulation", 3, "gradient_accumulation_steps", 3),
        ("accumulate_grad_batches", 3, "gradient_accumulation_steps", 3),
        ("hidden_width", 1536, "hidden_size", 1536),
        ("n_embd", 768, "hidden_size", 768),
        ("num_layers", 48, "layers", 48),
        ("n_layer", 12, "layers", 12),
        ("num_heads", 24, "attention_heads", 24),
        ("n_head", 12, "attention_heads", 12),
        ("vocab_size", 50257, "vocabulary_size", 50257),
        ("max_context_width", 2048, "sequence_length", 2048),
        ("block_size", 1024, "sequence_length", 1024),
        ("seq_length", 2048, "sequence_length", 2048),
        ("recompute_num_layers", 2, "activation_checkpointing_layers", 2),
        ("activation_strategy", "group_2", "activation_checkpointing_layers", 2),
        ("activation_strategy", "each", "activation_checkpointing_layers", 1),
        ("zero_optimization_stage", 3, "zero_stage", 3),
        ("strategy", "deepspeed_stage_3", "zero_stage", 3),
        ("deepspeed", ZERO, "zero_stage", 2),
        ("deepspeed", json.dumps(ZERO), "zero_stage", 2),
        ("deepspeed", {"train_batch_size": 256}, "global_batch_size", 256),
        ("deepspeed", {"train_micro_batch_size_per_gpu": 4}, "micro_batch_size", 4),
        ("virtual_pipeline_model_parallel_size", 2, "virtual_stages", 2),
    ],
)
def test_numbers_under_every_name(written: str, value: Any, name: str, expected: int) -> None:
    setup = setup_of(job_of({written: value}))
    assert setup.number(name) == expected
    assert setup.read_from(name).startswith("hyperparameters")


@pytest.mark.parametrize(
    ("written", "value", "name", "expected"),
    [
        ("precision", "bf16-mixed", "precision", "bf16"),
        ("precision", 32, "precision", "fp32"),
        ("precision", "16-true", "precision", "fp16"),
        ("mixed_precision", "no", "precision", "fp32"),
        ("params_dtype", "torch.float16", "precision", "fp16"),
        ("bf16", True, "precision", "bf16"),
        ("fp16", 1, "precision", "fp16"),
        ("fp16", False, "precision", None),
        ("deepspeed", ZERO, "precision", "bf16"),
        ("fsdp", "full_shard auto_wrap", "sharding_strategy", "full_shard"),
        ("fsdp", "hybrid_shard,auto_wrap", "sharding_strategy", "hybrid_shard"),
        ("fsdp", ["shard_grad_op", "offload"], "sharding_strategy", "shard_grad_op"),
        ("fsdp", "", "sharding_strategy", None),
        ("sharding_strategy", "ShardingStrategy.NO_SHARD", "sharding_strategy", "no_shard"),
        ("fsdp_config", {"fsdp_sharding_strategy": 1}, "sharding_strategy", "full_shard"),
        ("activation_strategy", "contiguous", "activation_checkpointing_layers", None),
        ("deepspeed", "ds_config.json", "zero_stage", None),
        ("deepspeed", {"train_batch_size": "auto"}, "global_batch_size", None),
        ("gradient_accumulation_steps", "auto", "gradient_accumulation_steps", None),
        ("deepspeed", "{broken", "global_batch_size", None),
    ],
)
def test_words_under_every_name(written: str, value: Any, name: str, expected: str | None) -> None:
    found = setup_of(job_of({written: value})).values.get(name)
    known = None if found is None or found.is_default else found.value
    assert known == expected


@pytest.mark.parametrize(
    ("script", "library", "framework"),
    [
        ({}, {"pipeline_parallel_degree": 2}, "smp1"),
        ({}, {"hybrid_shard_degree": 8}, "smp2"),
        ({"fsdp": "full_shard auto_wrap"}, None, "fsdp"),
        ({"deepspeed": "ds_config.json"}, None, "deepspeed"),
        ({"strategy": "deepspeed_stage_2"}, None, "deepspeed"),
        ({"tensor_model_parallel_size": 4, "zero_stage": 1}, None, "megatron"),
        ({"strategy": "ddp_find_unused_parameters_false"}, None, "ddp"),
        # What is named and off tells nothing, nor does what could be either.
        ({"fsdp": "", "deepspeed": None, "use_ddp": 0}, None, None),
        ({"fsdp": "full_shard", "deepspeed": "ds.json"}, None, None),
        ({"batch_size": 32, "lr": 0.1}, None, None),
        ({}, None, None),
    ],
)
def test_framework(script: dict[str, Any], library: dict[str, Any] | None, framework: str | None) -> None:
    assert setup_of(job_of(script, library)).framework == framework


def test_what_was_given_then_what_was_printed_then_the_script_then_the_default() -> None:
    job = Job(
        "a",
        smp_version=1,
        configuration={
            "partitions": Parameter(4, "mp_parameters"),
            "pipeline_parallel_degree": Parameter(4, "log algo-1 line 3"),
            "microbatches": Parameter(8, "log algo-1 line 4"),
            "optimize": Parameter("memory", "hyperparameters"),
            "fp16": Parameter(1, "hyperparameters"),
            "offload_activations": Parameter(True, "hyperparameters"),
        },
    )
    setup = setup_of(job)
    assert setup.values["pipeline_parallel_degree"] == SourcedValue(4, "mp_parameters: partitions")
    assert setup.values["microbatches"] == SourcedValue(8, "log algo-1 line 4")
    assert setup.values["optimize"] == SourcedValue("speed", "default of SMP v1", True)
    assert setup.values["offload_activations"] == SourcedValue(True, "hyperparameters")
    assert setup.values["active_microbatches"] == SourcedValue(6, "default of SMP v1", True)
    assert setup.is_printed
    assert setup.text("precision") == "fp16"


V1_VALUES = st.fixed_dictionaries(
    {"pipeline_parallel_degree": st.sampled_from([1, 2, 4, 8]), "microbatches": st.integers(1, 64)},
    optional={
        "tensor_parallel_degree": st.sampled_from([1, 2, 4, 8]),
        "active_microbatches": st.integers(1, 64),
        "ddp": st.booleans(),
        "prescaled_batch": st.booleans(),
        "optimize": st.sampled_from(["speed", "memory"]),
        "memory_weight": st.sampled_from([0.0, 0.25, 1.0]),
    },
)


@given(V1_VALUES)
def test_every_way_of_writing_the_librarys_parameters_is_one(values: dict[str, Any]) -> None:
    pairs = ",".join(f"{name}={value}" for name, value in values.items())
    setups = []
    for text in (json.dumps(values), json.dumps(json.dumps(values)), pairs, json.dumps(pairs)):
        texts = {"mp_parameters": text, "sagemaker_mpi_enabled": "true"}
        setups.append(
            setup_of(
                Job("a", hyperparameters=texts, configuration=configuration(texts), smp_version=smp_version(texts))
            )
        )
    assert all(setup == setups[0] for setup in setups)
    assert setups[0].library == values
    assert setups[0].framework == "smp1"


@given(V1_VALUES)
def test_the_default_of_active_microbatches_is_the_librarys_formula(values: dict[str, Any]) -> None:
    setup = setup_from(values)
    expected = min(values["pipeline_parallel_degree"] + 2, values["microbatches"])
    assert setup.number("active_microbatches") == values.get("active_microbatches", expected)
    assert setup.window == min(values.get("active_microbatches", expected), values["microbatches"])


def test_all_of_the_schema_has_its_default_but_what_has_none() -> None:
    values = setup_from({"microbatches": 1}).values
    assert {name for name in V1 if name not in values} == {
        "default_partition",
        "ddp_port",
        "ddp_dist_backend",
        "deterministic_server",
    }


@pytest.mark.parametrize(("nodes", "p", "t", "dp", "rdp"), [(4, 2, 4, 16, 4), (1, 1, 8, 8, 1), (2, 3, 1, None, None)])
def test_identities_of_groups(nodes: int, p: int, t: int, dp: int | None, rdp: int | None) -> None:
    setup = setup_of(
        job_of(library={"pipeline_parallel_degree": p, "tensor_parallel_degree": t, "ddp": True}, nodes=nodes)
    )
    assert (setup.gpus, setup.world) == (8 * nodes, 8 * nodes)
    assert (setup.data_parallel, setup.reduced_data_parallel) == (dp, rdp)


def test_processes_of_a_host_count_and_not_its_gpus() -> None:
    setup = setup_of(job_of(library={"pipeline_parallel_degree": 2}, script={"processes_per_host": 4}))
    assert setup.world == 8
    assert not setup.world_is_assumed
    assert setup_of(job_of()).world_is_assumed


def test_resolved_shows_defaults_of_smp_alone_and_keeps_what_was_read() -> None:
    job = job_of({"lr": 0.1}, {"partitions": 2, "microbatches": 4})
    shown = resolved(job)
    assert {name: shown[name] for name in job.configuration} == dict(job.configuration)
    assert shown["active_microbatches"] == Parameter(4, "default of SMP v1")
    assert "pipeline_parallel_degree" not in shown
    printed = Job("a", smp_version=1, configuration={"microbatches": Parameter(4, "log line 3")})
    assert resolved(printed) == dict(printed.configuration)
    assert resolved(job_of({"fsdp": "full_shard"})) == dict(job_of({"fsdp": "full_shard"}).configuration)


@pytest.mark.parametrize(
    ("text", "unread"),
    [("{", True), ("not this", True), ("{}", False), ("", False), ("null", False), ('"{}"', False)],
)
def test_parameters_that_cannot_be_read_are_said(text: str, unread: bool) -> None:
    job = Job("a", hyperparameters={"mp_parameters": text}, configuration=configuration({"mp_parameters": text}))
    assert setup_of(job).unread == (("mp_parameters",) if unread else ())


def test_nothing_is_known_of_nothing() -> None:
    setup = setup_of(Job("a"))
    assert setup == Setup(is_job=True)
    assert (setup.world, shape_of(setup), layout_of(setup), pipeline_of(setup)) == (None, None, None, None)


def test_a_change_works_defaults_out_anew_and_drops_what_was_seen_of_other_machines() -> None:
    start = setup_of(job_of({"train_batch_size": 32}, {"pipeline_parallel_degree": 4, "microbatches": 4}))
    assert changed(start, {"microbatches": 16}).number("active_microbatches") == 6
    assert changed(start, {"partitions": 2}).pipeline_degree == 2
    assert changed(start, {"instance_count": 4}).world == 32
    other = changed(start, {"instance_type": "ml.g5.xlarge"})
    assert (other.gpus_per_node, other.world) == (None, None)
    assert changed(start, {"instance_type": "ml.g5.xlarge", "gpus_per_node": 1}).world == 2
    assert changed(start, {"batch_size": None}).number("batch_size") is None
    assert changed(start, {"bf16": True}).text("precision") == "bf16"
    assert changed(start, {}) == Setup(start.framework, start.values, start.library, is_job=True)


def test_a_printed_default_follows_a_change() -> None:
    printed = {"pipeline_parallel_degree": 4, "microbatches": 4, "active_microbatches": 4}
    job = Job("a", smp_version=1, configuration={n: Parameter(v, f"log line {v}") for n, v in printed.items()})
    assert changed(setup_of(job), {"microbatches": 12}).number("active_microbatches") == 6


@pytest.mark.parametrize(
    ("value", "number", "flag"),
    [
        ("x", None, None),
        (None, None, None),
        (2.5, None, None),
        ("²", None, None),
        ([], None, None),
        (8, 8, None),
        (8.0, 8, None),
        ("8", 8, None),
        (True, None, True),
        (1, 1, True),
        ("on", None, True),
        ("False", None, False),
    ],
)
def test_typed_values(value: Any, number: int | None, flag: bool | None) -> None:
    assert whole_number(value) == number
    assert yes_or_no(value) == flag


PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
NAMES = st.sampled_from(sorted({*CANONICAL, *OTHER_NAMES, *SPECIAL})) | st.text(max_size=30)


@given(st.dictionaries(NAMES, st.recursive(PLAIN, st.lists, max_leaves=3), max_size=6))
def test_no_configuration_is_too_odd_to_be_read(script: dict[str, Any]) -> None:
    setup = setup_of(job_of(script))
    assert isinstance(setup, Setup)
    layout_of(setup)
    pipeline_of(setup)
