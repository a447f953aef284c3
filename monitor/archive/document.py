"""A report as the machine-readable document that ``report --format json`` prints. The form is a contract with users."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from monitor.diagnose.quoted import hidden_words
from monitor.diagnose.verdict import method_words
from monitor.diagnose.words.step_readings import corrections
from monitor.model import (
    Bucket,
    Distribution,
    Evidence,
    Finding,
    GpuStats,
    Job,
    JobSummary,
    NodeStats,
    Phase,
    ProfilerCoverage,
    Report,
    StepReading,
    StepSpread,
    StepStats,
)
from monitor.predict.setup import resolved
from monitor.words import warm_pool

SCHEMA = 1
_NOT_ASCII = re.compile(r"[^\n -~]+")
_HALF = re.compile("[\ud800-\udfff]")


def as_json(document: Any) -> str:
    """The document, indented, in ASCII with a newline at its end."""
    return _in_ascii(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)) + "\n"


def as_line(document: Any) -> str:
    """The document on a line of its own, in ASCII."""
    return _in_ascii(json.dumps(document, ensure_ascii=False, allow_nan=False))


def _in_ascii(text: str) -> str:
    """JSON escapes all else: it is the same on any terminal and in any encoding. Half a character is none."""
    return _NOT_ASCII.sub(lambda found: json.dumps(_HALF.sub("\ufffd", found[0]))[1:-1], text)


def without_trailing_spaces(text: str) -> str:
    """The text, line by line, as it is written to a terminal or a file."""
    return "".join(f"{line.rstrip(' ')}\n" for line in text.split("\n")[:-1])


def report_document(report: Report) -> dict[str, Any]:
    """The report: plain JSON types; unknown is null, instants are ISO 8601 UTC, seconds and USD are numbers."""
    run = report.run
    document: dict[str, Any] = plain(
        {
            "schema": SCHEMA,
            "job": job_document(run.job),
            "nodes": [_node(stats) for stats in report.nodes],
            "steps": _steps(report.steps, run.logs.readings),
            "phases": [_phase(phase) for phase in report.phases],
            "buckets": [_bucket(bucket) for bucket in report.buckets],
            "findings": [finding_document(finding) for finding in report.findings],
            "cost": {
                "usd": report.cost.usd,
                "overhead_usd": report.cost.overhead_usd,
                "recoverable_usd": report.cost.recoverable_usd,
                "recoverable_usd_per_hour": report.cost.recoverable_usd_per_hour,
                # The name that overhead had; who reads it goes on to find it.
                "wasted_usd": report.cost.overhead_usd,
                "price_usd_per_instance_hour": report.cost.price_usd_per_instance_hour,
                "price_source": report.cost.price_source,
            },
            "goodput": report.goodput,
            "mfu_pct": None if report.mfu is None else report.mfu.mfu_pct,
            "coverage": {
                "metrics_period_s": run.metrics_period_s,
                "log_events": run.logs.lines,
                "streams": run.logs.streams,
                "profiler": _profiler(run.profiler),
                "warnings": _warnings(report),
            },
            "api": {"calls": dict(report.api.calls), "estimated_usd": report.api.estimated_usd},
        }
    )
    return document


def _profiler(read: ProfilerCoverage | None) -> dict[str, Any] | None:
    if read is None:
        return None
    return {
        "objects": read.objects,
        "size_bytes": read.size_bytes,
        "usd": read.usd,
        "skipped_lines": read.skipped_lines,
        "read_from": read.read_from,
    }


def _warnings(report: Report) -> list[str]:
    """What is missing, and what no other field has room for."""
    said = [" ".join(part for part in (gap.why, gap.remedy) if part) for gap in report.gaps]
    said += corrections(report.run.logs.readings)
    if retained_s := report.job.warm_pool_billable_seconds:
        said.append(warm_pool(retained_s, report.cost.retained_usd))
    if masked := hidden_words(report.job):
        said.append(masked)
    return said


def jobs_document(jobs: tuple[JobSummary, ...]) -> dict[str, Any]:
    """The list of jobs, newest first."""
    document: dict[str, Any] = plain(
        {
            "schema": SCHEMA,
            "jobs": [
                {
                    "name": job.name,
                    "status": job.status,
                    "instance_type": job.instance_type,
                    "instance_count": job.instance_count,
                    "created": job.created,
                    "ended": job.ended,
                }
                for job in jobs
            ],
        }
    )
    return document


def job_document(job: Job) -> dict[str, Any]:
    gpus = {node.gpus for node in job.nodes}
    return {
        "name": job.name,
        "status": job.status,
        "secondary_status": job.secondary_status,
        "instance_type": job.instance_type,
        "instance_count": job.instance_count,
        "instance_groups": [
            {"name": group.name, "instance_type": group.instance_type or None, "instance_count": group.count}
            for group in job.instance_groups
        ],
        "gpus_per_node": gpus.pop() if len(gpus) == 1 else None,
        "launcher": job.launcher,
        "smp_version": job.smp_version,
        "configuration": {
            name: {"value": parameter.value, "read_from": parameter.read_from}
            for name, parameter in resolved(job).items()
        },
        "created": job.created,
        "started": job.started,
        "ended": job.ended,
        "training_seconds": job.training_seconds,
        "billable_seconds": job.billable_seconds,
        "failure_reason": job.failure_reason,
    }


def _node(stats: NodeStats) -> dict[str, Any]:
    return {
        "node": stats.node.name,
        "instance_type": stats.node.instance_type,
        "gpu_utilization": _distribution(stats.gpu_utilization),
        "gpu_memory_utilization": _distribution(stats.gpu_memory_utilization),
        "cpu_utilization": _distribution(stats.cpu_utilization),
        "memory_utilization": _distribution(stats.memory_utilization),
        "disk_utilization": _distribution(stats.disk_utilization),
        "steps": _spread(stats.steps),
        "gpus": [_gpu(gpu) for gpu in stats.gpus],
    }


def _gpu(stats: GpuStats) -> dict[str, Any]:
    return {
        "gpu": stats.gpu,
        "samples": stats.samples,
        "gpu_utilization": _distribution(stats.utilization),
        "gpu_memory_utilization": _distribution(stats.memory),
        "gpu_memory_max_pct": stats.memory_max_pct,
    }


def _distribution(found: Distribution | None) -> dict[str, float] | None:
    return None if found is None else {"mean": found.mean, "p5": found.p5, "p50": found.p50, "p95": found.p95}


def _spread(found: StepSpread | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {"count": found.count, "median_s": found.median_s, "p10_s": found.p10_s, "p90_s": found.p90_s}


def _steps(found: StepStats | None, readings: tuple[StepReading, ...]) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "count": found.count,
        "distinct": found.distinct,
        "first_step_s": found.first_step_s,
        "median_s": found.median_s,
        "p10_s": found.p10_s,
        "p90_s": found.p90_s,
        "nodes_observed": found.nodes_observed,
        "formats": list(found.formats),
        "done": found.done,
        "total": found.total,
        "seconds_to_finish": None if found.seconds_to_finish is None else list(found.seconds_to_finish),
        "readings": [_reading(reading) for reading in readings],
    }


def _reading(reading: StepReading) -> dict[str, Any]:
    return {
        "format": reading.format,
        "reports": reading.reports,
        "kind": reading.kind,
        "printed_s": reading.printed_s,
        "clock_s": reading.clock_s,
        "resolution_s": reading.resolution_s,
        "corrected_for": reading.cause or None,
        "factor": reading.factor,
        "shape": reading.shape or None,
        "lines": [{"stream": line.stream, "line": line.line, "text": line.text} for line in reading.lines],
    }


def _phase(phase: Phase) -> dict[str, Any]:
    return {
        "name": phase.name,
        "from": phase.start,
        "to": phase.end,
        "seconds": phase.seconds,
        "billed": phase.billed,
    }


def _bucket(bucket: Bucket) -> dict[str, Any]:
    return {
        "name": bucket.name,
        "seconds": bucket.seconds,
        "instance_seconds": bucket.instance_seconds,
        "cost_usd": bucket.cost_usd,
    }


def finding_document(finding: Finding) -> dict[str, Any]:
    """A finding, as every command prints it."""
    advice, prediction = finding.recommendation, finding.prediction
    return {
        "id": finding.id,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "summary": finding.summary,
        "evidence": [_evidence(evidence) for evidence in finding.evidence],
        "recommendation": None
        if advice is None
        else {
            "text": advice.whole,
            "parameter": advice.parameter,
            "from": advice.from_value,
            "to": advice.to_value,
            "source": advice.source,
        },
        "prediction": None
        if prediction is None
        else {
            "step_time_change_percent": list(prediction.step_time_change_percent),
            "gpu_memory_utilization": None
            if prediction.gpu_memory_utilization is None
            else list(prediction.gpu_memory_utilization),
            "method": method_words(prediction),
        },
        "not_checked": list(finding.not_checked),
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    return {
        "what": evidence.label,
        "value": evidence.value,
        "unit": evidence.unit,
        "node": evidence.node,
        "from": evidence.start,
        "to": evidence.end,
        "line": evidence.line,
    }


def plain(value: Any) -> Any:
    """``value`` in JSON's own types: instants as text, NaN and infinities as null (JSON has neither)."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value
