"""Where the GPU-hours of a fleet went. The report of a window as one frozen value: figures, no words; rates of few events with
intervals, so that nobody acts on chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Literal

import numpy as np

from monitor.fleet.facts import Blame, Use
from monitor.fleet.window import DateWindow
from monitor.model import Came

#: Of all intervals here.
COVERS = 0.95
_DRAWS = 1000
# Fewer jobs than this on a side, and resampling them says nothing.
_FEWEST = 5


@dataclass(frozen=True, slots=True)
class Rate:
    """``hours`` of exposure with ``events`` in them; the mean time between two, and its interval."""

    hours: float
    events: int

    @property
    def between_h(self) -> float | None:
        """None without an event."""
        return self.hours / self.events if self.events else None

    @property
    def between_h_interval(self) -> tuple[float, float | None] | None:
        """The exact Poisson interval; without an event it has no upper end. None without any time."""
        if not self.hours:
            return None
        low, high = poisson(self.events)
        return self.hours / high, self.hours / low if low else None

    @property
    def per_1000_days(self) -> float | None:
        return 24_000 * self.events / self.hours if self.hours else None


def poisson(events: int) -> tuple[float, float]:
    """The exact interval (Garwood 1936) of the mean of so many events."""
    # Imported late: it takes most of a second, and every command starts with this file.
    from scipy.stats import chi2

    tail = (1 - COVERS) / 2
    low = float(chi2.ppf(tail, 2 * events)) / 2 if events else 0.0
    return low, float(chi2.ppf(1 - tail, 2 * events + 2)) / 2


Verdict = Literal["up", "down", "cannot tell"]


@dataclass(frozen=True, slots=True)
class ShareChange:
    """A share now less the share before, in points (0 to 100), with its interval over the jobs."""

    points: float
    low: float
    high: float

    @property
    def verdict(self) -> Verdict:
        return "up" if self.low > 0 else "down" if self.high < 0 else "cannot tell"


def change_of_share(now: Sequence[tuple[float, float]], before: Sequence[tuple[float, float]]) -> ShareChange | None:
    """Of two samples of jobs, each (part, whole); None where either has too few jobs to say anything.

    Jobs are drawn again with replacement, whole ones: the hours of one job are not independent of each other.
    """
    if min(len(now), len(before)) < _FEWEST or not all(sum(whole for _, whole in side) for side in (now, before)):
        return None
    # The same report comes out of the same archive, however often it is made.
    generator = np.random.default_rng(0)
    shares = []
    for side in (now, before):
        parts = np.array(side)
        drawn = generator.multinomial(len(parts), np.full(len(parts), 1 / len(parts)), _DRAWS) @ parts
        shares.append(drawn[:, 0] / np.maximum(drawn[:, 1], 1e-12))
    tail = 50 * (1 - COVERS)
    low, high = np.percentile(100 * (shares[0] - shares[1]), [tail, 100 - tail])
    points = 100 * (_share(now) - _share(before))
    return ShareChange(points, float(low), float(high))


def _share(side: Sequence[tuple[float, float]]) -> float:
    return sum(part for part, _ in side) / sum(whole for _, whole in side)


@dataclass(frozen=True, slots=True)
class Sum:
    """Hours and money of some part of the bill."""

    gpu_hours: float = 0.0
    """Of jobs whose GPUs are known."""
    instance_hours: float = 0.0
    usd: float = 0.0
    """Of jobs whose price is known."""
    unpriced_instance_hours: float = 0.0
    """Of them, those without a known price: what they cost is not in ``usd``."""
    uncounted_instance_hours: float = 0.0
    """Of them, those with an unknown number of GPUs, which are not in ``gpu_hours``."""

    def __add__(self, other: Sum) -> Sum:
        return Sum(
            self.gpu_hours + other.gpu_hours,
            self.instance_hours + other.instance_hours,
            self.usd + other.usd,
            self.unpriced_instance_hours + other.unpriced_instance_hours,
            self.uncounted_instance_hours + other.uncounted_instance_hours,
        )

    def times(self, share: float) -> Sum:
        """A share of all of it."""
        return Sum(
            self.gpu_hours * share,
            self.instance_hours * share,
            self.usd * share,
            self.unpriced_instance_hours * share,
            self.uncounted_instance_hours * share,
        )


@dataclass(frozen=True, slots=True)
class ByUse:
    """One use of the hours; all of them add up to the whole."""

    use: Use
    sum: Sum
    share: float | None
    """Of the GPU-hours (of the instance-hours where there are no GPUs)."""
    mean_job_share: float | None
    """The mean over the jobs of each one's share: small jobs count as much as large ones."""
    jobs: int


@dataclass(frozen=True, slots=True)
class ByCause:
    """One bucket of the jobs' time; all of them add up to the whole."""

    bucket: str
    use: Use
    sum: Sum
    jobs: int


@dataclass(frozen=True, slots=True)
class ByOwner:
    """What one team's (project's, account's) jobs used."""

    owner: str
    sum: Sum
    jobs: int
    goodput: float | None
    """Productive share, what is unknown counted as not productive."""
    waste: Sum
    unknown: Sum
    by_use: tuple[tuple[Use, Sum], ...] = ()


@dataclass(frozen=True, slots=True)
class ByFinding:
    """What one finding says could be saved; several may mean the same hours."""

    id: str
    jobs: int
    saving: Sum


@dataclass(frozen=True, slots=True)
class ByFailure:
    """Jobs that ended badly in the window, by their first cause."""

    cause: str
    blame: Blame
    jobs: int
    failed: Sum
    """Their time in the window that was for nothing, as far as that is known."""
    unknown: Sum
    """Their time of which nobody knows whether it was: steps were made, and no checkpoint was seen."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """How long it took from a failure to the next step: of the same job after an interruption, or of the next run."""

    known: int
    mean_s: float | None
    median_s: float | None
    p90_s: float | None
    open: int
    """Failures that no later step of a run of that name has followed."""


@dataclass(frozen=True, slots=True)
class Queue:
    """How long the jobs that were created in the window waited for their instances."""

    instance_type: str
    jobs: int
    median_s: float
    p90_s: float
    gpu_hours: float
    """That were asked for and not there."""
    refused: int
    """Jobs that never got their instances."""


@dataclass(frozen=True, slots=True)
class ToChange:
    """A job to change first, and other runs of its name that have the same finding."""

    job: str
    owner: str
    account: str | None
    region: str | None
    runs: int
    finding: str
    title: str
    next_step: str
    saving: Sum
    """What its findings say could have been saved in the window, overlaps counted once; for all ``runs``."""
    change_pct: tuple[float, float, float] | None


@dataclass(frozen=True, slots=True)
class AdviceOutcome:
    """Advice of an earlier job that a later one of the same name has followed."""

    before: str
    after: str
    finding: str
    parameter: str
    from_value: str
    to_value: str
    predicted_pct: tuple[float, float, float]
    measured_pct: tuple[float, float, float] | None
    """None where step times do not tell."""
    came: Came | None
    why: str = ""
    """Why nothing was measured."""


@dataclass(frozen=True, slots=True)
class FleetCoverage:
    """How much of it was judged."""

    jobs: int
    running: int
    """When they were archived: what came after that is not in here."""
    without_time: int
    """Of which no billed time is known, or that were never billed."""
    without_price: int
    without_gpus: int
    """Whose GPU count is not known."""
    without_owner: int
    from_logs: int
    """Known from their logs alone: what was billed beyond their first and last lines is not in here."""
    unread: int = 0
    judged_share: float | None = None
    """Of the GPU-hours, those of which the use is known."""


@dataclass(frozen=True, slots=True)
class FleetReport:
    """One window of a fleet."""

    archive: str
    window: DateWindow
    by: str
    made_at: datetime
    total: Sum
    before: Sum
    """Of the window before it."""
    goodput: tuple[float, float] | None
    """Productive share of the GPU-hours: what is seen, and what it is at most, if all that is unknown was productive."""
    goodput_change: ShareChange | None
    waste: Sum
    by_use: tuple[ByUse, ...]
    by_cause: tuple[ByCause, ...]
    by_owner: tuple[ByOwner, ...]
    by_finding: tuple[ByFinding, ...]
    failures: tuple[ByFailure, ...]
    all_failures: Rate
    """Over node-hours: every job that ended badly, and every interruption."""
    infrastructure_failures: Rate
    """Of these, what no user can help; what may be either is in it, and is counted in ``either``."""
    either: int
    recovery: Recovery
    queues: tuple[Queue, ...]
    spot_usd: float
    """Of jobs on spot that ended in the window, what they cost less than on demand."""
    spot_jobs: int
    to_change: tuple[ToChange, ...]
    followed: tuple[AdviceOutcome, ...]
    coverage: FleetCoverage
    weeks: tuple[tuple[str, tuple[tuple[Use, Sum], ...]], ...] = field(default=())
    """(2026-W47, sums by use) of the weeks that were read, oldest first."""
    only: str = ""
    """Which jobs it is about, in words, where that is not all of them: ``team vision``."""
    days: tuple[date, date] | None = None
    """The first and the last day on which any job of the archive ran."""
