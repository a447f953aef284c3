"""What is to be said beside the costs of a report: whose price they have, what is not known, what they leave out."""

from __future__ import annotations

from monitor.model import Report
from monitor.words import usd, warm_pool


def cost_words(report: Report) -> list[str]:
    """A few sentences, one each."""
    cost, said = report.cost, []
    if cost.price_usd_per_instance_hour is not None:
        said.append(f"Price: {usd(cost.price_usd_per_instance_hour)} per instance-hour ({cost.price_source}).")
    elif gaps := [gap for gap in report.run.gaps if gap.what == "price"]:
        said.append(f"Cost unknown: {' '.join(f'{gap.why} {gap.remedy}'.strip() for gap in gaps)}")
    else:
        said.append("Cost unknown: no price is set for this instance type in the settings file.")
    if retained_s := report.job.warm_pool_billable_seconds:
        said.append(warm_pool(retained_s, cost.retained_usd))
    return said
