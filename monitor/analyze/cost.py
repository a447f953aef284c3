"""What the job cost, and how much of that was neither training nor worth its money."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from monitor.analyze.phases import USEFUL, billing_factor
from monitor.model import Bucket, Cost, Job


def cost(
    job: Job, buckets: Iterable[Bucket], price_usd_per_hour: float | None, price_source: str | None, now: datetime
) -> Cost:
    """The bill so far. ``usd`` is None without a price, and 0 for a job that never started.

    ``wasted_usd`` is the cost of all billed buckets but productive, evaluation and checkpoint; None where no step was
    seen, since then nobody knows what the time was spent on.
    """
    if price_usd_per_hour is None:
        return Cost()
    instances = job.instance_count or 1
    seconds: float | None = job.training_seconds
    if seconds is None:
        end = job.ended or (now if job.is_running else None)
        if job.started is not None and end is None:
            return Cost(None, None, price_usd_per_hour, price_source)  # part of a log: nobody knows how long it ran
        seconds = max(0.0, (end - job.started).total_seconds()) if job.started and end else 0.0
    usd = seconds * instances * billing_factor(job) * price_usd_per_hour / 3600
    buckets = tuple(buckets)
    seen = any(bucket.name in USEFUL for bucket in buckets)
    wasted = sum(bucket.cost_usd or 0.0 for bucket in buckets if bucket.name not in USEFUL) if seen else None
    return Cost(usd, wasted, price_usd_per_hour, price_source)
