"""What became of one rule on its way to CloudWatch, and what all of its alarms have in common."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from monitor.alert.alarm import MOST_METRICS, Alarm, Missing, Series
from monitor.alert.alarm_names import alarm_name
from monitor.alert.conditions import Rule, Threshold

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
        nodes: tuple[str, ...],
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
            nodes=nodes,
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
