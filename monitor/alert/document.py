"""Verdicts as the machine-readable document that ``alert --format json`` prints. The form is a contract with users."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from monitor.alert.verdict import Firing, Verdict

SCHEMA = 1


def alert_document(job: str, verdicts: Sequence[Verdict], now: datetime) -> dict[str, Any]:
    """Plain JSON types; what is unknown is null, instants are ISO 8601 UTC."""
    return {
        "schema": SCHEMA,
        "evaluated_at": iso(now),
        "job": job,
        "rules": [_verdict(verdict) for verdict in verdicts],
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    rule = verdict.rule
    return {
        "name": rule.name,
        "when": rule.text,
        "state": verdict.state,
        "severity": rule.severity,
        "node": verdict.node,
        "since": iso(verdict.since),
        "value": plain(verdict.value),
        "unit": verdict.unit,
        "limit": plain(verdict.limit),
        "firing": [_firing(one) for one in verdict.firing],
        "came_by": verdict.came_by or None,
        "why": verdict.why or verdict.summary or None,
    }


def _firing(one: Firing) -> dict[str, Any]:
    return {
        "node": one.node,
        "since": iso(one.since),
        "until": iso(one.until),
        "value": plain(one.value),
        "limit": plain(one.limit),
        "finding": one.finding or None,
    }


def iso(at: datetime | None) -> str | None:
    """``2026-09-25T14:05:00Z``."""
    return None if at is None else at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def plain(value: float | None) -> float | None:
    """A number that JSON has, without the dust of floating point."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.9g}")
