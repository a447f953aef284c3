"""What to say next to the costs of a report: where the price comes from, what is not known, what is left out."""

from __future__ import annotations

from collections.abc import Iterable

from monitor.diagnose.stakes import Bill, stakes_usd
from monitor.model import Report, Saving
from monitor.words import DASH, percent, usd, warm_pool

#: What the two figures of money are, for the help beside them.
OVERHEAD_MEANS = "billed time not spent on training: everything but training, evaluation and checkpoints."
RECOVERABLE_MEANS = (
    "what the findings say could be saved, at most; overlapping findings count once, and findings without an "
    "estimate are not included."
)

#: What they say of other prices is no saving that can be counted on.
_OF_PRICE = frozenset({"managed-spot", "instance-type"})


def recoverable_words(report: Report) -> tuple[str, str]:
    """The figure, ``$35 an hour`` of a job that runs and ``$12.40`` of one that has ended, and what stands beside it."""
    cost, per = report.cost, " an hour" if report.job.is_running else ""
    value = stakes_usd(report)
    if value is None or cost.recoverable_usd is None:
        return DASH, "not known"
    bound = "≤ " if cost.at_most and value else ""
    if not cost.recoverable_usd and not value:
        cheaper = any(finding.id in _OF_PRICE and not finding.savings for finding in report.findings)
        return f"$0{per}", "cheaper prices aside" if cheaper else "nothing found to save"
    if per:
        return f"{bound}{usd(value)}{per}", f"{usd(cost.recoverable_usd)} so far"
    return f"{bound}{usd(value)}", f"{percent(100 * value / cost.usd)} of the cost" if cost.usd else "in total"


def _sums(report: Report) -> list[str]:
    """``Cost $118.53, overhead $14.19, recoverable $37.08 (31 % of the cost).``"""
    cost = report.cost
    if cost.usd is None:
        return []
    value, context = recoverable_words(report)
    overhead = "" if cost.overhead_usd is None else f", overhead {usd(cost.overhead_usd)}"
    saved = "not known" if value == DASH else f"{value} ({context})"
    bound = "≤ " if cost.at_most else ""
    return [f"Cost {bound}{usd(cost.usd)}{overhead}, recoverable {saved}."]


def cost_words(report: Report) -> list[str]:
    """A few sentences, one each: what the job cost, and whose price that is."""
    cost, said = report.cost, _sums(report)
    if cost.price_usd_per_instance_hour is not None:
        said.append(f"Price: {usd(cost.price_usd_per_instance_hour)} per instance-hour ({cost.price_source}).")
    elif gaps := [gap for gap in report.run.gaps if gap.what == "price"]:
        said.append(f"Cost unknown: {' '.join(gap.said for gap in gaps)}")
    else:
        said.append("Cost unknown: no price is set for this instance type in the settings file.")
    if retained_s := report.job.warm_pool_billable_seconds:
        said.append(warm_pool(retained_s, cost.retained_usd))
    return said


def saved_words(bill: Bill, savings: Iterable[Saving]) -> str:
    """``$35 an hour`` of a job that runs, ``$12.40`` of one that has ended; empty without a price, or where it is nothing."""
    each = tuple(savings)
    if bill.is_running:
        return _amount(bill, bill.saved_usd_per_hour(each), " an hour")
    return lost_words(bill, each)


def lost_words(bill: Bill, savings: Iterable[Saving]) -> str:
    """``$12.40``: of the bill so far, whether the job runs or not; empty without a price, or where it is nothing."""
    return _amount(bill, bill.saved_usd(savings), "")


def _amount(bill: Bill, value: float | None, per: str) -> str:
    return "" if not value else f"{'at most ' if bill.at_most else ''}{usd(value)}{per}"
