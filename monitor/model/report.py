"""What is said about a run: findings with their evidence, figures, phases, money; and of a job before and after a change what was
predicted, and how it turned out.

Facts first, words last: what others need of a finding is a typed value of it (where a fact can be seen, what it is to them,
the code to copy, the gaps that it tells of), so that no code looks into a sentence for what it means.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from monitor.model.job import Job, Node, Parameter
from monitor.model.run import Gap, Run

Severity = Literal["critical", "warning", "info"]
Confidence = Literal["high", "medium", "low"]


MetricName = Literal[
    "gpu_utilization", "gpu_memory_utilization", "cpu_utilization", "memory_utilization", "disk_utilization"
]
#: The charts of a job in which a fact can be seen.
View = MetricName | Literal["steps", "timeline"]
#: What a fact is to whoever makes more of it than a line: a node's own step time and that of its peers, the pace before and
#: after it changed, and what SageMaker says of the job (no line of its log).
Role = Literal["step time", "peers' step time", "pace before", "pace since", "of SageMaker"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """One checkable fact behind a finding; ``line`` is the text of a log line."""

    label: str
    value: float | str | None = None
    unit: str = ""
    node: str | None = None
    start: datetime | None = None
    end: datetime | None = None
    line: str | None = None
    view: View | None = None
    """Where it can be seen; None where no chart shows it."""
    role: Role | None = None


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The next step, in words; parameter, from and to where it is one knob."""

    text: str
    parameter: str | None = None
    from_value: Any = None
    to_value: Any = None
    source: str = ""
    code: str = ""
    """To be copied as it is: a line of Python or a statement of a policy; empty where there is nothing to copy."""
    language: Literal["python", "json"] = "python"
    """Of the code."""
    further: tuple[str, ...] = ()
    """The next steps of a finding that stands for several, one each."""

    @property
    def whole(self) -> str:
        """All of it as one text, a line each."""
        return "\n".join(part for part in (self.text, *self.further, self.code) if part)


@dataclass(frozen=True, slots=True)
class Prediction:
    """(low, mid, high), by a model and not measured; ``method`` says what stands behind the step time, as sentences."""

    step_time_change_percent: tuple[float, float, float]
    gpu_memory_utilization: tuple[float, float, float] | None = None
    method: str = ""
    promise: str = ""
    """Which share of changes the range of the step time is for, in words behind ``the range``."""
    memory_method: str = ""
    """What stands behind the memory, or why there is none, as a sentence."""
    memory_at_most: bool = False
    """The memory's high end is an upper bound; nothing is expected between."""


@dataclass(frozen=True, slots=True)
class Saving:
    """What a finding says could be saved: how much of which part of the bill."""

    of: tuple[str, ...]
    """The buckets whose billed time it is about."""
    share: float = 1.0
    """Of that time, 0 to 1."""
    most_s: float | None = None
    """And no more than so many seconds of it."""
    kind: Literal["void", "idle", "waiting", "computing"] = "waiting"
    """What is wrong with that time: what was done in it is of no use; devices had no work, waited, or computed more than
    they need."""
    goes_on: float | None = None
    """The share of the same buckets in an hour in which the job goes on as it does; None where it is that of so far."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that stands out, in the order and with the severity that the rule's documentation gives."""

    id: str
    severity: Severity
    confidence: Confidence
    title: str
    """A headline of a few words with its figure; ``summary`` is the sentence a tired engineer can act on."""
    summary: str
    evidence: tuple[Evidence, ...] = ()
    recommendation: Recommendation | None = None
    prediction: Prediction | None = None
    not_checked: tuple[str, ...] = ()
    savings: tuple[Saving, ...] = ()
    """None where it claims none, or nobody knows how much."""
    share: float | None = None
    """Of the bill what ``savings`` come to, 0 to 1; None without any."""
    gaps: tuple[Gap, ...] = ()
    """Those whose reason its summary gives, so that it need not be said again."""


@dataclass(frozen=True, slots=True)
class Mute:
    """A finding that somebody does not want to be told of again, and why."""

    finding: str
    """Its id."""
    job: str
    """The job's name or, for ``all_runs``, what the names of its runs have in common."""
    reason: str
    since: datetime
    all_runs: bool = False


@dataclass(frozen=True, slots=True)
class Phase:
    """A contiguous piece of the job's wall time."""

    name: str
    start: datetime
    end: datetime
    billed: bool

    @property
    def seconds(self) -> float:
        return (self.end - self.start).total_seconds()


@dataclass(frozen=True, slots=True)
class Bucket:
    """The sum of all phases of one name; cost is None where no price is known."""

    name: str
    seconds: float
    instance_seconds: float
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Activity:
    """One checkpoint or evaluation that held the steps up, from ``start`` to ``end``."""

    kind: Literal["checkpoint", "evaluation"]
    start: datetime
    end: datetime

    @property
    def seconds(self) -> float:
        return (self.end - self.start).total_seconds()


@dataclass(frozen=True, slots=True)
class NodeStats:
    """The figures of one node; each distribution is mean, p5, p50, p95, or None where there are no data."""

    node: Node
    gpu_utilization: Distribution | None = None
    gpu_memory_utilization: Distribution | None = None
    cpu_utilization: Distribution | None = None
    memory_utilization: Distribution | None = None
    disk_utilization: Distribution | None = None
    steps: StepSpread | None = None
    gpus: tuple[GpuStats, ...] = ()
    """One by one, where the profiler's output tells; else empty."""


@dataclass(frozen=True, slots=True)
class GpuStats:
    """The figures of one GPU of a node, of the samples that were read of it."""

    gpu: int
    samples: int
    utilization: Distribution | None = None
    memory: Distribution | None = None
    memory_max_pct: float | None = None


@dataclass(frozen=True, slots=True)
class Distribution:
    """Percent of one device over the window of work."""

    mean: float
    p5: float
    p50: float
    p95: float


@dataclass(frozen=True, slots=True)
class StepSpread:
    """Step times of one node in seconds, warm-up left out; ``count`` is of all reports."""

    count: int
    median_s: float | None
    p10_s: float | None
    p90_s: float | None


@dataclass(frozen=True, slots=True)
class StepStats:
    """The job's step times: spread over all nodes without warm-up, and how far it has come."""

    count: int
    distinct: int
    first_step_s: float | None
    median_s: float | None
    p10_s: float | None
    p90_s: float | None
    nodes_observed: int
    formats: tuple[str, ...]
    done: int | None = None
    total: int | None = None
    seconds_to_finish: tuple[float, float, float] | None = None
    lost_steps: int = 0
    """Done, and done again after a restart."""
    lost_seconds: float | None = None
    """Their step times; None where no line gives one."""


@dataclass(frozen=True, slots=True)
class Utilized:
    """The model FLOP utilization in the steps: percent of the peak of the GPUs, in half precision."""

    mfu_pct: float
    usual_pct: float | None
    """What three of four published runs reach on this GPU; None where none are known."""
    gpu_model: str
    how: str
    """What it was worked out from."""


#: No instance costs as much by the hour; what is above it is a slip, or no price at all.
MOST_USD_PER_HOUR = 100_000.0


def is_price(value: object) -> bool:
    """Whether it is a sane number of USD for an hour of one instance: above zero, finite, no text, no truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= MOST_USD_PER_HOUR


@dataclass(frozen=True, slots=True)
class Price:
    """What one instance-hour costs on demand, and who says so. Of several types it is the mean by their counts."""

    usd_per_instance_hour: float
    source: str
    """Such as "settings file"."""
    others: Mapping[str, float] = field(default_factory=dict)
    """USD of an instance-hour of other types, as far as they are of interest and known."""


@dataclass(frozen=True, slots=True)
class Cost:
    """USD; None where no price is known."""

    usd: float | None = None
    overhead_usd: float | None = None
    """Of ``usd``, for billed time not spent on training: all but productive, evaluation and checkpoint."""
    price_usd_per_instance_hour: float | None = None
    price_source: str | None = None
    at_most: bool = False
    """The sums are an upper bound: a spot job pays less, and how much less is told when it has ended."""
    retained_usd: float | None = None
    """For the warm pool that was kept after the job; in none of the other sums. None: no pool, or no price."""
    recoverable_usd: float | None = None
    """What the findings say could be saved on the job in all, overlaps counted once; never more than ``usd``."""
    recoverable_usd_per_hour: float | None = None
    """The same of an hour in which a running job goes on as it does; None of one that has ended."""


@dataclass(frozen=True, slots=True)
class AtRisk:
    """The work of a running job that no checkpoint seen in its logs holds."""

    checkpoint_at: datetime
    checkpoint_step: int | None
    steps: int | None
    """Done since then; None where one of the counts is not known."""
    seconds: float
    """Since the checkpoint or, if the job has begun again from there, since its first step after that."""
    usd: float | None
    """What the job costs in that time; None without a price."""


@dataclass(frozen=True, slots=True)
class ApiBill:
    """The calls a review made, by operation, and what AWS asks for them."""

    calls: Mapping[str, int] = field(default_factory=dict)
    estimated_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class Report:
    """A reviewed job: what dashboard, command line, alerts and archive all show. Findings stand in order of acting."""

    run: Run
    reviewed_at: datetime
    nodes: tuple[NodeStats, ...] = ()
    """Over the minutes of work, but for those of checkpoints, evaluations and restarts."""
    devices: Mapping[str, Distribution] = field(default_factory=dict)
    """By metric: of the same minutes of all nodes together. What is said of a job as a whole is said with these, so that a
    figure has one value on every page and in every report."""
    work_since: datetime | None = None
    """When those minutes begin; None where there is none."""
    steps: StepStats | None = None
    phases: tuple[Phase, ...] = ()
    buckets: tuple[Bucket, ...] = ()
    findings: tuple[Finding, ...] = ()
    activities: tuple[Activity, ...] = ()
    """The checkpoints and evaluations that held the steps up, in time."""
    cost: Cost = Cost()
    price: Price | None = None
    """What the costs are worked out with."""
    goodput: float | None = None
    """Productive billed seconds / billed seconds, 0 to 1; None where no step was seen."""
    mfu: Utilized | None = None
    """None where it cannot be known."""
    at_risk: AtRisk | None = None
    """Of a running job; None where no checkpoint was seen."""
    measured: Mapping[str, Parameter] = field(default_factory=dict)
    """What was seen of the job's setup besides its configuration, by the parameters of a plan: the memory of the fullest
    GPU, the step time, the size of the model."""
    api: ApiBill = ApiBill()
    """Of this review."""
    api_total: ApiBill = ApiBill()
    """Since the program started."""
    kept_at: datetime | None = None
    """When the run was read, if it comes from the local cache; None where it was read for this report."""
    muted: Mapping[str, Mute] = field(default_factory=dict)
    """By the id of a finding; for whoever shows the report. Nothing is left out of ``findings`` for it."""
    archive: str | None = None
    """The archive that the run comes from; None where it was read, or kept, for this report."""
    faults: tuple[Gap, ...] = ()
    """The parts of this report that failed on an error of this program, and files of its archive that did. They are of this
    report, not of the run."""
    broken: frozenset[str] = frozenset()
    """The ids of the findings among them: their silence means nothing."""

    @property
    def job(self) -> Job:
        return self.run.job

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """What could not be read, then what could not be worked out."""
        return (*self.run.gaps, *self.faults)

    @property
    def ran_s(self) -> float | None:
        """From the start of the training to its end or, of a job that runs, to the review; None of one that never started."""
        job = self.job
        end = job.ended or (self.reviewed_at if job.is_running else None)
        return None if job.started is None or end is None else (end - job.started).total_seconds()

    @property
    def billed_s(self) -> float:
        """Of one instance."""
        return sum(phase.seconds for phase in self.phases if phase.billed)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The findings that ask for action: warning and critical, and not muted."""
        return tuple(
            finding for finding in self.findings if finding.severity != "info" and finding.id not in self.muted
        )

    @property
    def silenced(self) -> tuple[Finding, ...]:
        """The findings that would ask for action, were they not muted."""
        return tuple(finding for finding in self.findings if finding.severity != "info" and finding.id in self.muted)


Came = Literal["held", "missed", "inconclusive", "too wide to test"]

#: A range with 0 in it takes no side. Wider than this (its high step time over its low one: some -10 to +12 %) it leaves open
#: most of what a change of parameters does, for better or worse.
WIDEST_OPEN = 1.25


@dataclass(frozen=True, slots=True)
class PairSide:
    """One of the two jobs: enough to find it again, and how many steps its step time is of."""

    name: str
    arn: str
    created: datetime | None
    steps: int


@dataclass(frozen=True, slots=True)
class Pair:
    """``predicted`` and ``measured`` are (low, middle, high) percent of the time for the same samples."""

    before: PairSide
    after: PairSide
    changed: Mapping[str, tuple[str, ...]]
    """Parameter -> value before and after, "" where there was none. Names and values of the model's parameters alone: no
    script's own, which may hold anything."""
    predicted: tuple[float, float, float]
    measured: tuple[float, float, float]
    method: str
    """What the prediction rests on."""
    framework: str | None
    parameters: float | None
    """Of the model; None where it is not known."""
    findings: tuple[str, ...]
    """Whose advice was followed."""
    compared_at: datetime

    @property
    def came(self) -> Came:
        """What the measurement says of the prediction."""
        return came_of(self.predicted, self.measured)


def came_of(predicted: tuple[float, float, float], measured: tuple[float, float, float]) -> Came:
    """What came of a prediction, both as (low, middle, high) percent.

    missed: the two ranges do not touch. inconclusive: they overlap, and the measured middle is outside. Inside it held, if
    it could have failed: a range that leaves open whether a change helps, and by far, fits whatever is measured.
    """
    if measured[2] < predicted[0] or predicted[2] < measured[0]:
        return "missed"
    if _says_nothing(predicted):
        return "too wide to test"
    return "held" if predicted[0] <= measured[1] <= predicted[2] else "inconclusive"


def _says_nothing(predicted: tuple[float, float, float]) -> bool:
    low, _, high = (1 + max(each, -99.9) / 100 for each in predicted)
    return low < 1 < high and high / low > WIDEST_OPEN
