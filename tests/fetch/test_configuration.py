from __future__ import annotations

import json
from typing import Any

import pytest

from monitor.fetch.configuration import configuration, decoded, launcher, masked_texts, smp_version

V1 = {"partitions": 4, "microbatches": 8, "ddp": True, "placement_strategy": "spread"}


def values(hyperparameters: dict[str, str]) -> dict[str, Any]:
    return {name: parameter.value for name, parameter in configuration(hyperparameters).items()}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"ml.p4d.24xlarge"', "ml.p4d.24xlarge"),
        ("true", True),
        ("8", 8),
        ("5e-05", 5e-05),
        ("null", None),
        ("[1, 2]", [1, 2]),
        ("plain text", "plain text"),
        ("007", "007"),
        ("", ""),
        ("NaN", "NaN"),
        ("Infinity", "Infinity"),
        ("[" * 2400, "[" * 2400),
        ("1e999", "1e999"),
    ],
)
def test_decoded(text: str, value: Any) -> None:
    assert decoded(text) == value


@pytest.mark.parametrize(
    "written",
    [
        json.dumps(V1),
        json.dumps(json.dumps(V1)),
        "partitions=4,microbatches=8,ddp=True,placement_strategy=spread",
        json.dumps("partitions=4, microbatches=8, ddp=true, placement_strategy=spread"),
    ],
)
def test_parameters_of_the_library_in_every_spelling(written: str) -> None:
    found = configuration({"mp_parameters": written})
    assert {name: parameter.value for name, parameter in found.items()} == V1
    assert {parameter.read_from for parameter in found.values()} == {"mp_parameters"}


@pytest.mark.parametrize("written", ["{}", "", "null", "[]", "7", '"{}"'])
def test_no_parameters_of_the_library(written: str) -> None:
    assert configuration({"mp_parameters": written}) == {}
    assert smp_version({"mp_parameters": written}) is None


def test_script_arguments_and_their_overriding() -> None:
    found = configuration(
        {
            "learning_rate": "0.001",
            "model": '"vit"',
            "microbatches": "2",
            "mp_parameters": json.dumps(V1),
            "sagemaker_program": '"train.py"',
            "sagemaker_mpi_enabled": "true",
            "sagemaker_mpi_num_of_processes_per_host": "4",
            "hf_token": '"abc"',
        }
    )
    assert found["learning_rate"].value == 0.001
    assert found["learning_rate"].read_from == "hyperparameters"
    assert found["model"].value == "vit"
    assert (found["microbatches"].value, found["microbatches"].read_from) == (8, "mp_parameters")
    assert found["processes_per_host"].value == 4
    assert found["hf_token"].value == "***"
    assert not [name for name in found if name.startswith("sagemaker")]


@pytest.mark.parametrize(
    ("hyperparameters", "name"),
    [
        ({"sagemaker_mpi_enabled": "true", "sagemaker_torch_distributed_enabled": "true"}, "mpi"),
        ({"sagemaker_pytorch_ddp_enabled": "true", "sagemaker_torch_distributed_enabled": "true"}, "smddp"),
        (
            {"sagemaker_torch_distributed_enabled": '"true"', "sagemaker_distributed_dataparallel_enabled": "true"},
            "torchrun",
        ),
        ({"sagemaker_distributed_dataparallel_enabled": "true"}, "smddp"),
        ({"sagemaker_pytorch_xla_multi_worker_enabled": "true"}, "xla"),
        ({"sagemaker_parameter_server_enabled": "true"}, "parameter-server"),
        ({"sagemaker_distributed_dataparallel_enabled": "false", "sagemaker_program": "train.py"}, "script"),
        ({"sagemaker_program": '"train.py"'}, "script"),
        ({"mp_parameters": "{}"}, None),
        ({}, None),
    ],
)
def test_launcher(hyperparameters: dict[str, str], name: str | None) -> None:
    assert launcher(hyperparameters) == name


@pytest.mark.parametrize(
    ("flags", "parameters", "version"),
    [
        ({"sagemaker_mpi_enabled": "true"}, V1, 1),
        ({"sagemaker_mpi_enabled": "true"}, {"tensor_parallel_degree": 2}, 1),
        ({"sagemaker_torch_distributed_enabled": "true"}, {"tensor_parallel_degree": 2}, 2),
        ({}, {"hybrid_shard_degree": 8, "tensor_parallel_degree": 2}, 2),
        ({}, {"pipeline_parallel_degree": 2}, 1),
        ({}, {"tensor_parallel_degree": 2}, None),
        ({"sagemaker_mpi_enabled": "true"}, {}, None),
    ],
)
def test_version_of_the_library(flags: dict[str, str], parameters: dict[str, Any], version: int | None) -> None:
    assert smp_version({**flags, "mp_parameters": json.dumps(parameters)}) == version


def test_raw_texts_stay_as_given_but_for_secrets() -> None:
    given = {
        "lr": "1e-3",
        "wandb_api_key": '"abc"',
        "environment": '{"HF_TOKEN": "abc", "A": 1}',
        "mp_parameters": '{"partitions":  2}',
    }
    assert masked_texts(given) == {
        "lr": "1e-3",
        "wandb_api_key": "***",
        "environment": '{"HF_TOKEN": "***", "A": 1}',
        "mp_parameters": '{"partitions":  2}',
    }
