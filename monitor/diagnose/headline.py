"""What a job was, in a few words: the line above everything else."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, tzinfo

from monitor.model import Job, Report
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
