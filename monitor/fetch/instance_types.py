"""How many GPUs and vCPUs an instance type has, and what links them. The bundled table first, EC2 for newer
types."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Literal

from monitor.model import Node

if TYPE_CHECKING:
    # Log files are read without AWS: boto3 would take a third of a second of every such call.
    from monitor.aws.clients import Clients


@dataclass(frozen=True, slots=True)
class InstanceType:
    """One row of ``instance_types.csv``: facts as EC2's DescribeInstanceTypes gives them. None: not published."""

    instance_type: str
    """With its "ml." in front."""
    vcpus: int
    accelerator: Literal["gpu", "neuron", "none"]
    model: str
    accelerators: int
    memory_per_accelerator_gib: float | None
    interconnect: Literal["none", "nvlink", "nvswitch", "neuronlink"]
    efa: bool
    network_gbps: float | None
    """A peak: small types only reach it for a while."""

    @property
    def gpus(self) -> int:
        """0 for types without an accelerator and for Trainium, whose NeuronCores are no GPUs."""
        return self.accelerators if self.accelerator == "gpu" else 0


def facts(name: str) -> InstanceType | None:
    """The table's row of "ml.p4d.24xlarge"; None for a type it lacks."""
    return _table().get(name)


def lookup(name: str) -> Node | None:
    """The facts of an instance type by the table, as a Node without a name; None for a type it lacks."""
    row = facts(name)
    if row is None:
        return None
    return Node(
        "",
        name,
        row.gpus,
        row.vcpus,
        row.memory_per_accelerator_gib if row.gpus else None,
        counts_from="table",
        gpu_model=row.model if row.gpus else None,
        interconnect=row.interconnect,
        efa=row.efa,
        network_gbps=row.network_gbps,
    )


def ask_ec2(clients: Clients, name: str) -> Node | None:
    """The same from EC2's DescribeInstanceTypes; None where EC2 does not know the type. Errors of ``monitor.errors``."""
    answer = clients.call("ec2", "describe_instance_types", InstanceTypes=[name.removeprefix("ml.")])
    for row in answer.get("InstanceTypes", ()):
        gpus = row.get("GpuInfo", {}).get("Gpus", ())
        memory_mib = [gpu["MemoryInfo"]["SizeInMiB"] for gpu in gpus if gpu.get("MemoryInfo", {}).get("SizeInMiB")]
        return Node(
            name="",
            instance_type=name,
            gpus=sum(gpu.get("Count", 1) for gpu in gpus),
            vcpus=row.get("VCpuInfo", {}).get("DefaultVCpus"),
            gpu_memory_gib=round(memory_mib[0] / 1024, 2) if memory_mib else None,
            counts_from="ec2",
            gpu_model=" ".join(part for part in (gpus[0].get("Manufacturer"), gpus[0].get("Name")) if part) or None
            if gpus
            else None,
            efa=row.get("NetworkInfo", {}).get("EfaSupported"),
        )
    return None


@cache
def _table() -> dict[str, InstanceType]:
    with files(__package__).joinpath("instance_types.csv").open(encoding="utf-8") as file:
        return {row["instance_type"]: _row(row) for row in csv.DictReader(file)}


def _row(row: dict[str, str]) -> InstanceType:
    return InstanceType(
        instance_type=row["instance_type"],
        vcpus=int(row["vcpus"]),
        accelerator=row["accelerator"],  # type: ignore[arg-type]  # a test holds the table to these words
        model=row["model"],
        accelerators=int(row["accelerators"]),
        memory_per_accelerator_gib=_number(row["memory_per_accelerator_gib"]),
        interconnect=row["interconnect"],  # type: ignore[arg-type]
        efa=row["efa"] == "yes",
        network_gbps=_number(row["network_gbps"]),
    )


def _number(text: str) -> float | None:
    return float(text) if text else None
