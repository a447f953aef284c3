"""A CloudWatch alarm and the plan of all of a job's alarms, as frozen values structured as PutMetricAlarm takes them; what
the alarms are called, and what became of one rule on its way to CloudWatch."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from monitor.alert.conditions import Rule, RuleSeverity, Threshold

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
class Kept:
    """The alarms of one rule, why some or all of it cannot be kept, and where they are not quite the rule."""

    alarms: tuple[Alarm, ...] = ()
    why_not: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def cannot(why: str) -> Kept:
    """Nothing of the rule can be kept."""
    return Kept(why_not=(why,))


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
class Form:
    """What the alarms of one rule share."""

    job: str
    rule: Rule
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
