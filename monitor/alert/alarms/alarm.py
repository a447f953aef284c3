"""CloudWatch alarms and the plan of all of a job's, as frozen values structured as PutMetricAlarm takes them; how they get
into CloudWatch, and out of it again; and the document that ``alarms --format json`` prints."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from monitor.alert.conditions import AlertRule, Threshold
from monitor.alert.message import SCHEMA
from monitor.aws.calls import Pagination
from monitor.choices import RuleSeverity
from monitor.errors import CannotDo, Throttled

if TYPE_CHECKING:
    from monitor.aws.clients import Clients

#: AWS's list price of a standard-resolution alarm in us-east-1; a math alarm costs as much for each metric in it.
USD_PER_METRIC_MONTH = 0.10
#: The most metrics that a math expression of an alarm may have.
MOST_METRICS = 10

Statistic = Literal["Average", "Minimum", "Maximum"]
Missing = Literal["notBreaching", "ignore"]


@dataclass(frozen=True, slots=True)
class Series:
    """One metric that an alarm looks at."""

    namespace: str
    metric: str
    dimensions: tuple[tuple[str, str], ...]
    statistic: Statistic
    period_s: int


@dataclass(frozen=True, slots=True)
class Alarm:
    """One metric alarm."""

    name: str
    rule: str
    when: str
    """The rule's condition as it was written."""
    severity: RuleSeverity
    on: str
    """The node, or "all", "mean", "job"; of a part of the nodes with their names behind it."""
    series: tuple[Series, ...]
    expression: str
    """Over m1, m2, …, the series in their order; empty where there is one alone."""
    comparison: str
    threshold: float
    """In the unit of the series: for GPUs and CPUs the sum over the host's devices."""
    meaning: str
    """Where the threshold is a sum: ``40 % x 8 GPUs``."""
    periods: int
    """All of so many periods in a row must cross the threshold."""
    missing: Missing
    why_missing: str
    actions: tuple[str, ...] = ()
    """Topics that are told when it fires and when it is over."""

    @property
    def period_s(self) -> int:
        return self.series[0].period_s

    @property
    def description(self) -> str:
        """For whoever finds the alarm in the console."""
        scaled = f" The threshold is {self.meaning}." if self.meaning else ""
        where = (
            ""
            if self.when.endswith(f"on {self.on}")
            else f", {'of the whole ' if self.on == 'job' else 'on '}{self.on}"
        )
        text = f"{self.severity.upper()} {self.rule}: {self.when}{where}.{scaled} Made by Trainwatch."
        return text if len(text) <= _LONGEST_DESCRIPTION else text[: _LONGEST_DESCRIPTION - 1] + "…"

    @property
    def usd_per_month(self) -> float:
        return USD_PER_METRIC_MONTH * len(self.series)


_LONGEST_DESCRIPTION = 1024


@dataclass(frozen=True, slots=True)
class NotExpressible:
    """A rule, or a part of it, that CloudWatch cannot keep."""

    rule: str
    why: str


@dataclass(frozen=True, slots=True)
class AlarmPlan:
    job: str
    alarms: tuple[Alarm, ...]
    not_expressible: tuple[NotExpressible, ...]
    notes: tuple[str, ...]
    """Where an alarm says less, or something else, than the rule; what has to run for it."""
    usd_per_month: float | None
    """Without the ten alarms a month that an account has free; None where AWS's price is not known."""


# CloudWatch's limit, and a job's name has 63 at most.
_LONGEST = 255
_UNFIT = re.compile(r"[\x00-\x1f\x7f/]+")


def prefix_of(job: str) -> str:
    """What the names of a job's alarms begin with. No job's name holds a slash, so no other job's begin so."""
    return f"trainwatch/{job}/"


def alarm_name(job: str, rule: str, on: str) -> str:
    """The name for one rule on one node, or on ``all``, ``mean`` or ``job``; the same at each call."""
    room = _LONGEST - len(prefix_of(job)) - len(on) - 1
    fit = _UNFIT.sub("-", rule)
    if fit != rule or len(fit) > room:
        # Two rules that differ only in what is lost here keep different names.
        mark = hashlib.sha256(rule.encode("utf-8")).hexdigest()[:8]
        fit = f"{fit[: room - len(mark) - 1]}-{mark}"
    return f"{prefix_of(job)}{fit}/{on}"


_COMPARISONS = {
    "<": "LessThanThreshold",
    "<=": "LessThanOrEqualToThreshold",
    ">": "GreaterThanThreshold",
    ">=": "GreaterThanOrEqualToThreshold",
}
# An alarm with periods of less than an hour looks back no further than a day.
_LONGEST_S = 86_400


@dataclass(frozen=True, slots=True)
class RuleAlarms:
    """The alarms of one rule, why some or all of it cannot be kept, and where they are not quite the rule."""

    alarms: tuple[Alarm, ...] = ()
    why_not: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def cannot(why: str) -> RuleAlarms:
    """Nothing of the rule can be kept."""
    return RuleAlarms(why_not=(why,))


def too_long(when: Threshold, period_s: int) -> str:
    """Why the alarm would look back too far; empty where it does not."""
    if period_s * periods_of(when, period_s) <= _LONGEST_S:
        return ""
    return "An alarm looks back one day at most."


def periods_of(when: Threshold, period_s: int) -> int:
    """How many periods in a row must cross the threshold: at least as long as the rule says."""
    seconds = None if when.lasting is None else when.lasting.seconds
    return 1 if seconds is None else max(1, math.ceil(seconds / period_s))


def parts(names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Nodes in as few parts of about equal size as the metrics of an expression allow."""
    count = math.ceil(len(names) / MOST_METRICS)
    size, larger = divmod(len(names), max(count, 1))
    out, start = [], 0
    for place in range(count):
        end = start + size + (place < larger)
        out.append(tuple(names[start:end]))
        start = end
    return tuple(out)


@dataclass(frozen=True, slots=True)
class AlarmTemplate:
    """What the alarms of one rule share."""

    job: str
    rule: AlertRule
    when: Threshold
    missing: Missing
    why_missing: str
    actions: tuple[str, ...]

    def alarm(
        self,
        on: str,
        series: tuple[Series, ...],
        threshold: float,
        meaning: str = "",
        expression: str = "",
    ) -> Alarm:
        """One of them."""
        return Alarm(
            name=alarm_name(self.job, self.rule.name, on),
            rule=self.rule.name,
            when=self.rule.text,
            severity=self.rule.severity,
            on=on,
            series=series,
            expression=expression,
            comparison=_COMPARISONS[self.when.op],
            threshold=threshold,
            meaning=meaning,
            periods=periods_of(self.when, series[0].period_s),
            missing=self.missing,
            why_missing=self.why_missing,
            actions=self.actions,
        )


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
        **_queried(alarm),
    }


def _queried(alarm: Alarm) -> dict[str, Any]:
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
