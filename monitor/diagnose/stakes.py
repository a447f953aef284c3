"""What could be saved on a job, by what its findings say: the one model behind every sum of money beside a finding, in a
tile, in a row of a list and in a ranking.

A finding that claims a saving states it as data (``monitor.model.Saving``): how much of which part of the bill. Within a
part, savings of one kind are remedies of the same waste, so the largest counts. The kinds do not overlap (a paid second of
a GPU is void, or idle, or waits, or computes), so one saves of what another leaves: what remains multiplies. Hence nothing
is counted twice, the order does not matter, another finding never makes the sum smaller, and it cannot pass the bill. It is an
upper bound: no GPU is ever busy all the time. What a running job lost before is not lost again in an hour of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from monitor.analyze.phases import usd_per_hour
from monitor.model import Cost, Finding, Job, Phase, Report, Saving

#: What goes on while a job trains: an hour that goes on as now is made of these, as the time so far was.
GOES_ON = ("productive", "slow-excess", "evaluation", "checkpoint")
#: The time of steps; where no step was seen nobody knows what the time was spent on.
STEPS = ("productive", "slow-excess", "unknown")
#: All time in which the instances were at the job's disposal.
WORK = (*GOES_ON, "lost-work", "stall", "idle-tail", "unknown")


@dataclass(frozen=True, slots=True)
class Bill:
    """What is billed of a job, by bucket: so far, and in an hour that goes on as now."""

    seconds: Mapping[str, float]
    """Billed, of one instance."""
    hour: Mapping[str, float]
    """Shares of an hour, whose sum is 1; empty where nothing is going on."""
    usd: float | None = None
    """For all of ``seconds``; None without a price."""
    usd_per_hour: float | None = None
    """Of all instances."""
    at_most: bool = False
    """The prices are an upper bound, as of a spot job that has not ended."""
    is_running: bool = False

    def share(self, savings: Iterable[Saving]) -> float:
        """Of the bill so far, 0 to 1; where nothing is known to be billed, of the time that the savings are about."""
        fractions = [(each, self._fraction(each)) for each in savings]
        left, whole = self._left(fractions), sum(self.seconds.values())
        if whole <= 0:
            return max((fraction for each, fraction in fractions if each.most_s is None), default=0.0)
        return min(1.0, sum(seconds * (1 - left.get(name, 1.0)) for name, seconds in self.seconds.items()) / whole)

    def share_of_hour(self, savings: Iterable[Saving]) -> float:
        """Of an hour that goes on as now, 0 to 1."""
        fractions = [
            (each, self._fraction(each) if each.goes_on is None else min(1.0, max(0.0, each.goes_on)))
            for each in savings
        ]
        left = self._left(fractions)
        return min(1.0, sum(share * (1 - left.get(name, 1.0)) for name, share in self.hour.items()))

    def saved_usd(self, savings: Iterable[Saving]) -> float | None:
        """Of the bill so far; None without a price."""
        return None if self.usd is None else self.usd * self.share(savings)

    def saved_usd_per_hour(self, savings: Iterable[Saving]) -> float | None:
        """Of an hour of a running job that goes on as now; None without a price, and of a job that has ended."""
        if self.usd_per_hour is None or not self.is_running:
            return None
        return self.usd_per_hour * self.share_of_hour(savings)

    def _fraction(self, saving: Saving) -> float:
        """Of the buckets that a saving is about."""
        share = min(1.0, max(0.0, saving.share))
        if saving.most_s is None:
            return share
        whole = sum(self.seconds.get(name, 0.0) for name in set(saving.of))
        return min(share, max(0.0, saving.most_s) / whole) if whole > 0 else share

    @staticmethod
    def _left(fractions: Sequence[tuple[Saving, float]]) -> dict[str, float]:
        """What no saving takes, by bucket, 0 to 1."""
        largest: dict[tuple[str, str], float] = {}
        for saving, fraction in fractions:
            for name in saving.of:
                largest[name, saving.kind] = max(fraction, largest.get((name, saving.kind), 0.0))
        left: dict[str, float] = {}
        for (name, _), fraction in sorted(largest.items()):
            left[name] = left.get(name, 1.0) * (1 - fraction)
        return left


def bill_of(job: Job, phases: Sequence[Phase], cost: Cost, usd_per_hour: float | None) -> Bill:
    """The bill of a job with these phases; ``usd_per_hour`` is of all instances."""
    seconds: dict[str, float] = {}
    for phase in phases:
        if phase.billed:
            seconds[phase.name] = seconds.get(phase.name, 0.0) + phase.seconds
    return Bill(seconds, _hour(job, phases), cost.usd, usd_per_hour, cost.at_most, job.is_running)


def _hour(job: Job, phases: Sequence[Phase]) -> dict[str, float]:
    """What an hour is made of: as the time of training so far; all of it what there is now, where the job stands still or
    has not begun to train."""
    if not phases:
        return {}
    trained = {name: sum(phase.seconds for phase in phases if phase.name == name) for name in GOES_ON}
    whole = sum(trained.values())
    if whole <= 0 or (job.is_running and phases[-1].name == "stall"):
        return {phases[-1].name: 1.0}
    return {name: seconds / whole for name, seconds in trained.items() if seconds}


def recoverable(cost: Cost, bill: Bill, findings: Iterable[Finding], asks: bool, is_conclusive: bool) -> Cost:
    """``cost`` with what the findings say could be saved, in all and an hour.

    None where a finding asks for action (``asks``) and none can say how much it would save, and where the job could not be
    judged, so that no finding means nothing: not known is not 0.
    """
    savings = [saving for finding in findings for saving in finding.savings]
    if cost.usd is None or (not savings and cost.usd > 0 and (asks or not is_conclusive)):
        return cost
    return replace(
        cost, recoverable_usd=bill.saved_usd(savings), recoverable_usd_per_hour=bill.saved_usd_per_hour(savings)
    )


def usd_per_hour_of_steps(report: Report) -> float | None:
    """What goes into steps in an hour of a job: what a change of their time is worth. None where no price is known."""
    bill = bill_of(report.job, report.phases, report.cost, usd_per_hour(report.job, report.cost))
    if bill.usd_per_hour is None or not bill.hour:
        return bill.usd_per_hour
    return bill.usd_per_hour * sum(bill.hour.get(name, 0.0) for name in STEPS)


def stakes_usd(report: Report) -> float | None:
    """What somebody who acts now could gain, by which jobs are ranked: an hour while it runs, in all when it has ended; None
    where it is not known."""
    return report.cost.recoverable_usd_per_hour if report.job.is_running else report.cost.recoverable_usd


def total_usd(each: Iterable[float | None]) -> float | None:
    """The sum of what is known; None where nothing is."""
    known = [one for one in each if one is not None]
    return sum(known) if known else None
