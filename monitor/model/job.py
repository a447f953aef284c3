"""The job itself: what SageMaker, or the log alone, says about it, where it is according to its ARN
(``arn:partition:service:region:account:resource``), and what its profiler leaves in a bucket.

Times are aware UTC.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal


def partition_of(arn: str) -> str | None:
    """``aws``, ``aws-cn``, ``aws-us-gov``."""
    return _part(arn, 1)


def region_of(arn: str) -> str | None:
    """``us-east-1``."""
    return _part(arn, 3)


def account_of(arn: str) -> str | None:
    """Its twelve digits."""
    return _part(arn, 4)


def _part(arn: str, place: int) -> str | None:
    parts = arn.split(":")
    return parts[place] or None if len(parts) > 5 else None


_MOST_DIGITS = 18
_DIGITS = re.compile(r"(\d+)")
#: DescribeTrainingJob's TrainingJobStatus values after which nothing changes any more.
ENDED_STATUSES = frozenset({"Completed", "Failed", "Stopped", "Deleting"})
#: Those of a job that is at work, or about to stop.
RUNNING_STATUSES = frozenset({"InProgress", "Stopping"})
#: Stands for the time of what nobody tells the time of, where times are compared.
BEGINNING = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class InstanceGroup:
    """One group of equal instances; a homogeneous job has exactly one, named ""."""

    name: str
    instance_type: str
    count: int


@dataclass(frozen=True, slots=True)
class Transition:
    """One entry of SecondaryStatusTransitions; ``end`` is None while it is the current one."""

    status: str
    start: datetime
    end: datetime | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A configuration value and the place it was read from, such as "mp_parameters" or "log: algo-1 line 2110"."""

    value: Any
    read_from: str
    came_by: str = ""
    """How it was measured, where that is worth a word; of a measured value."""

    @property
    def whole(self) -> int | None:
        """The value as a whole number, also where it is written as text; None where it is none, or beyond 64 bits."""
        value = self.value
        if isinstance(value, str) and value.isdecimal() and len(value) <= _MOST_DIGITS:
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            return None
        return value if abs(value) < 10**_MOST_DIGITS else None


@dataclass(frozen=True, slots=True)
class Channel:
    """One input of a job, as its containers find it in /opt/ml/input/data."""

    name: str
    uri: str = ""
    """s3://…, or fsx://FILE-SYSTEM/path and efs://FILE-SYSTEM/path; empty where it is something else."""
    mode: str = ""
    """File, FastFile or Pipe; empty for a file system."""
    content_type: str = ""


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where a job leaves what it made. Addresses are s3://…; None where there is none."""

    path: str | None = None
    """Under it SageMaker puts what the containers leave in /opt/ml/model and /opt/ml/output."""
    model: str | None = None
    """The model's archive, once it is there."""
    checkpoints: str | None = None
    """Where /opt/ml/checkpoints is copied to."""
    own_key: bool = False
    """They are encrypted with a KMS key of the account's own."""
    own_volume_key: bool = False
    """So are the instances' volumes."""


@dataclass(frozen=True, slots=True)
class Node:
    """One host of a job. Counts are None where neither table, log nor EC2 knows the type."""

    name: str
    instance_type: str | None = None
    gpus: int | None = None
    vcpus: int | None = None
    gpu_memory_gib: float | None = None
    """Memory of ONE GPU."""
    group: str = ""
    counts_from: str = ""
    """Where gpus and vcpus come from: "table", "log", "ec2" or "" when they are unknown."""
    gpu_model: str | None = None
    """Such as "NVIDIA A100"."""
    interconnect: str | None = None
    """What joins the GPUs of the host: none, nvlink, nvswitch or neuronlink; None where it is not known."""
    efa: bool | None = None
    """Whether the type has an Elastic Fabric Adapter; None where it is not known."""
    network_gbps: float | None = None
    """Nominal bandwidth to other hosts, Gbit/s; None where it is not known."""


@dataclass(frozen=True, slots=True)
class Job:
    """A training job as DescribeTrainingJob (or, for log files, the log itself) tells it. Times are aware UTC."""

    name: str
    source: Literal["aws", "logs", "archive"] = "aws"
    arn: str = ""
    status: str | None = None
    secondary_status: str | None = None
    instance_groups: tuple[InstanceGroup, ...] = ()
    created: datetime | None = None
    started: datetime | None = None
    """TrainingStartTime: billing begins. None if the job never started."""
    ended: datetime | None = None
    transitions: tuple[Transition, ...] = ()
    training_seconds: int | None = None
    billable_seconds: int | None = None
    warm_pool_billable_seconds: int | None = None
    """For how long the instances were kept and billed after the job; grows while they are. None without a warm pool."""
    max_runtime_s: int | None = None
    spot: bool = False
    failure_reason: str | None = None
    hyperparameters: Mapping[str, str] = field(default_factory=dict)
    metric_definitions: Mapping[str, str] = field(default_factory=dict)
    """Name -> regular expression, as given when the job was created."""
    nodes: tuple[Node, ...] = ()
    launcher: str | None = None
    """mpi, smddp, torchrun, xla, parameter-server or script."""
    smp_version: Literal[1, 2] | None = None
    configuration: Mapping[str, Parameter] = field(default_factory=dict)
    channels: tuple[Channel, ...] = ()
    outputs: Outputs = Outputs()
    profiler: ProfilerOutput | None = None
    """None where no profiler writes anything."""
    role: str = ""
    """The name of its execution role; empty where it is not known."""
    secrets: tuple[str, ...] = field(default=(), repr=False, compare=False)
    """The values that the job keeps under secret names, so that they can be masked in what it writes; never shown or kept."""

    @property
    def instance_count(self) -> int | None:
        """Number of instances over all groups; None where it is not known."""
        return sum(group.count for group in self.instance_groups) or None

    @property
    def instance_type(self) -> str | None:
        """The type of a homogeneous job; None for several types, or where it is not known."""
        types = {group.instance_type for group in self.instance_groups if group.instance_type}
        return types.pop() if len(types) == 1 else None

    @property
    def is_running(self) -> bool:
        return self.status in RUNNING_STATUSES

    @property
    def node_names(self) -> tuple[str, ...]:
        return tuple(node.name for node in self.nodes)


@dataclass(frozen=True, slots=True)
class JobSummary:
    """One row of the list of jobs. ``instance_type`` is "a + b" for several groups, None where the list has none."""

    name: str
    status: str
    created: datetime | None
    ended: datetime | None = None
    instance_type: str | None = None
    instance_count: int | None = None
    started: datetime | None = None
    """TrainingStartTime; None where the list has none, or it has not started."""
    tags: Mapping[str, str] | None = None
    """None where the list does not tell."""

    @property
    def is_running(self) -> bool:
        return self.status in RUNNING_STATUSES

    def tag(self, key: str) -> str | None:
        return None if self.tags is None else self.tags.get(key)


def natural_order(name: str) -> list[tuple[int, str]]:
    """Sorts names by the numbers in them, of any length: algo-2 before algo-10, and no name first."""
    parts = enumerate(_DIGITS.split(name))
    return [(len(part.lstrip("0")), part.lstrip("0")) if place % 2 else (0, part) for place, part in parts]


@dataclass(frozen=True, slots=True)
class ProfilerOutput:
    """Where DescribeTrainingJob says that the profiler writes."""

    path: str
    """s3://…; below it lies a folder of the job's name."""
    interval_ms: int | None = None


@dataclass(frozen=True, slots=True)
class ProfilerCoverage:
    """How much of a profiler's output stands behind a run: some minutes of some nodes, never all of it."""

    objects: int = 0
    """One of a node and minute each."""
    size_bytes: int = 0
    usd: float = 0.0
    """An estimate of what S3 asks for the calls."""
    skipped_lines: int = 0
    """Lines that could not be read."""
    read_from: str = ""
