"""STS GetCallerIdentity and EC2 DescribeInstanceTypes, as the members of their XML answers."""

from __future__ import annotations

from typing import Any

from benchmarks.account.answer import Refusal
from benchmarks.account.instance_types import instance_type
from benchmarks.account.world import World


def caller_arn(world: World) -> str:
    """Who calls, whatever the credentials."""
    return f"arn:aws:iam::{world.account.number}:user/benchmark"


def get_caller_identity(world: World, asked: dict[str, Any]) -> str:
    return f"<UserId>AIDABENCHMARK</UserId><Account>{world.account.number}</Account><Arn>{caller_arn(world)}</Arn>"


def describe_instance_types(world: World, asked: dict[str, Any]) -> str:
    """The types that are asked for, from the bundled table. Refuses a request that names one it lacks, as EC2 does."""
    names = asked.get("InstanceType", [])
    rows = {name: instance_type(f"ml.{name}") for name in names}
    unknown = [name for name, row in rows.items() if row is None]
    if unknown:
        raise Refusal("InvalidInstanceType", f"The following supplied instance types do not exist: {unknown}")
    items = []
    for name, row in rows.items():
        if row is None:
            continue
        gpu = ""
        if row.gpus:
            gpu = (
                f"<gpuInfo><gpus><item><name>{row.gpu_model}</name><manufacturer>NVIDIA</manufacturer>"
                f"<count>{row.gpus}</count><memoryInfo><sizeInMiB>{row.gpu_memory_mib}</sizeInMiB></memoryInfo></item></gpus></gpuInfo>"
            )
        items.append(
            f"<item><instanceType>{name}</instanceType><vCpuInfo><defaultVCpus>{row.vcpus}</defaultVCpus></vCpuInfo>"
            f"<memoryInfo><sizeInMiB>{row.memory_mib}</sizeInMiB></memoryInfo>{gpu}</item>"
        )
    return f"<instanceTypeSet>{''.join(items)}</instanceTypeSet>"
