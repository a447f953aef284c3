"""The story of one sample job: a frozen description, without a time of day and without chance; and what the job does, second
by second from a seed that only its story decides, and when, seen from now."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
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


#: From new spot instances to the data being there again.
REPLACEMENT_S = 95.0

Kind = Literal["setup", "step", "checkpoint", "stall", "failure", "exit"]


@dataclass(frozen=True, slots=True)
class StorySpan:
    """A contiguous piece of a container's life, in seconds since it began."""

    kind: Kind
    start_s: float
    end_s: float
    step: int = -1
    """Number of the step from 0; of a checkpoint, how many steps it holds."""
    own_s: float = 0.0
    """A step without the wait for a slow node."""
    loss: float = math.nan

    @property
    def seconds(self) -> float:
        return self.end_s - self.start_s


def spans(story: Story, attempt: int = 0, from_step: int = 0) -> Iterator[StorySpan]:
    """All spans of one attempt, in time and without a gap; a stall lasts for ever."""
    rng = random.Random(f"{story.base_name}/{attempt}")
    yield StorySpan("setup", 0.0, story.setup_s)
    at_s = story.setup_s
    fault = story.fault
    taken_away_s = fault.after_s if isinstance(fault, Interruption) and attempt == 0 else math.inf
    for step in range(from_step, story.steps):
        own_s = _step_s(story, rng, first=step == from_step)
        waited_s = own_s
        if isinstance(fault, SlowNode) and at_s > fault.after_s:
            waited_s = own_s * fault.factor * rng.gauss(1.0, 0.015)
        if at_s + waited_s > taken_away_s:
            return
        if isinstance(fault, Stall) and at_s + waited_s > fault.after_s:
            yield StorySpan("stall", at_s, math.inf)
            return
        if isinstance(fault, OutOfMemory) and at_s > story.setup_s + fault.after_s:
            yield StorySpan("failure", at_s, at_s + 9.0, step)
            return
        yield StorySpan("step", at_s, at_s + waited_s, step, own_s, _loss(story, rng, step))
        at_s += waited_s
        if story.checkpoint_every and (step + 1) % story.checkpoint_every == 0 and step + 1 < story.steps:
            took_s = story.checkpoint_s * rng.uniform(0.9, 1.15)
            if at_s + took_s > taken_away_s:
                return
            yield StorySpan("checkpoint", at_s, at_s + took_s, step + 1)
            at_s += took_s
    yield StorySpan("exit", at_s, at_s + story.exit_s, story.steps)


def _step_s(story: Story, rng: random.Random, first: bool) -> float:
    if first:
        return story.first_step_s
    # Now and then a step is late for reasons of its own: a data shard, the garbage collector, a neighbor.
    late = rng.uniform(1.15, 1.6) if rng.random() < 0.004 else 1.0
    return story.step_s * max(0.9, rng.gauss(1.0, story.step_noise)) * late


def _loss(story: Story, rng: random.Random, step: int) -> float:
    begin, end = story.loss
    falls_over = min(story.steps / 4, 600)
    return (end + (begin - end) * math.exp(-step / falls_over)) * rng.gauss(1.0, 0.008)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One life of the job's containers. ``recorded`` is None for a job that is still running."""

    number: int
    began: datetime
    from_step: int = 0
    recorded: tuple[StorySpan, ...] | None = None

    def spans(self, story: Story) -> Iterator[StorySpan]:
        """The spans from the first on; of a running job without an end, so take no more than you need."""
        return iter(self.recorded) if self.recorded is not None else spans(story, self.number, self.from_step)


@dataclass(frozen=True, slots=True)
class Status:
    """One entry of SecondaryStatusTransitions."""

    status: str
    start: datetime
    end: datetime | None
    message: str


@dataclass(frozen=True, slots=True)
class SampleJob:
    """A story that has got its name and its times (aware UTC)."""

    story: Story
    name: str
    created: datetime
    statuses: tuple[Status, ...]
    attempts: tuple[Attempt, ...]
    started: datetime | None
    ended: datetime | None
    training_s: int | None
    status: str
    """TrainingJobStatus."""


def schedule(story: Story, now: datetime) -> SampleJob:
    """The story as it stands at ``now``: the same result for the same two."""
    now = now.astimezone(UTC).replace(microsecond=0)
    if isinstance(story.fault, NoCapacity):
        return _never_started(story, story.fault, now)
    attempts: tuple[Attempt, ...]
    if story.ended_ago is None:
        created = now - (story.created_ago or timedelta())
        attempts = (Attempt(0, created + _s(story.container_after_s)),)
    else:
        # Backwards from the end: what the containers do says how long the job took.
        lives = _lives(story)
        last_begin_s, _, last = lives[-1]
        first_began = now - story.ended_ago - _s(last_begin_s + last[-1].end_s + story.uploading_s)
        created = first_began - _s(story.container_after_s)
        attempts = tuple(
            Attempt(number, first_began + _s(begin_s), from_step, recorded)
            for number, (begin_s, from_step, recorded) in enumerate(lives)
        )
    statuses = tuple(_statuses(story, created, attempts))
    started = created + _s(story.pending_s)
    ended = None if story.ended_ago is None else now - story.ended_ago
    training_s = None
    if ended is not None:
        away = sum((attempt.began - _life_end(before) for before, attempt in pairwise(attempts)), timedelta())
        # The new data download is training time again.
        training_s = round((ended - started - away).total_seconds() + REPLACEMENT_S * (len(attempts) - 1))
    status = "InProgress" if ended is None else "Failed" if isinstance(story.fault, OutOfMemory) else "Completed"
    return SampleJob(story, _name(story, created), created, statuses, attempts, started, ended, training_s, status)


def _name(story: Story, created: datetime) -> str:
    """As the SageMaker SDK names jobs: base, time to the second, three digits of milliseconds."""
    digits = sum(map(ord, story.base_name)) * 37 % 1000
    return f"{story.base_name}-{created:%Y-%m-%d-%H-%M-%S}-{digits:03d}"


def _lives(story: Story) -> list[tuple[float, int, tuple[StorySpan, ...]]]:
    """Each attempt of an ended job as (seconds after the first containers began, its first step, its spans)."""
    first = tuple(spans(story))
    if not isinstance(story.fault, Interruption):
        return [(0.0, 0, first)]
    saved = max((span.step for span in first if span.kind == "checkpoint"), default=0)
    again_s = story.fault.after_s + story.fault.waited_s + REPLACEMENT_S
    return [(0.0, 0, first), (again_s, saved, tuple(spans(story, 1, saved)))]


def _statuses(story: Story, created: datetime, attempts: tuple[Attempt, ...]) -> Iterator[Status]:
    downloading = created + _s(story.pending_s)
    training = downloading + _s(story.downloading_s)
    yield Status("Starting", created, downloading, "Preparing the instances for training")
    yield Status("Downloading", downloading, training, "Downloading input data")
    for before, attempt in pairwise(attempts):
        gone = _life_end(before)
        back = attempt.began - _s(REPLACEMENT_S)
        yield Status("Training", training, gone, "Training image download completed. Training in progress.")
        yield Status("Interrupted", gone, gone + _s(20), "Training job interrupted: spot capacity was taken away")
        yield Status("Starting", gone + _s(20), back, "Preparing the instances for training")
        training = attempt.began - _s(REPLACEMENT_S / 2)
        yield Status("Downloading", back, training, "Downloading input data")
    if story.ended_ago is None:
        yield Status("Training", training, None, "Training image download completed. Training in progress.")
        return
    uploading = _life_end(attempts[-1])
    ended = uploading + _s(story.uploading_s)
    yield Status("Training", training, uploading, "Training image download completed. Training in progress.")
    yield Status("Uploading", uploading, ended, "Uploading generated training model")
    if isinstance(story.fault, OutOfMemory):
        yield Status("Failed", ended, ended, "Training job failed")
    else:
        yield Status("Completed", ended, ended, "Training job completed")


def _never_started(story: Story, fault: NoCapacity, now: datetime) -> SampleJob:
    ended = now - (story.ended_ago or timedelta())
    created = ended - _s(fault.waited_s)
    statuses = (
        Status("Starting", created, ended, "Insufficient capacity error from EC2 while launching instances, retrying!"),
        Status("Failed", ended, ended, "Training job failed"),
    )
    return SampleJob(story, _name(story, created), created, statuses, (), None, ended, None, "Failed")


def _life_end(attempt: Attempt) -> datetime:
    """When a recorded attempt's containers were gone; a spot interruption cuts a step short."""
    assert attempt.recorded is not None
    return attempt.began + _s(attempt.recorded[-1].end_s)


def _s(seconds: float) -> timedelta:
    return timedelta(seconds=seconds)
