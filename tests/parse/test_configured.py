"""Configurations that libraries and scripts print: which lines are read, and what becomes of them in the job."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from monitor.model import Job, Parameter
from monitor.parse.events import facts
from monitor.parse.events.completion import completed
from tests.parse.read import parse


def _dotted(name: str, value: str) -> str:
    return f"  {name} {'.' * (48 - len(name))} {value}"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (_dotted("tensor_model_parallel_size", "8"), "tensor_model_parallel_size: 8"),
        ("0: " + _dotted("micro_batch_size", "4"), "micro_batch_size: 4"),
        (_dotted("params_dtype", "torch.bfloat16"), "params_dtype: torch.bfloat16"),
        (_dotted("recompute_granularity", "None"), None),
        (_dotted("exit_interval", "20"), None),
        ("the table has tensor_model_parallel_size ... in its first row", None),
        (
            "[2031-01-02 03:04:05,678] [INFO] [config.py:904:print]   train_batch_size ............. 96",
            "global_batch_size: 96",
        ),
        (
            "[2031-01-02 03:04:05,678] [INFO] [config.py:904:print]   train_micro_batch_size_per_gpu  3",
            "train_micro_batch_size_per_gpu: 3",
        ),
        ("[INFO] [config.py:1000:print]   zero_optimization_stage ...... 2", "zero_optimization_stage: 2"),
        ("[INFO] [config.py:1000:print]   bfloat16_enabled ............. True", "bf16: True"),
        ("[INFO] [config.py:1000:print]   world_size ................... 16", "data_parallel_size: 16"),
        ("[INFO] [config.py:1000:print]   gradient_accumulation_steps .. None", None),
        ("Using bfloat16 Automatic Mixed Precision (AMP)", "precision: bf16-mixed"),
        ("Using 16bit Automatic Mixed Precision (AMP)", "precision: 16-mixed"),
        ("  Instantaneous batch size per device = 6", "per_device_train_batch_size: 6"),
        ("[INFO|trainer.py:9] >>   Gradient Accumulation steps = 2", "gradient_accumulation_steps: 2"),
        (
            "  Total train batch size (w. parallel, distributed & accumulation) = 1,536",
            "global_batch_size: 1536",
        ),
        ("TrainingArguments(do_train=True, gradient_checkpointing=True, fp16=False)", "gradient_checkpointing: True"),
        ("python train.py --gradient_checkpointing=True", None),
    ],
)
def test_lines_that_tell_a_configuration(line: str, said: str | None) -> None:
    read = [text for kind, text in facts.read(line) if kind == "printed-configuration"]
    assert read == ([] if said is None else [said])


def test_a_scripts_dictionary_of_arguments() -> None:
    line = (
        "{'train_batch_size': 12, 'seed': 5, 'num_layers': 36, 'activation_strategy': 'each', 'max_context_width': 256}"
    )
    said = [text for kind, text in facts.read(line) if kind == "printed-configuration"]
    assert said == ["train_batch_size: 12", "num_layers: 36", "activation_strategy: each", "max_context_width: 256"]


def _job(lines: Sequence[str], job: Job | None = None) -> Job:
    parsed = parse(lines)
    return completed(job or Job("a", source="logs"), parsed.identity, parsed.events, lambda _: None, lambda _: None)


HPS = {
    "hidden_width": 640,
    "lr": 0.1,
    "activation_strategy": "group_2",
    "training_dir": "/opt/data",
    "api_key": 12345,
    "mp_parameters": {"microbatches": 6, "optimize": "speed", "ddp": True, "partition_file": {"deep": 1}},
}


def test_hyperparameters_that_the_toolkit_prints_are_the_jobs_without_paths_and_secrets() -> None:
    job = _job([f"SM_HPS={json.dumps(HPS)}"])
    assert job.configuration == {
        "hidden_width": Parameter(640, "hyperparameters, log line 1"),
        "lr": Parameter(0.1, "hyperparameters, log line 1"),
        "activation_strategy": Parameter("group_2", "hyperparameters, log line 1"),
        "microbatches": Parameter(6, "mp_parameters, log line 1"),
        "optimize": Parameter("speed", "mp_parameters, log line 1"),
        "ddp": Parameter(True, "mp_parameters, log line 1"),
    }


@pytest.mark.parametrize("text", ["SM_HPS={broken}", "SM_HPS={}", "SM_HPS={" + "[" * 5000 + "}", 'SM_HPS={"a": null}'])
def test_hyperparameters_that_are_none(text: str) -> None:
    assert _job([text]).configuration == {}


def test_what_a_library_prints_stands_before_the_scripts_value_and_behind_what_was_given() -> None:
    given = {
        "fp16": Parameter(1, "hyperparameters"),
        "microbatches": Parameter(4, "mp_parameters"),
        "lr": Parameter(0.1, "hyperparameters"),
    }
    head = "[2031-01-02 03:04:05.678: I smdistributed/modelparallel/backend/config.py:233]   "
    job = _job([f"{head}fp16: False", f"{head}microbatches: 4"], Job("a", configuration=given))
    assert job.smp_version == 1
    assert {name: known.value for name, known in job.configuration.items()} == {
        "fp16": False,
        "microbatches": 4,
        "lr": 0.1,
    }
    assert job.configuration["fp16"].read_from == "log line 1"
    assert job.configuration["microbatches"].read_from == "mp_parameters"


def test_others_tables_are_no_sign_of_smp() -> None:
    lines = [
        _dotted("tensor_model_parallel_size", "8"),
        _dotted("world_size", "64"),
        "number of parameters: 1,500,000,000",
    ]
    job = _job(lines)
    assert job.smp_version is None
    assert job.configuration["world_size"] == Parameter(64, "log line 2")
    assert job.configuration["parameters_billion"] == Parameter(1.5, "log line 3")


def test_the_size_of_one_of_several_models_is_not_known() -> None:
    assert (
        "parameters_billion"
        not in _job(["# total parameters: 1500000000", "# total parameters: 350000000"]).configuration
    )
