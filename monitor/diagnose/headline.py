"""What a job was, in a few words: the line above everything else; and what lies ahead for a running one: when it will be done
and for how much, and what would be lost if it died now."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, tzinfo

from monitor.model import AtRisk, Job, Report
from monitor.words import DASH, count, duration, instant, usd

# A job may have twenty types; a line cannot.
_TYPES = 3
_STATUS_WORDS = {
    "InProgress": "running",
    "Completed": "completed",
    "Failed": "failed",
    "Stopping": "stopping",
    "Stopped": "stopped",
    "Deleting": "being deleted",
}


def status_word(status: str | None) -> str:
    """The word for a TrainingJobStatus, ``status unknown`` where there is none."""
    return _STATUS_WORDS.get(status or "", status or "status unknown")


def instances(job: Job) -> str:
    """``4 x ml.p4d.24xlarge``, with ``+`` between types, a few of them; what is unknown is left out."""
    counts: Counter[str] = Counter()
    for group in job.instance_groups:
        if group.instance_type:
            counts[group.instance_type] += group.count
    if counts:
        named = [f"{number} x {kind}" for kind, number in counts.items()]
        more = len(named) - _TYPES
        return " + ".join(named[:_TYPES]) + (f" + {count(more, 'more type')}" if more > 0 else "")
    known = len(job.nodes)
    return f"{known} nodes of unknown type" if known > 1 else "instance type unknown"


def launcher(job: Job) -> str:
    """``SMP v1 on mpi``, ``torchrun``; empty where neither is known."""
    smp = f"SMP v{job.smp_version}" if job.smp_version else ""
    return " on ".join(part for part in (smp, job.launcher or "") if part)


def about(report: Report) -> str:
    """The status and the facts in a line."""
    return " · ".join([status_word(report.job.status), *facts(report)])


def facts(report: Report, where: tzinfo = UTC) -> list[str]:
    """Instances, launcher, start (in the zone ``where``), duration and cost, each where it is known."""
    job = report.job
    out = [instances(job)]
    if launcher(job):
        out.append(launcher(job))
    if job.started is not None:
        out.append(f"started {instant(job.started, where)}")
        out.append(duration(report.ran_s))
    elif job.created is not None:
        out.append(f"created {instant(job.created, where)}")
        if job.source == "aws":
            out.append("never started" if not job.is_running else "not started yet")
    if job.spot:
        out.append("managed spot")
    if report.cost.usd is not None:
        bound = "at most " if report.cost.at_most else ""
        out.append(f"{bound}{usd(report.cost.usd)}{' so far' if job.is_running else ''}")
    return [part for part in out if part != DASH]


#: Of 10 jobs, whose time to finish lies in the range (``benchmarks/time_to_finish.py``, on simulated jobs).
HOLDS = 8


def outlook(report: Report, where: tzinfo = UTC) -> list[str]:
    """Up to two clauses, in the time zone ``where``; none of a finished job, or of which nothing can be said.

    ``about 9 h and $7,100 to finish (8 to 11 h; range for 8 of 10 jobs, tested on simulated ones)``,
    ``24 min of work not yet in a checkpoint ($310): 720 steps since the checkpoint of …``.
    """
    if not report.job.is_running:
        return []
    band = report.steps.seconds_to_finish if report.steps else None
    out = []
    if band is not None:
        cost = usd_to_finish(report)
        bound = "at most " if report.cost.at_most else ""
        money = "" if cost is None else f" and {bound}{usd(cost)}"
        stalled = bool(report.phases) and report.phases[-1].name == "stall"
        condition = ", if it resumed now" if stalled else ""
        span = _span(band[0], band[2])
        promise = f"; range for {HOLDS} of 10 jobs, tested on simulated ones" if " to " in span else ""
        out.append(f"about {_rough(band[1])}{money} to finish ({span}{promise}){condition}")
    if report.at_risk is not None:
        out.append(_risk(report.at_risk, where))
    return out


def usd_to_finish(report: Report) -> float | None:
    """What the job will cost from now to its last step, at the middle of the band; None without a band or a price."""
    price, instances = report.cost.price_usd_per_instance_hour, report.job.instance_count
    if report.steps is None or report.steps.seconds_to_finish is None or price is None or not instances:
        return None
    return report.steps.seconds_to_finish[1] * price * instances / 3600


def _rough(seconds: float) -> str:
    """In digits that an estimate has: whole hours from ten on, ten minutes from one hour on, minutes from ten on."""
    unit = 3600 if seconds >= 36_000 else 600 if seconds >= 3600 else 60 if seconds >= 600 else 1
    return duration(unit * round(seconds / unit))


def _span(low: float, high: float) -> str:
    """``8 to 11 h``, ``50 min to 1 h 10 min``; one figure where both are the same."""
    a, b = _rough(low), _rough(high)
    if a == b:
        return a
    same = a.count(" ") == b.count(" ") == 1 and a.split()[1] == b.split()[1]
    return f"{a.split()[0] if same else a} to {b}"


def _risk(found: AtRisk, where: tzinfo) -> str:
    cost = "" if found.usd is None else f" ({usd(found.usd)})"
    since = f"since the checkpoint of {instant(found.checkpoint_at, where)}"
    if found.checkpoint_step is not None:
        since += f", step {found.checkpoint_step:,}"
    steps = "" if found.steps is None else f"{count(found.steps, 'step')} "
    return f"{duration(found.seconds)} of work not yet in a checkpoint{cost}: {steps}{since}"
