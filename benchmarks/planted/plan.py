"""What is a simulated job to be like? Everything that is decided before its clock runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from benchmarks.planted.hardware import Hardware

Launcher = Literal["torchrun", "mpi", "script"]
Printing = Literal["rank0", "nodes", "own"]
"""Rank 0 alone; a rank of each node, the time of the whole step; the same, its own work before the collective."""


@dataclass(frozen=True, slots=True)
class Pause:
    """What is done in place of training after every ``every`` steps; ``gpu`` and ``cpu`` are percent meanwhile."""

    every: int
    seconds: float
    gpu: float
    cpu: float
    said: bool = True
    """Whether the log tells."""
    spread: float = 0.08
    until: float = 1.0
    """The share of the steps after which it is done no more."""


@dataclass(frozen=True, slots=True)
class Stage:
    """From this share of the steps on, a step takes ``factor`` times as long as at the start."""

    begin: float
    factor: float
    idle: bool = False
    """Whether the GPUs idle in the added time (input, storage), or are busy (compute, a slow collective)."""
    said: str = ""
    tokens: float = 1.0
    """Tokens of a step, as a multiple of those at the start."""


@dataclass(frozen=True, slots=True)
class Slow:
    """One node takes ``factor`` times as long for its own work, between two shares of the steps."""

    node: int
    factor: float
    begin: float = 0.0
    end: float = 1.0
    gpu_factor: float = 1.0
    """Its GPUs' utilization while it works, as a multiple."""


@dataclass(frozen=True, slots=True)
class Outliers:
    """Steps that take several times as long; at random, or each ``every``-th."""

    share: float
    low: float
    high: float
    every: int | None = None
    gpu: float = 8.0
    """Utilization in the added time."""


@dataclass(frozen=True, slots=True)
class Wait:
    """One long wait after this share of the steps, with what the log says at its beginning."""

    at: float
    seconds: float
    gpu: float
    cpu: float
    lines: tuple[str, ...] = ()
    nudges: tuple[str, ...] = ()
    """Further lines, spread over the wait."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Time of a step: its median, its jitter, and what changes it."""

    step_s: float
    jitter: float
    node_jitter: float
    first_factor: float = 6.0
    warm_up: int = 8
    rare_share: float = 0.001
    rare_high: float = 2.5
    stages: tuple[Stage, ...] = ()
    trend: float = 0.0
    """Growth of step time over the whole run, as a share, with tokens growing alike."""
    slow: tuple[Slow, ...] = ()
    outliers: Outliers | None = None
    waits: tuple[Wait, ...] = ()
    nan_from: float | None = None
    nan_reports: int | None = None


@dataclass(frozen=True, slots=True)
class Levels:
    """Percent of one device (host memory and disk: of the host), and how they change over the run."""

    gpu: float
    waiting_gpu: float
    """Utilization of a node that waits for a peer: near 100 where the collective spins."""
    memory: float
    cpu: float
    host_memory: float
    disk: float
    wobble: float = 0.8
    alone_gpu: float | None = None
    """Of the other nodes while algo-1 alone evaluates; None where all do."""
    gpu_of_node: tuple[float, ...] = ()
    memory_of_node: tuple[float, ...] = ()
    """What is added on a node: stages of a pipeline hold and do different things."""
    gpus_used: int | None = None
    memory_gain: float = 0.0
    host_gain: float = 0.0
    host_fill_s: float = 400.0
    """How fast caches and loader workers fill the host's memory at the beginning."""
    disk_gain: float = 0.0
    """Points gained from the first step to the end of the plan."""
    saw: float = 3.0
    """Disk space of one checkpoint."""


@dataclass(frozen=True, slots=True)
class Opening:
    """What is done before the first step, in seconds."""

    download_s: float = 0.0
    """Of the input channels, before the container starts; some minutes at most unless told."""
    image_s: float = 90.0
    imports_s: float = 25.0
    data_s: float = 20.0
    data_cpu: float = 30.0
    data_lines: tuple[str, ...] = ()
    model_s: float = 40.0


EndKind = Literal["completed", "running", "stopped", "failed", "max-runtime", "max-wait", "never-started"]


@dataclass(frozen=True, slots=True)
class Ending:
    """How and when it ends; ``at`` is the share of the steps that are done when it happens."""

    kind: EndKind = "completed"
    at: float = 1.0
    error: str = ""
    """Which error's text stands in the log."""
    rank: int = 0
    """Where it began."""
    silence_s: float = 0.0
    """Between the last step and the end: nothing is written."""
    upload_s: float = 0.0
    """Of the model and the output; a minute at most unless told."""
    silence_gpu: float = 100.0
    seen_after_s: float = 90.0
    """Running: how long after its last step ``now`` is."""
    spot_breaks: tuple[float, ...] = ()
    """Shares of the steps at which the instances are taken away."""


@dataclass(frozen=True, slots=True)
class View:
    """What can be seen of it."""

    period_s: int = 60
    missing: float = 0.0
    """Share of the metric minutes that are not there."""
    metrics: bool = True
    logs: bool = True
    buffered_s: float = 0.0
    """Lines come in bursts, this far apart."""


@dataclass(frozen=True, slots=True)
class Habit:
    """What single GPUs, cores and the network do, as a profiler shows it; the rest follows the metrics of the host."""

    samples: int = 12
    """A minute."""
    odd: tuple[int, int, float] | None = None
    """Node, GPU, and by how many points it differs from its siblings."""
    memory: tuple[int, int, float] | None = None
    """Node, GPU, and what it holds, percent."""
    empty: tuple[int, int] | None = None
    """Node and a GPU that no process uses."""
    still_s: float = 0.0
    """So long all GPUs of all nodes are at ``low_pct``, once in each ``period_s``."""
    period_s: float = 10.0
    low_pct: float = 1.0
    cores_full: tuple[int, int] = (0, 0)
    """While the GPUs wait, and while they work; so is the next."""
    cores_waiting: tuple[float, float] = (0.1, 0.1)
    gbps: float = 0.5


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole job. Two plans that are equal make the same job."""

    name: str
    seed: int
    hardware: Hardware
    nodes: int
    framework: str
    launcher: Launcher
    printing: Printing
    steps: int
    log_every: int
    pace: Pace
    levels: Levels
    opening: Opening = Opening()
    evaluation: Pause | None = None
    checkpoint: Pause | None = None
    ending: Ending = Ending()
    view: View = View()
    resumed_at: float = 0.0
    """It goes on from an earlier job's checkpoint, at this share of the steps."""
    batch: int = 64
    sequence: int = 2048
    mfu: float = 0.42
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    steps_an_epoch: int | None = None
    network: str = ""
    """What NCCL says of the network: "efa", "socket", "no-efa" (asked for, and absent), or nothing."""
    spot: bool = False
    max_runtime_s: int = 5 * 86_400
    hyperparameters: dict[str, str] = field(default_factory=dict)
    processes_per_host: int | None = None
    cache_flushes: float = 0.0
    """Share of the steps in which the allocator gives its blocks back and asks again, which takes time; the log says so."""
    habit: Habit | None = None
    """What its profiler shows; None where it has none."""
    chatter: tuple[str, ...] = ()
    """Harmless lines that sound alarming."""

    @property
    def ranks_a_node(self) -> int:
        return self.processes_per_host or max(self.hardware.gpus, 1)

    @property
    def world(self) -> int:
        return self.nodes * self.ranks_a_node

    @property
    def hosts(self) -> list[str]:
        """In the order in which ranks are laid over them; mpirun is given them sorted as texts: algo-10 before algo-2."""
        names = [f"algo-{number + 1}" for number in range(self.nodes)]
        return sorted(names) if self.launcher == "mpi" else names

    def first_rank(self, node: int) -> int:
        """The lowest rank of algo-``node + 1``."""
        return self.hosts.index(f"algo-{node + 1}") * self.ranks_a_node

    def node_of(self, rank: int) -> int:
        """Where a rank runs: 0 for algo-1."""
        return int(self.hosts[rank // self.ranks_a_node].removeprefix("algo-")) - 1

    @property
    def parameters(self) -> float:
        """How large a model gives this utilization of the peak at this pace."""
        flops = self.mfu * self.hardware.peak_tflops * 1e12 * self.world * self.pace.step_s
        return flops / (6 * self.batch * self.sequence)
