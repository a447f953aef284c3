"""What each of several jobs cost and achieved, in the same figures. One value per job, unknown where it is unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from monitor.analyze.pace import By, StableSteps
from monitor.analyze.phases import USEFUL, billing_factor
from monitor.diagnose.comparison.comparability import samples_per_step
from monitor.diagnose.verdict import mean_of
from monitor.diagnose.words.step_readings import AS_PRINTED, BY_CLOCK, Way, way_of
from monitor.model import Report


@dataclass(frozen=True, slots=True)
class Figures:
    """One job beside the others."""

    name: str
    nodes: int | None
    step_s: float | None
    """Median of the stable part."""
    p10_s: float | None
    p90_s: float | None
    steps: int | None
    """That the median is of."""
    first_step: int | None
    last_step: int | None
    samples_per_step: float | None
    gpu_utilization_pct: float | None
    gpu_memory_utilization_pct: float | None
    goodput_pct: float | None
    wasted_pct: float | None
    """Of the billed time, what was neither training nor evaluation nor checkpoint."""
    cost_usd: float | None
    usd_per_step: float | None
    """Of the stable part: what a step costs while it trains, whatever came before it."""
    way: Way | None = None
    """How the times were come by; None without times."""
    by_clock: bool = False
    """They are compared by the clock of their lines, although they are printed, since that is what all have."""
    scaling_pct: float | None = None
    """Throughput per node over that of the job with the fewest nodes."""

    @property
    def came_by(self) -> str:
        """How the times were come by, in words; empty without times."""
        if self.way is None:
            return ""
        return f"{BY_CLOCK}, not {AS_PRINTED}" if self.by_clock else self.way.words or AS_PRINTED

    @property
    def samples_per_s(self) -> float | None:
        return self.samples_per_step / self.step_s if self.samples_per_step and self.step_s else None

    @property
    def usd_per_sample(self) -> float | None:
        known = self.usd_per_step is not None and self.samples_per_step
        return self.usd_per_step / self.samples_per_step if known else None  # type: ignore[operator]


def figures(report: Report, steps: StableSteps | None) -> Figures:
    """The figures of a job whose stable part is ``steps``; scaling is left to ``scaling``."""
    median = None if steps is None else _quantile(steps, 0.5)
    way = way_of(report.run.logs.readings)
    per_hour = _usd_per_hour(report)
    return Figures(
        report.job.name,
        report.job.instance_count,
        median,
        None if steps is None else _quantile(steps, 0.1),
        None if steps is None else _quantile(steps, 0.9),
        None if steps is None else steps.steps,
        None if steps is None else steps.first_step,
        None if steps is None else steps.last_step,
        samples_per_step(report),
        mean_of(report, "gpu_utilization"),
        mean_of(report, "gpu_memory_utilization"),
        None if report.goodput is None else 100 * report.goodput,
        _wasted_pct(report),
        report.cost.usd,
        None if median is None or per_hour is None else median * per_hour / 3600,
        None if steps is None else way,
        steps is not None and steps.by == "clock" and way.kind != "line-clock",
    )


def shared_way(found: Sequence[dict[By, StableSteps]]) -> list[StableSteps | None]:
    """Each job's steps, taken the same way in all if there is one that all have, else each its best."""
    common = [way for way in (found[0] if found else {}) if all(way in each for each in found)]
    return [each[common[0]] if common else next(iter(each.values()), None) for each in found]


def scaling(
    reports: Sequence[Report], work: Sequence[float | None], step_s: Sequence[float | None]
) -> list[float | None]:
    """Percent of the throughput per node that the job with the fewest nodes has; ``work`` is that of a step, over the first
    job's. All None where the numbers of nodes are the same or one is unknown, or the machines differ."""
    none: list[float | None] = [None] * len(reports)
    nodes = [report.job.instance_count for report in reports]
    types = {report.job.instance_type for report in reports}
    if len(set(nodes)) < 2 or None in nodes or len(types) > 1 or None in types:
        return none
    each = [w / s / n if w is not None and s and n else None for w, s, n in zip(work, step_s, nodes, strict=True)]
    known = [(count, place) for place, count in enumerate(nodes) if each[place] is not None and count is not None]
    if len(known) < 2:
        return none
    reference = each[min(known)[1]]
    return [None if value is None or reference is None else 100 * value / reference for value in each]


def _quantile(steps: StableSteps, share: float) -> float:
    return float(np.quantile(steps.times_s, share))


def _usd_per_hour(report: Report) -> float | None:
    """Of all instances, as they are billed."""
    price, instances = report.cost.price_usd_per_instance_hour, report.job.instance_count
    return None if price is None or not instances else price * instances * billing_factor(report.job)


def _wasted_pct(report: Report) -> float | None:
    billed = [phase for phase in report.phases if phase.billed]
    seconds = sum(phase.seconds for phase in billed)
    if seconds <= 0 or not any(phase.name in USEFUL for phase in billed):
        return None
    return 100 * sum(phase.seconds for phase in billed if phase.name not in USEFUL) / seconds
