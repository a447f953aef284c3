"""A report as the machine-readable document that ``report --format json`` prints. The form is a contract with users."""

from __future__ import annotations

import json
import re
from typing import Any

from monitor.diagnose.verdict import method_words
from monitor.diagnose.words.report import hidden_words
from monitor.diagnose.words.step_readings import corrections
from monitor.model import (
    ApiBill,
    Bucket,
    Cost,
    Distribution,
    Evidence,
    Finding,
    GpuStats,
    Job,
    JobSummary,
    NodeStats,
    Parameter,
    Phase,
    Prediction,
    ProfilerCoverage,
    Recommendation,
    Report,
    StepReading,
    StepSpread,
    StepStats,
)
from monitor.model.document import Forms, document
from monitor.model.job import InstanceGroup
from monitor.model.run import ReadLine
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
    steps = document(report.steps, _FORMS)
    whole: dict[str, Any] = json_types(
        {
            "schema": SCHEMA,
            "job": job_document(run.job),
            "nodes": report.nodes,
            "steps": steps and {**steps, "readings": run.logs.readings},
            "phases": report.phases,
            "buckets": report.buckets,
            "findings": [finding_document(finding) for finding in report.findings],
            "cost": report.cost,
            "goodput": report.goodput,
            "mfu_pct": None if report.mfu is None else report.mfu.mfu_pct,
            "coverage": {
                "metrics_period_s": run.metrics_period_s,
                "log_events": run.logs.lines,
                "streams": run.logs.streams,
                "profiler": run.profiler,
                "warnings": _warnings(report),
            },
            "api": report.api,
        }
    )
    return whole


def _warnings(report: Report) -> list[str]:
    """What is missing, and what no other field has room for."""
    said = [gap.sentence for gap in report.gaps]
    said += corrections(report.run.logs.readings)
    if retained_s := report.job.warm_pool_billable_seconds:
        said.append(warm_pool(retained_s, report.cost.retained_usd))
    if masked := hidden_words(report.job):
        said.append(masked)
    return said


def jobs_document(jobs: tuple[JobSummary, ...]) -> dict[str, Any]:
    """The list of jobs, newest first."""
    return {"schema": SCHEMA, "jobs": json_types(jobs)}


def job_document(job: Job) -> dict[str, Any]:
    gpus = {node.gpus for node in job.nodes}
    found: dict[str, Any] = document(job, _FORMS)
    found["gpus_per_node"] = gpus.pop() if len(gpus) == 1 else None
    found["configuration"] = json_types(resolved(job))
    return found


def finding_document(finding: Finding) -> dict[str, Any]:
    """A finding, as every command prints it."""
    found: dict[str, Any] = document(finding, _FORMS)
    if finding.prediction is not None:
        found["prediction"]["method"] = method_words(finding.prediction)
    return found


# Names and their order are the contract. Overhead is also under the name that it had: who reads that goes on to find it.
_FORMS: Forms = {
    JobSummary: "name status instance_type instance_count created ended",
    Job: "name status secondary_status instance_type instance_count instance_groups gpus_per_node=instance_count launcher "
    "smp_version configuration created started ended training_seconds billable_seconds failure_reason",
    InstanceGroup: "name instance_type? instance_count=count",
    Parameter: "value read_from",
    NodeStats: "node=node.name instance_type=node.instance_type gpu_utilization gpu_memory_utilization cpu_utilization "
    "memory_utilization disk_utilization steps gpus",
    GpuStats: "gpu samples gpu_utilization=utilization gpu_memory_utilization=memory gpu_memory_max_pct=memory_max_pct",
    Distribution: "mean p5 p50 p95",
    StepSpread: "count median_s p10_s p90_s",
    StepStats: "count distinct first_step_s median_s p10_s p90_s nodes_observed formats done total seconds_to_finish",
    StepReading: "format reports kind printed_s clock_s resolution_s corrected_for=cause? factor shape? lines",
    ReadLine: "stream line text",
    Phase: "name from=start to=end seconds billed",
    Bucket: "name seconds instance_seconds cost_usd",
    Finding: "id severity confidence summary evidence recommendation prediction not_checked",
    Evidence: "what=label value unit node from=start to=end line",
    Recommendation: "text=whole parameter from=from_value to=to_value source",
    Prediction: "step_time_change_percent gpu_memory_utilization method",
    Cost: "usd overhead_usd recoverable_usd recoverable_usd_per_hour wasted_usd=overhead_usd price_usd_per_instance_hour "
    "price_source",
    ProfilerCoverage: "objects size_bytes usd skipped_lines read_from",
    ApiBill: "calls estimated_usd",
}


def json_types(value: Any) -> Any:
    """``value``, and what it holds, as it stands in documents: in JSON's own types."""
    return document(value, _FORMS)
