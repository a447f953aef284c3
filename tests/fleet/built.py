"""Jobs of a fleet, built by hand: rows and reports as an archive has them, and the facts made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from monitor.fleet.facts import JobFacts, facts_of

MONDAY = datetime(2026, 11, 16, tzinfo=UTC)

Piece = tuple[str, float, bool]
"""(bucket, seconds, billed)"""


def document_of(start: datetime, pieces: Sequence[Piece]) -> dict[str, Any]:
    phases, at = [], start
    for name, seconds, billed in pieces:
        end = at + timedelta(seconds=seconds)
        phases.append(
            {"name": name, "from": at.isoformat(), "to": end.isoformat(), "seconds": seconds, "billed": billed}
        )
        at = end
    return {"phases": phases}


def row_of(name: str, start: datetime, pieces: Sequence[Piece], **more: Any) -> dict[str, Any]:
    instances = more.get("instance_count", 1)
    billed_s = sum(seconds for _, seconds, billed in pieces if billed) * instances
    end = start + timedelta(seconds=sum(seconds for _, seconds, _ in pieces))
    row: dict[str, Any] = {
        "job_name": name,
        "arn": f"arn:aws:sagemaker:us-east-1:111122223333:training-job/{name}",
        "account": "111122223333",
        "status": "Completed",
        "created": start.isoformat(),
        "started": start.isoformat(),
        "ended": end.isoformat(),
        "reviewed_at": end.isoformat(),
        "instance_type": "ml.p4d.24xlarge",
        "instance_count": instances,
        "gpu_count": 8 * instances,
        "spot": False,
        "price_usd_per_instance_hour": 36.0,
        "cost_usd": billed_s * 36.0 / 3600,
        "billed_instance_s": billed_s,
        "recoverable_instance_s": None,
        "step_reports": 100,
        "step_median_s": 1.0,
        "step_p10_s": 0.95,
        "step_p90_s": 1.05,
        "configuration": "{}",
        "tags": None,
    }
    return row | more


def facts(
    name: str,
    pieces: Sequence[Piece],
    start: datetime = MONDAY,
    findings: Sequence[Mapping[str, Any]] = (),
    saved_at: datetime | None = None,
    base: str = "",
    **more: Any,
) -> JobFacts:
    row, document = row_of(name, start, pieces, **more), document_of(start, pieces)
    return facts_of(f"runs/{name}", "1", base or name, row, document, findings, saved_at)
