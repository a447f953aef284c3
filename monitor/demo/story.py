"""The story of one sample job: a frozen description, without a time of day and without chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

BUCKET = "s3://sagemaker-us-east-1-123456789012"
Launcher = Literal["mpi", "torchrun", "script"]
Dialect = Literal["smp-v1", "smp-v2", "cumulative", "logging", "tqdm"]


@dataclass(frozen=True, slots=True)
class Hardware:
    """What an instance type has; only the types that the stories use are listed below."""

    gpus: int
    vcpus: int
    gpu_memory_gib: float
    """Of one GPU."""
    efa_nics: int
    price_usd_per_hour: float
    """For show: about what us-east-1 asks, not a quotation."""


HARDWARE: Mapping[str, Hardware] = {
    "ml.p5.48xlarge": Hardware(8, 192, 80.0, 32, 63.30),
    "ml.p4d.24xlarge": Hardware(8, 96, 40.0, 4, 25.25),
    "ml.g5.12xlarge": Hardware(4, 48, 22.35, 0, 7.09),
    "ml.g4dn.12xlarge": Hardware(4, 48, 16.0, 1, 4.89),
    "ml.c5.9xlarge": Hardware(0, 36, 0.0, 0, 1.84),
    "ml.c5.4xlarge": Hardware(0, 16, 0.0, 0, 0.82),
}


@dataclass(frozen=True, slots=True)
class Group:
    """Equal instances. A homogeneous job has one group, which SageMaker's toolkit calls homogeneousCluster."""

    instance_type: str
    nodes: tuple[str, ...]
    name: str = "homogeneousCluster"

    @property
    def hardware(self) -> Hardware:
        return HARDWARE[self.instance_type]


def nodes(count: int) -> tuple[str, ...]:
    return tuple(f"algo-{number}" for number in range(1, count + 1))


@dataclass(frozen=True, slots=True)
class Load:
    """How busy a node is while it steps, in percent of one device; GPU figures are of each GPU in use."""

    gpu_pct: float
    gpu_memory_pct: float
    cpu_pct: float
    memory_pct: float
    disk_pct: float
    gpu_noise_pct: float = 1.1


@dataclass(frozen=True, slots=True)
class Stall:
    """From ``after_s`` on (since the container began) nothing is logged any more and every GPU shows 100 %."""

    after_s: float


@dataclass(frozen=True, slots=True)
class SlowNode:
    """From ``after_s`` on one node needs ``factor`` times as long for its share of a step; the others wait for it."""

    node: str
    factor: float
    after_s: float
    gpu_pct: float


@dataclass(frozen=True, slots=True)
class OutOfMemory:
    """One rank cannot allocate GPU memory ``after_s`` seconds after the first step."""

    rank: int
    after_s: float
    wanted: str = "1.50 GiB"


@dataclass(frozen=True, slots=True)
class Interruption:
    """The spot instances are taken away ``after_s`` into the first attempt; ``waited_s`` until there are new ones."""

    after_s: float
    waited_s: float


@dataclass(frozen=True, slots=True)
class NoCapacity:
    """The instances never come."""

    waited_s: float


@dataclass(frozen=True, slots=True)
class OddGpu:
    """The job's profiler was on, and tells which GPU the others wait for while their node is less than ``below_pct`` busy."""

    node: str
    gpu: int
    busy_pct: float
    below_pct: float


Fault = Stall | SlowNode | OutOfMemory | Interruption | NoCapacity


@dataclass(frozen=True, slots=True)
class Story:
    """One sample job. Either ``ended_ago`` is given, or ``created_ago`` for a job that is running."""

    base_name: str
    about: str
    """What a reader should find in it."""
    groups: tuple[Group, ...]
    launcher: Launcher
    dialect: Dialect
    load: Load
    step_s: float
    steps: int
    """Planned number of optimizer steps."""
    ended_ago: timedelta | None = None
    created_ago: timedelta | None = None

    script: str = "train.py"
    hyperparameters: Mapping[str, object] = field(default_factory=dict)
    mp_parameters: Mapping[str, object] = field(default_factory=dict)
    metric_definitions: Mapping[str, str] = field(default_factory=dict)
    log_every: int = 1
    units_per_step: float = 0.0
    """What the printed throughput counts in one step of the whole job."""
    unit: str = "samples/s"
    """Of the throughput, where the dialect prints it."""
    tflops_factor: float = 0.0
    """TFLOP per GPU and step, where the dialect prints TFLOPS/GPU."""
    step_noise: float = 0.012
    first_step_s: float = 12.0
    loss: tuple[float, float] = (10.8, 3.1)
    """Where it begins, and what it would come to."""
    checkpoint_every: int = 0
    """In steps; 0 is never."""
    checkpoint_s: float = 18.0

    pending_s: float = 210.0
    downloading_s: float = 55.0
    image_s: float = 170.0
    setup_s: float = 95.0
    """From the container's begin to the first step."""
    exit_s: float = 34.0
    uploading_s: float = 60.0
    max_runtime_s: int = 86_400
    spot: bool = False
    billable_share: float = 1.0
    """Spot: billable time divided by training time."""
    gpus_in_use: int | None = None
    """Of each node; None is all of them."""
    data_nodes: tuple[str, ...] = ()
    """Nodes of a heterogeneous job that prepare data and do not train."""
    data_load: Load | None = None
    fault: Fault | None = None
    profiled: OddGpu | None = None
    """None where no profiler was on."""

    @property
    def nodes(self) -> tuple[str, ...]:
        """All nodes, in the order of their numbers."""
        return tuple(sorted((node for group in self.groups for node in group.nodes), key=lambda node: int(node[5:])))

    @property
    def container_after_s(self) -> float:
        """From the job's making to its first containers."""
        return self.pending_s + self.downloading_s + self.image_s

    @property
    def training_nodes(self) -> tuple[str, ...]:
        return tuple(node for node in self.nodes if node not in self.data_nodes)

    @property
    def leader(self) -> str:
        return self.training_nodes[0]

    @property
    def processes_per_node(self) -> int:
        return max(1, self.hardware(self.leader).gpus)

    @property
    def world_size(self) -> int:
        return self.processes_per_node * len(self.training_nodes)

    def group(self, node: str) -> Group:
        return next(group for group in self.groups if node in group.nodes)

    def hardware(self, node: str) -> Hardware:
        return self.group(node).hardware
