"""A plan as the machine-readable document that ``plan --format json`` prints. The form is a contract with users."""

from __future__ import annotations

from typing import Any

from monitor.archive.document import SCHEMA, finding_document, plain
from monitor.predict.setup import Setup
from monitor.review.planning import Plan


def plan_document(plan: Plan) -> dict[str, Any]:
    """The plan: plain JSON types, unknown is null. Without a change what is said of one is that of the start."""
    document: dict[str, Any] = plain(
        {
            "schema": SCHEMA,
            "start": {
                name: known.value
                for name, known in sorted(plan.start.values.items())
                if known.value is not None and not _is_assumed(plan.start, name)
            },
            "change": dict(plan.changes),
            "prediction": _prediction(plan),
            "curve": [
                {
                    "parameter": point.parameter,
                    "value": point.value,
                    "step_time_relative": point.step_time_relative,
                    "gpu_memory_gib": point.gpu_memory_gib,
                }
                for point in plan.curve
            ],
            "problems": [finding_document(finding) for finding in plan.problems],
            "distribution": dict(plan.distribution),
        }
    )
    return document


def _is_assumed(start: Setup, name: str) -> bool:
    """A plan that does not name its precision means half precision, whatever its library takes by default."""
    return name == "precision" and start.values[name].is_default and not start.is_job


def _prediction(plan: Plan) -> dict[str, Any]:
    found, change = plan.outcome, plan.step_time_change_pct
    before, after = found.bubble_start, found.bubble_change
    return {
        "step_time_change_percent": None if change is None else list(change),
        "bubble_fraction": None if before is None and after is None else {"start": before, "change": after},
        "gpu_memory_gib": _memory(plan),
        "fits": found.memory.fits,
        "method": plan.method,
        "basis": found.basis,
    }


def _memory(plan: Plan) -> dict[str, Any] | None:
    memory = plan.outcome.memory
    if memory.start_gib is None and memory.expected_gib is None and not memory.limit_gib and not memory.components:
        return None
    return {
        "start": memory.start_gib,
        "change": memory.expected_gib,
        "limit": memory.limit_gib,
        "components": dict(memory.components),
    }
