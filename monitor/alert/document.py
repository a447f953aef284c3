"""Verdicts and backtests as the machine-readable documents of ``alert --format json``. Their form is a contract with users."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from monitor.alert.evaluate import Crossing, Verdict
from monitor.alert.history import Backtested, BacktestedJob, Said
from monitor.model.document import Forms, document

SCHEMA = 1


def alert_document(job: str, verdicts: Sequence[Verdict], now: datetime) -> dict[str, Any]:
    """Plain JSON types; what is unknown is null, instants are ISO 8601 UTC."""
    return {
        "schema": SCHEMA,
        "evaluated_at": iso(now),
        "job": job,
        "rules": _document(verdicts),
    }


def iso(at: datetime | None) -> str | None:
    """``2026-09-25T14:05:00Z``."""
    return None if at is None else at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def plain(value: float | None) -> float | None:
    """A number that JSON has, without the dust of floating point."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.9g}")


def backtest_document(jobs: Sequence[BacktestedJob]) -> dict[str, Any]:
    """Plain JSON types."""
    rules = len(jobs[0].rules) if jobs else 0
    return {
        "schema": SCHEMA,
        "evaluated_at": iso(max((job.judged_until for job in jobs), default=None)),
        "rules": [_rule([job.rules[place] for job in jobs]) for place in range(rules)],
        "jobs": _document(jobs),
    }


def _rule(over: Sequence[Backtested]) -> dict[str, Any]:
    """One rule over all jobs: firing where it would have fired in any; no data where no job had any."""
    firing = [tested for tested in over if tested.state == "firing"]
    worst = firing[0] if firing else next((tested for tested in over if tested.state == "ok"), over[0])
    first = worst.said[0] if worst.said else None
    return {
        "name": worst.rule.name,
        "when": worst.rule.text,
        "state": worst.state,
        "severity": worst.rule.severity,
        "node": first.episode.node if first else None,
        "since": iso(first.episode.since) if first else None,
        "value": plain(first.episode.value) if first else None,
        "unit": first.episode.unit if first else "",
        "jobs_firing": len(firing),
        "alerts": sum(len(tested.said) for tested in over),
    }


_FORMS: Forms = {
    Verdict: "name=rule.name when=rule.text state severity=rule.severity node since value unit limit firing came_by? "
    "why=reason?",
    Crossing: "node since until value limit finding?",
    BacktestedJob: "name=job status started ended usd rules",
    Backtested: "name=rule.name state came_by? why? alerts=said",
    Said: "at since=episode.since resolved=episode.until node=episode.node finding=episode.finding? value=episode.value "
    "limit=episode.limit unit=episode.unit seconds_before_end usd_after wasted_usd_after",
}


def _document(value: Any) -> Any:
    return document(value, _FORMS, lambda leaf: iso(leaf) if isinstance(leaf, datetime) else _rounded(leaf))


def _rounded(leaf: Any) -> Any:
    return plain(leaf) if isinstance(leaf, float) else leaf
