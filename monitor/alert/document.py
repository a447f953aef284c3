"""Verdicts and backtests as the machine-readable documents of ``alert --format json``. Their form is a contract with users."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from monitor.alert.backtest import Backtested, BacktestedJob, Said
from monitor.alert.evaluate import Firing, Verdict

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


def backtest_document(jobs: Sequence[BacktestedJob]) -> dict[str, Any]:
    """Plain JSON types."""
    rules = len(jobs[0].rules) if jobs else 0
    return {
        "schema": SCHEMA,
        "evaluated_at": iso(max((job.judged_until for job in jobs), default=None)),
        "rules": [_rule([job.rules[place] for job in jobs]) for place in range(rules)],
        "jobs": [_job(job) for job in jobs],
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


def _job(job: BacktestedJob) -> dict[str, Any]:
    return {
        "name": job.job,
        "status": job.status,
        "started": iso(job.started),
        "ended": iso(job.ended),
        "usd": plain(job.usd),
        "rules": [
            {
                "name": tested.rule.name,
                "state": tested.state,
                "came_by": tested.came_by or None,
                "why": tested.why or None,
                "alerts": [_said(said) for said in tested.said],
            }
            for tested in job.rules
        ],
    }


def _said(said: Said) -> dict[str, Any]:
    episode = said.episode
    return {
        "at": iso(said.at),
        "since": iso(episode.since),
        "resolved": iso(episode.cleared),
        "node": episode.node,
        "finding": episode.finding or None,
        "value": plain(episode.value),
        "limit": plain(episode.limit),
        "unit": episode.unit,
        "seconds_before_end": plain(said.seconds_before_end),
        "usd_after": plain(said.usd_after),
        "wasted_usd_after": plain(said.wasted_usd_after),
    }
