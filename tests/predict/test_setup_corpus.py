"""Setups read from published logs of others. They are not part of the project; skipped where the collection is absent."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from monitor.fetch.instance_types import lookup
from monitor.model import Job
from monitor.parse.events.completion import completed
from monitor.predict.problems.rules import problems_of
from monitor.predict.setup import Setup, setup_of
from tests.parse.read import parse

CORPUS = Path(os.environ.get("TRAINWATCH_CORPUS") or Path(__file__).resolve().parents[3] / "shared" / "corpus")

pytestmark = pytest.mark.skipif(
    not (CORPUS / "logs").is_dir(), reason="the collection of published logs is absent; TRAINWATCH_CORPUS can name it"
)


def _read(name: str) -> Setup:
    for log in (CORPUS / "logs").glob(f"{name}*.log"):
        parsed = parse(log.read_bytes().decode("utf-8", "replace").split("\n"))
        job = completed(Job("a", source="logs"), parsed.identity, parsed.events, lookup, lambda _: None)
        return setup_of(job)
    pytest.skip(f"{name} is not in the collection")


@pytest.mark.parametrize(
    ("name", "framework", "numbers"),
    [
        ("sm01", "smp1", {"sharded_data_parallel_degree": 2, "batch_size": 4, "layers": 48, "hidden_size": 1536}),
        ("sm03", "smp1", {"pipeline_parallel_degree": 2, "tensor_parallel_degree": 8, "batch_size": 16, "layers": 28}),
        ("sm04", "smp1", {"pipeline_parallel_degree": 1, "tensor_parallel_degree": 8, "batch_size": 5}),
        ("sm06", "smp1", {"pipeline_parallel_degree": 16, "microbatches": 2, "active_microbatches": 2}),
        (
            "sm07",
            "smp1",
            {"pipeline_parallel_degree": 16, "microbatches": 2, "active_microbatches": 1, "batch_size": 2},
        ),
        ("sm08", None, {}),
        ("sm09", None, {"instance_count": 2, "gpus_per_node": 8}),
        (
            "ns01",
            "megatron",
            {"pipeline_parallel_degree": 8, "tensor_parallel_degree": 4, "world_size": 32, "layers": 48},
        ),
        ("ns02", "megatron", {"pipeline_parallel_degree": 16, "global_batch_size": 1024, "micro_batch_size": 4}),
        ("ns04", "deepspeed", {"zero_stage": 3, "micro_batch_size": 4, "gradient_accumulation_steps": 1}),
    ],
)
def test_setups_are_those_that_a_reader_finds(name: str, framework: str | None, numbers: dict[str, Any]) -> None:
    setup = _read(name)
    assert setup.framework == framework
    assert {wanted: setup.number(wanted) for wanted in numbers} == numbers


@pytest.mark.parametrize("name", ["sm01", "sm03", "sm04", "sm07", "ns01", "ns02", "ns04"])
def test_configurations_with_which_jobs_ran_are_not_called_invalid(name: str) -> None:
    assert problems_of(_read(name)) == ()
