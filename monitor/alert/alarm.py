"""What is a CloudWatch alarm, and the plan of all of a job's alarms? Frozen values, structured as PutMetricAlarm
takes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from monitor.alert.conditions import RuleSeverity

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
    nodes: tuple[str, ...]
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
    """All alarms of a job."""

    job: str
    alarms: tuple[Alarm, ...]
    not_expressible: tuple[NotExpressible, ...]
    notes: tuple[str, ...]
    """Where an alarm says less, or something else, than the rule; what has to run for it."""
    usd_per_month: float | None
    """Without the ten alarms a month that an account has free; None where AWS's price is not known."""
