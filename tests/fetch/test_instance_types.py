from __future__ import annotations

from typing import Any

import pytest

from monitor.fetch import instance_types
from monitor.fetch.instance_types import ask_ec2, facts, lookup
from tests.aws.fake import Scripted


@pytest.mark.parametrize(
    ("name", "gpus", "vcpus", "memory_gib"),
    [
        ("ml.p4d.24xlarge", 8, 96, 40),
        ("ml.p5.48xlarge", 8, 192, 80),
        ("ml.g4dn.12xlarge", 4, 48, 16),
        ("ml.g5.16xlarge", 1, 64, 22.35),
        ("ml.g5.48xlarge", 8, 192, 22.35),
        ("ml.m5.4xlarge", 0, 16, None),
        ("ml.trn1.32xlarge", 0, 128, None),
    ],
)
def test_counts_of_the_table(name: str, gpus: int, vcpus: int, memory_gib: float | None) -> None:
    node = lookup(name)
    assert node is not None
    assert (node.name, node.instance_type, node.counts_from) == ("", name, "table")
    assert (node.gpus, node.vcpus, node.gpu_memory_gib) == (gpus, vcpus, memory_gib)


@pytest.mark.parametrize("name", ["ml.z9.large", "", "p4d.24xlarge"])
def test_unknown_types(name: str) -> None:
    assert lookup(name) is None
    assert facts(name) is None


def test_what_joins_the_gpus() -> None:
    large, small = facts("ml.p4d.24xlarge"), facts("ml.g5.12xlarge")
    assert large is not None
    assert small is not None
    assert (large.interconnect, large.efa, large.network_gbps) == ("nvswitch", True, 400)
    assert (small.interconnect, small.model) == ("none", "NVIDIA A10G")


def test_every_row_of_the_table_can_be_used() -> None:
    table = instance_types._table()
    assert len(table) > 140
    for name, row in table.items():
        assert name.startswith("ml."), name
        assert row.vcpus > 0, name
        assert row.accelerator in {"gpu", "neuron", "none"}, name
        assert row.interconnect in {"none", "nvlink", "nvswitch", "neuronlink"}, name
        assert (row.accelerators > 0) == (row.accelerator != "none") == bool(row.memory_per_accelerator_gib), name


def ec2(row: dict[str, Any] | None) -> Scripted:
    return Scripted(describe_instance_types=lambda **_: {"InstanceTypes": [row] if row else []})


def test_ec2_knows_newer_types() -> None:
    gpu = {"Name": "X1", "Count": 4, "MemoryInfo": {"SizeInMiB": 24576}}
    clients = ec2({"VCpuInfo": {"DefaultVCpus": 64}, "GpuInfo": {"Gpus": [gpu]}})
    node = ask_ec2(clients, "ml.z9.16xlarge")
    assert clients.asked == [("describe_instance_types", {"InstanceTypes": ["z9.16xlarge"]})]
    assert node is not None
    assert (node.instance_type, node.gpus, node.vcpus, node.gpu_memory_gib) == ("ml.z9.16xlarge", 4, 64, 24.0)
    assert node.counts_from == "ec2"


def test_ec2_knows_types_without_gpus() -> None:
    node = ask_ec2(ec2({"VCpuInfo": {"DefaultVCpus": 2}}), "ml.z9.large")
    assert node is not None
    assert (node.gpus, node.vcpus, node.gpu_memory_gib) == (0, 2, None)


def test_ec2_does_not_know_it() -> None:
    assert ask_ec2(ec2(None), "ml.z9.large") is None
