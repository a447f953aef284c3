"""What does an instance type have? The program's own table, read without the program: the stub starts in half the
time."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from typing import NamedTuple


class InstanceType(NamedTuple):
    """One row of the table, its numbers as EC2 gives them."""

    vcpus: int
    memory_mib: int
    gpus: int
    """0 also for other accelerators."""
    gpu_model: str
    gpu_memory_mib: int
    """Of one GPU; 0 where there is none, or it is not published."""


def instance_type(name: str) -> InstanceType | None:
    """The row of "ml.p4d.24xlarge"; None for a type the table lacks."""
    return _table().get(name)


@cache
def _table() -> dict[str, InstanceType]:
    with files("monitor.fetch").joinpath("instance_types.csv").open(encoding="utf-8") as file:
        return {row["instance_type"]: _row(row) for row in csv.DictReader(file)}


def _row(row: dict[str, str]) -> InstanceType:
    gpus = int(row["accelerators"]) if row["accelerator"] == "gpu" else 0
    memory_gib = float(row["memory_per_accelerator_gib"] or 0) if gpus else 0.0
    memory_mib = round(float(row["memory_gib"]) * 1024)
    return InstanceType(int(row["vcpus"]), memory_mib, gpus, row["model"], round(memory_gib * 1024))
