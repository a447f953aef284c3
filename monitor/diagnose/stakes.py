"""What is at stake in a running job, in USD an hour: what it costs, wastes, and what advice could save."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from monitor.model import Report


@dataclass(frozen=True, slots=True)
class Stakes:
    """USD an hour; None where no price, or nothing to reckon with, is known."""

    costs_usd: float | None = None
    wasted_usd: float | None = None
    """The share of the bill so far that trained nothing, of an hour; all of it while the job stands still."""
    saving_usd: float | None = None
    """What the best single advice would save for the same work, by its model."""
    stalled: bool = False

    @property
    def at_stake_usd(self) -> float | None:
        """What somebody who acts now could gain in an hour: waste and advice overlap, so the larger one."""
        known = [each for each in (self.wasted_usd, self.saving_usd) if each is not None]
        return max(known) if known else None


def stakes(report: Report) -> Stakes:
    """The stakes of a job as reviewed; empty of one that is over."""
    job, cost = report.job, report.cost
    if not job.is_running:
        return Stakes()
    stalled = any(finding.id == "stall" for finding in report.warnings)
    price, count = cost.price_usd_per_instance_hour, job.instance_count
    if price is None or not count:
        return Stakes(stalled=stalled)
    costs = price * count
    wasted = costs if stalled else None
    if not stalled and cost.usd and cost.overhead_usd is not None:
        wasted = costs * min(1.0, cost.overhead_usd / cost.usd)
    gains = [-finding.prediction.step_time_change_percent[1] / 100 for finding in report.findings if finding.prediction]
    best = max(gains, default=0.0)
    return Stakes(costs, wasted, costs * best if best > 0 else None, stalled)


def total_usd(each: Iterable[float | None]) -> float | None:
    """The sum of what is known; None where nothing is."""
    known = [one for one in each if one is not None]
    return sum(known) if known else None
