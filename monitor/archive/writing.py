"""Puts a reviewed job into an archive: its tables, its report, and last what makes them one archived job.

Every file has a fixed place and comes into it whole. Whoever is interrupted leaves no job that reads as whole, and to
begin again completes it; several writers of a job that is over write the same frames.

What is known about a job stands in rows: one for the job, one per finding, one per bucket of its time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from monitor.accounts import Account
from monitor.analyze.phases import USEFUL
from monitor.archive import layout
from monitor.archive import reading as manifests
from monitor.archive.cache import is_final, reader_version
from monitor.archive.document import report_document
from monitor.archive.layout import FRAMES, SCHEMA, TABLES, location_of
from monitor.archive.reading import ArchivedFile, Manifest
from monitor.archive.store import Store
from monitor.diagnose.stakes import bill_of
from monitor.diagnose.verdict import judge, mean_of
from monitor.diagnose.words.step_readings import came_by
from monitor.masking import masked
from monitor.model import ENDED_STATUSES, Report
from monitor.model.job import account_of
from monitor.settings import Settings


@dataclass(frozen=True, slots=True)
class Labels:
    """None where nobody could tell."""

    tags: Mapping[str, str] | None = None
    account_name: str | None = None
    """As the settings file calls its account."""
    team: str | None = None
    """By the job's tags or its account, as of when it was archived."""
    project: str | None = None

    def or_else(self, known: Labels) -> Labels:
        """What is not told here as it was known before."""
        return Labels(
            known.tags if self.tags is None else self.tags,
            self.account_name or known.account_name,
            self.team or known.team,
            self.project or known.project,
        )


def labels_of(tags: Mapping[str, str] | None, account: Account | None, settings: Settings) -> Labels:
    """``tags`` come out masked, like a job's parameters."""
    told = None if tags is None else {name: str(masked(name, value)) for name, value in tags.items()}

    team, project = (told or {}).get(settings.team_tag), (told or {}).get(settings.project_tag)
    if account is None:
        return Labels(told, None, team or None, project or None)
    return Labels(
        told,
        account.name,
        team or account.tag(settings.team_tag) or account.team,
        project or account.tag(settings.project_tag) or account.project,
    )


def archived_labels(row: Mapping[str, Any]) -> Labels:
    """Those of a job's row in the archive."""
    told = row.get("tags")
    return Labels(
        json.loads(told) if isinstance(told, str) else None,
        *(row.get(name) for name in ("account_name", "team", "project")),
    )


def write(
    store: Store,
    report: Report,
    masked: tuple[str, ...] = (),
    reader: str | None = None,
    beginnings: Mapping[str, str] = MappingProxyType({}),
    labels: Labels = Labels(),
) -> Manifest:
    """Archives a report. ``masked`` are the parameters whose values were masked when the job was read.

    ``reader`` is the version of the reader that made the frames, if it is not this one; ``beginnings`` are those of log
    files. CannotDo, or another error of the store, where it cannot be written.
    """
    run, place = report.run, location_of(report.job)
    final = is_settled(report)
    document = report_document(report)
    row = job_row(report, document, final, labels)
    tables = {name: layout.from_frame(getattr(run, name), TABLES[name], run.job.name) for name in FRAMES} | {
        "findings": layout.from_rows(finding_rows(report, document), TABLES["findings"]),
        "buckets": layout.from_rows(billed_buckets(report), TABLES["buckets"]),
    }
    files = {name: (place.table(name), data) for name, data in tables.items()}
    files["report"] = (place.report, json.dumps(document, indent=1, ensure_ascii=False).encode())
    # Engines see no manifest; to them a job is there when its row is.
    files["jobs"] = (place.table("jobs"), layout.from_rows([row], TABLES["jobs"]))
    manifest = Manifest(
        job=run.job,
        reviewed_at=report.reviewed_at,
        is_final=final,
        reader=reader_version() if reader is None else reader,
        gaps=run.gaps,
        metrics_period_s=run.metrics_period_s,
        logs=run.logs,
        profiler=run.profiler,
        price=report.price,
        masked=masked,
        parts={name: ArchivedFile.of(path, data) for name, (path, data) in files.items()},
        row=row,
        beginnings=beginnings,
    )
    for path, data in files.values():
        store.write(path, data)
    store.write(place.run, manifests.to_bytes(manifest))
    return manifest


def is_settled(report: Report) -> bool:
    """Whether a later review would read the same of the job. An unknown price alone does not keep it open."""
    gaps = tuple(gap for gap in report.run.gaps if gap.what != "price")
    over = report.job.status in ENDED_STATUSES - {"Deleting"}
    return over and is_final(replace(report.run, gaps=gaps), report.reviewed_at)


Row = dict[str, Any]


def job_row(report: Report, document: Mapping[str, Any], is_final: bool, labels: Labels = Labels()) -> Row:
    """The row of ``columns.JOBS``: what a fleet is searched and ranked by. ``document`` is that of the report."""
    job, cost, steps, run = report.job, report.cost, report.steps, report.run
    top = report.warnings[0] if report.warnings else None
    types = dict.fromkeys(group.instance_type for group in job.instance_groups if group.instance_type)
    gpus = [node.gpus for node in job.nodes]
    shares = billed_buckets(report)
    seen = any(row["name"] in USEFUL for row in shares)
    billed_s = sum(row["billed_instance_s"] for row in shares) if shares else None
    overhead_s = sum(row["billed_instance_s"] for row in shares if row["is_waste"]) if seen else None
    severities = [finding.severity for finding in report.findings]
    return {
        "schema_version": SCHEMA,
        "job_name": job.name,
        "arn": job.arn or None,
        "account": account_of(job.arn),
        "status": job.status,
        "secondary_status": job.secondary_status,
        "failure_reason": job.failure_reason,
        "created": job.created,
        "started": job.started,
        "ended": job.ended,
        "reviewed_at": report.reviewed_at,
        "is_final": is_final,
        "instance_type": " + ".join(types) or None,
        "instance_count": job.instance_count,
        "gpu_count": sum(gpus) if gpus and None not in gpus else None,
        "spot": job.spot,
        "launcher": job.launcher,
        "smp_version": job.smp_version,
        "log_formats": ", ".join(steps.formats) if steps else None,
        "configuration": _json(
            {name: parameter["value"] for name, parameter in document["job"]["configuration"].items()}
        ),
        "training_seconds": job.training_seconds,
        "billable_seconds": job.billable_seconds,
        "price_usd_per_instance_hour": cost.price_usd_per_instance_hour,
        "price_source": cost.price_source,
        "cost_usd": cost.usd,
        "overhead_usd": cost.overhead_usd,
        "recoverable_usd": cost.recoverable_usd,
        "recoverable_usd_per_hour": cost.recoverable_usd_per_hour,
        "wasted_usd": cost.overhead_usd,
        "billed_instance_s": billed_s,
        "recoverable_instance_s": _recoverable_s(report, billed_s),
        "wasted_instance_s": overhead_s,
        "goodput": report.goodput,
        "mfu_pct": None if report.mfu is None else report.mfu.mfu_pct,
        "gpu_utilization_pct": mean_of(report, "gpu_utilization"),
        "gpu_memory_utilization_pct": mean_of(report, "gpu_memory_utilization"),
        "step_reports": steps.count if steps else None,
        "step_median_s": steps.median_s if steps else None,
        "step_p10_s": steps.p10_s if steps else None,
        "step_p90_s": steps.p90_s if steps else None,
        "steps_done": steps.done if steps else None,
        "steps_total": steps.total if steps else None,
        "verdict": judge(report).headline,
        "critical_findings": severities.count("critical"),
        "warning_findings": severities.count("warning"),
        "top_finding": top.id if top else None,
        "top_finding_title": top.title if top else None,
        "log_lines": run.logs.lines,
        "metrics_period_s": run.metrics_period_s if len(run.metrics) else None,
        "profiler_objects": run.profiler.objects if run.profiler else None,
        "tags": None if labels.tags is None else _json(labels.tags),
        "account_name": labels.account_name,
        "team": labels.team,
        "project": labels.project,
        "step_time_came_by": (came_by(run.logs.readings) or None) if steps and steps.median_s is not None else None,
    }


def finding_rows(report: Report, document: Mapping[str, Any]) -> list[Row]:
    """The rows of ``columns.FINDINGS``, in the order of what to act on."""
    evidence = [finding["evidence"] for finding in document["findings"]]
    rows = []
    for place, (finding, facts) in enumerate(zip(report.findings, evidence, strict=True), start=1):
        advice, prediction = finding.recommendation, finding.prediction
        low, mid, high = prediction.step_time_change_percent if prediction else (None, None, None)
        rows.append(
            {
                "job_name": report.job.name,
                "position": place,
                "id": finding.id,
                "severity": finding.severity,
                "confidence": finding.confidence,
                "title": finding.title,
                "summary": finding.summary,
                "recommendation": advice.whole if advice else None,
                "parameter": advice.parameter if advice else None,
                "from_value": _text(advice.from_value) if advice else None,
                "to_value": _text(advice.to_value) if advice else None,
                "change_pct_low": low,
                "change_pct_mid": mid,
                "change_pct_high": high,
                "share": finding.share,
                "recoverable_usd": _product(finding.share, report.cost.usd),
                "evidence": _json(facts),
            }
        )
    return rows


def billed_buckets(report: Report) -> list[Row]:
    """The rows of ``columns.BUCKETS``: seconds of wall time, and which of them were billed on how many instances."""
    instances = report.job.instance_count or 1
    billed: dict[str, float] = {}
    for phase in report.phases:
        billed[phase.name] = billed.get(phase.name, 0.0) + (phase.seconds if phase.billed else 0.0)
    return [
        {
            "job_name": report.job.name,
            "name": bucket.name,
            "is_waste": bucket.name not in USEFUL,
            "seconds": bucket.seconds,
            "billed_seconds": billed.get(bucket.name, 0.0),
            "billed_instance_s": billed.get(bucket.name, 0.0) * instances,
            "cost_usd": bucket.cost_usd,
        }
        for bucket in report.buckets
    ]


def _recoverable_s(report: Report, billed_s: float | None) -> float | None:
    """What the findings say could be saved, price or not; None where it is not known."""
    savings = [saving for finding in report.findings for saving in finding.savings]
    if savings:
        return _product(bill_of(report.job, report.phases, report.cost, None).share(savings), billed_s)
    return 0.0 if report.cost.recoverable_usd == 0 else None


def _product(share: float | None, whole: float | None) -> float | None:
    return None if share is None or whole is None else share * whole


def _text(value: Any) -> str | None:
    return None if value is None else value if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    return json.dumps(dict(value) if isinstance(value, Mapping) else value, ensure_ascii=False, default=str)
