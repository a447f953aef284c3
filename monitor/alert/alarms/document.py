"""A job's alarms as the machine-readable document of ``alarms --format json``."""

from __future__ import annotations

from typing import Any

from monitor.alert.alarms.alarm import Alarm, AlarmPlan
from monitor.alert.alarms.calls import Created
from monitor.alert.document import SCHEMA


def alarms_document(plan: AlarmPlan, done: Created | None = None) -> dict[str, Any]:
    """Plain JSON types; with what ``create`` did, where it was called."""
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "job": plan.job,
        "alarms": [_alarm(alarm) for alarm in plan.alarms],
        "not_expressible": [{"rule": each.rule, "why": each.why} for each in plan.not_expressible],
        "usd_per_month": plan.usd_per_month,
        "price_source": "AWS's list price in us-east-1" if plan.usd_per_month is not None else None,
        "notes": list(plan.notes),
    }
    if done is not None:
        for key in ("created", "changed", "unchanged", "removed"):
            document[key] = list(getattr(done, key))
    return document


def deleted_document(job: str, names: tuple[str, ...]) -> dict[str, Any]:
    """After ``delete`` none is left."""
    return {
        "schema": SCHEMA,
        "job": job,
        "alarms": [],
        "not_expressible": [],
        "usd_per_month": 0.0,
        "deleted": list(names),
    }


def _alarm(alarm: Alarm) -> dict[str, Any]:
    return {
        "name": alarm.name,
        "rule": alarm.rule,
        "when": alarm.when,
        "severity": alarm.severity,
        "on": alarm.on,
        "metrics": [
            {
                "namespace": series.namespace,
                "metric": series.metric,
                "dimensions": dict(series.dimensions),
                "statistic": series.statistic,
                "period_s": series.period_s,
            }
            for series in alarm.series
        ],
        "expression": alarm.expression or None,
        "comparison": alarm.comparison,
        "threshold": alarm.threshold,
        "threshold_is": alarm.meaning or None,
        "period_s": alarm.period_s,
        "evaluation_periods": alarm.periods,
        "datapoints_to_alarm": alarm.periods,
        "treat_missing_data": alarm.missing,
        "treat_missing_data_because": alarm.why_missing,
        "actions": list(alarm.actions),
        "description": alarm.description,
        "usd_per_month": round(alarm.usd_per_month, 2),
    }
