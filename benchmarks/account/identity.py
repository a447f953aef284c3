"""STS GetCallerIdentity and AssumeRole, and EC2 DescribeInstanceTypes, as the members of their XML answers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from benchmarks.account.answer import Refusal
from benchmarks.account.instance_types import instance_type
from benchmarks.account.world import World

_HOUR_S = 3600


def caller_arn(world: World) -> str:
    """Who calls, whatever the credentials."""
    return f"arn:aws:iam::{world.account.number}:user/benchmark"


def get_caller_identity(world: World, asked: dict[str, Any]) -> str:
    return f"<UserId>AIDABENCHMARK</UserId><Account>{world.account.number}</Account><Arn>{caller_arn(world)}</Arn>"


def assume_role(world: World, asked: dict[str, Any]) -> str:
    """Credentials for an hour, whose access key holds the number of the role's account."""
    number = asked["RoleArn"].split(":")[4]
    ends = datetime.fromtimestamp(world.clock.now_ms() / 1000 + _HOUR_S, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return (
        f"<AssumedRoleUser><AssumedRoleId>AROA:x</AssumedRoleId><Arn>{asked['RoleArn']}</Arn></AssumedRoleUser><Credentials>"
        f"<AccessKeyId>ASIA{number}</AccessKeyId><SecretAccessKey>benchmark</SecretAccessKey><SessionToken>benchmark"
        f"</SessionToken><Expiration>{ends}</Expiration></Credentials>"
    )


def account_of_key(key: str) -> str:
    """The number of the account whose role an access key is of; "" for any other key."""
    return key.removeprefix("ASIA") if key.startswith("ASIA") else ""


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
