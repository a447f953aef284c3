"""What the job cost, and how much of that was neither training nor worth its money."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from monitor.analyze.phases import USEFUL, billed_seconds, billing_factor
from monitor.model import Bucket, Cost, InstanceGroup, Job, Phase, Price


def usd_per_hour(job: Job, found: Cost) -> float | None:
    """What all instances of a job cost an hour; None where no price or no number of instances is known."""
    if found.price_usd_per_instance_hour is None or not job.instance_count:
        return None
    return found.price_usd_per_instance_hour * job.instance_count * billing_factor(job)


def cost(job: Job, parts: Sequence[Phase], buckets: Iterable[Bucket], price: Price | None) -> Cost:
    """The bill so far, of TrainingTimeInSeconds or, until that is known, of the billed phases.

    ``usd`` is None without a price, and 0 for a job that never started.

    ``overhead_usd`` is the cost of all billed buckets but productive, evaluation and checkpoint; None where no step was
    seen, since then nobody knows what the time was spent on.
    """
    if price is None:
        return Cost()
    usd_per_hour, instances = price.usd_per_instance_hour, job.instance_count or 1
    # Until a spot job has ended nobody is told for how much of its time it pays.
    at_most = job.spot and (job.billable_seconds is None or not job.training_seconds)
    source = f"{price.source}; on-demand; a spot job pays at most that" if at_most else price.source
    retained_s = job.warm_pool_billable_seconds
    retained = None if retained_s is None else retained_s * instances * usd_per_hour / 3600
    if job.training_seconds is None and job.ended is None and not job.is_running and job.started is not None:
        # Part of a log: nobody knows how long it ran.
        return Cost(None, None, usd_per_hour, source, at_most, retained)
    seconds = billed_seconds(parts) if job.training_seconds is None else job.training_seconds
    usd = seconds * instances * billing_factor(job) * usd_per_hour / 3600
    buckets = tuple(buckets)
    seen = any(bucket.name in USEFUL for bucket in buckets)
    overhead = sum(bucket.cost_usd or 0.0 for bucket in buckets if bucket.name not in USEFUL) if seen else None
    return Cost(usd, overhead, usd_per_hour, source, at_most, retained)


def goodput(job: Job, parts: Sequence[Phase]) -> float | None:
    """Productive billed seconds / billed seconds, 0 to 1: the share of billed time spent training steps that were kept.

    Evaluations and checkpoints are not in it, though they are no waste. None where no step was seen, or nothing billed.
    """
    billed_s = billed_seconds(parts) if job.training_seconds is None else float(job.training_seconds)
    if billed_s <= 0 or not any(part.name in {"productive", "lost-work"} for part in parts):
        return None
    return min(1.0, billed_seconds(part for part in parts if part.name == "productive") / billed_s)


def mean_price(groups: Sequence[InstanceGroup], prices: Mapping[str, Price]) -> Price | None:
    """The price of an instance-hour of a job, by instance type; None unless that of every group is known.

    All instances of a job start and end together, so that instances times the mean, weighted by the groups' counts, is
    exactly what they cost together.
    """
    known = [(group.count, prices[group.instance_type]) for group in groups if group.instance_type in prices]
    count = sum(instances for instances, _ in known)
    if not count or len(known) < len(groups):
        return None
    mean = sum(instances * price.usd_per_instance_hour for instances, price in known) / count
    sources = list(dict.fromkeys(price.source for _, price in known))
    several = len({group.instance_type for group in groups}) > 1
    return Price(mean, " and ".join(sources) + (", mean over the instance groups" if several else ""))
