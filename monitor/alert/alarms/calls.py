"""How do a job's alarms get into CloudWatch, and out of it again? And their document, which ``alarms --format json`` prints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from monitor.alert.alarms.alarm import Alarm, AlarmPlan, prefix_of
from monitor.alert.document import SCHEMA
from monitor.aws.calls import Pagination
from monitor.errors import CannotDo, Throttled

if TYPE_CHECKING:
    from monitor.aws.clients import Clients

# DeleteAlarms takes and DescribeAlarms gives as many at once.
_AT_ONCE = 100
# PutMetricAlarm's own code, which means the quota and not the pace.
_QUOTA = "PutMetricAlarm, LimitExceeded)"
JOB_TAG = "trainwatch:job"


@dataclass(frozen=True, slots=True)
class Created:
    """What ``create`` did, by names."""

    created: tuple[str, ...]
    changed: tuple[str, ...]
    unchanged: tuple[str, ...]
    removed: tuple[str, ...]
    """Alarms of this job that no rule asks for any more."""


def create(
    clients: Clients, job: str, alarms: Sequence[Alarm], say: Callable[[str], None] = lambda text: None
) -> Created:
    """Makes the job's alarms those of the plan; what is there already stays as it is. Errors of ``monitor.errors``.

    New ones come before old ones go. Called again after a failure, it goes on where it stopped.
    """
    there = {str(row["AlarmName"]): row for row in _existing(clients, job)}
    wanted = {alarm.name: alarm for alarm in alarms}
    unchanged = tuple(name for name, alarm in wanted.items() if name in there and _same(alarm, there[name]))
    written = [alarm for name, alarm in wanted.items() if name not in unchanged]
    for place, alarm in enumerate(written):
        # AWS takes three a second: many nodes are a minute.
        say(f"writing alarm {place + 1} of {len(written)}")
        _put(clients, job, alarm, is_new=alarm.name not in there)
    removed = tuple(name for name in there if name not in wanted)
    _delete(clients, removed)
    return Created(
        tuple(name for name in wanted if name not in there),
        tuple(name for name in wanted if name in there and name not in unchanged),
        unchanged,
        removed,
    )


def delete(clients: Clients, job: str) -> tuple[str, ...]:
    """Removes all alarms of the job, which may be gone itself; their names."""
    names = tuple(str(row["AlarmName"]) for row in _existing(clients, job))
    _delete(clients, names)
    return names


def parameters(alarm: Alarm) -> dict[str, Any]:
    """What PutMetricAlarm is told of one alarm, but for its tags."""
    return {
        "AlarmName": alarm.name,
        "AlarmDescription": alarm.description,
        "ActionsEnabled": True,
        "AlarmActions": list(alarm.actions),
        "OKActions": list(alarm.actions),
        "ComparisonOperator": alarm.comparison,
        "Threshold": alarm.threshold,
        "EvaluationPeriods": alarm.periods,
        "DatapointsToAlarm": alarm.periods,
        "TreatMissingData": alarm.missing,
        **_looked_at(alarm),
    }


def _looked_at(alarm: Alarm) -> dict[str, Any]:
    stats = [
        {
            "Metric": {
                "Namespace": series.namespace,
                "MetricName": series.metric,
                "Dimensions": [{"Name": name, "Value": value} for name, value in series.dimensions],
            },
            "Period": series.period_s,
            "Stat": series.statistic,
        }
        for series in alarm.series
    ]
    if not alarm.expression:
        (stat,) = stats
        return {**stat["Metric"], "Period": stat["Period"], "Statistic": stat["Stat"]}  # type: ignore[dict-item]
    queries: list[dict[str, Any]] = [
        {"Id": f"m{place}", "MetricStat": stat, "ReturnData": False} for place, stat in enumerate(stats, 1)
    ]
    label = f"{alarm.series[0].metric} on {alarm.on}"
    return {"Metrics": [*queries, {"Id": "e1", "Expression": alarm.expression, "Label": label, "ReturnData": True}]}


def _same(alarm: Alarm, row: dict[str, Any]) -> bool:
    """Whether AWS has the alarm just so."""
    return all(_plain(row.get(key)) == _plain(value) for key, value in parameters(alarm).items())


def _plain(value: Any) -> Any:
    """Without what an answer leaves out, spells or orders in another way."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items() if each not in (None, [], "")}
    if isinstance(value, list):
        # Dimensions have no order; queries have, and their identifiers are in it.
        return sorted(map(_plain, value), key=str) or None
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _existing(clients: Clients, job: str) -> Iterator[dict[str, Any]]:
    token: str | None = None
    onward = Pagination("cloudwatch:DescribeAlarms")
    while True:
        more = {"NextToken": token} if token else {}
        answer = clients.call(
            "cloudwatch", "describe_alarms", AlarmNamePrefix=prefix_of(job), MaxRecords=_AT_ONCE, **more
        )
        rows = answer.get("MetricAlarms", ())
        yield from rows
        token = onward.after(answer.get("NextToken"), len(rows))
        if token is None:
            return


def _put(clients: Clients, job: str, alarm: Alarm, is_new: bool) -> None:
    # AWS ignores the tags of an alarm that is there.
    tags = {"Tags": [{"Key": JOB_TAG, "Value": job}, {"Key": "trainwatch:severity", "Value": alarm.severity}]}
    try:
        clients.call("cloudwatch", "put_metric_alarm", **parameters(alarm), **(tags if is_new else {}))
    except Throttled as error:
        if _QUOTA not in error.message:
            raise
        raise CannotDo(
            "The account has reached AWS's limit of alarms in this region.",
            "Delete some, or have the quota raised (5,000 by default); then run create again, which continues from here.",
        ) from error


def _delete(clients: Clients, names: Sequence[str]) -> None:
    for place in range(0, len(names), _AT_ONCE):
        clients.call("cloudwatch", "delete_alarms", AlarmNames=list(names[place : place + _AT_ONCE]))


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
