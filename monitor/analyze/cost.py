"""What the job cost, and how much of that was neither training nor worth its money."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from monitor.analyze.billing import billed_seconds, billing_factor
from monitor.analyze.phases import USEFUL
from monitor.model import Bucket, Cost, Job, Phase


def cost(
    job: Job,
    parts: Sequence[Phase],
    buckets: Iterable[Bucket],
    price_usd_per_hour: float | None,
    price_source: str | None,
) -> Cost:
    """The bill so far, of TrainingTimeInSeconds or, until that is known, of the billed phases.

    ``usd`` is None without a price, and 0 for a job that never started.

    ``wasted_usd`` is the cost of all billed buckets but productive, evaluation and checkpoint; None where no step was
    seen, since then nobody knows what the time was spent on.
    """
    if price_usd_per_hour is None:
        return Cost()
    instances = job.instance_count or 1
    if job.training_seconds is None and job.ended is None and not job.is_running and job.started is not None:
        return Cost(None, None, price_usd_per_hour, price_source)  # part of a log: nobody knows how long it ran
    seconds = billed_seconds(parts) if job.training_seconds is None else job.training_seconds
    usd = seconds * instances * billing_factor(job) * price_usd_per_hour / 3600
    buckets = tuple(buckets)
    seen = any(bucket.name in USEFUL for bucket in buckets)
    wasted = sum(bucket.cost_usd or 0.0 for bucket in buckets if bucket.name not in USEFUL) if seen else None
    return Cost(usd, wasted, price_usd_per_hour, price_source)


def goodput(job: Job, parts: Sequence[Phase]) -> float | None:
    """Productive billed seconds / billed seconds, 0 to 1: the share of what was paid for that trained a step that was kept.

    Evaluations and checkpoints are not in it, though they are no waste. None where no step was seen, or nothing billed.
    """
    billed_s = billed_seconds(parts) if job.training_seconds is None else float(job.training_seconds)
    if billed_s <= 0 or not any(part.name in {"productive", "lost-work"} for part in parts):
        return None
    return min(1.0, billed_seconds(part for part in parts if part.name == "productive") / billed_s)
