"""A job's alarms for people: a line for each rule and form of alarm, what cannot be kept, what to know, what it costs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from monitor.alert.alarms.alarm import Alarm, AlarmPlan, Missing, prefix_of
from monitor.alert.alarms.calls import Created
from monitor.alert.conditions import number
from monitor.cli.output import paper_for
from monitor.cli.paper import Paper
from monitor.cli.tables import Column, table
from monitor.installed import PROGRAM
from monitor.words import DASH

_COLUMNS = (
    Column("RULE", wraps=True),
    Column("ON", goes=1, wraps=True),
    Column("FIRES WHEN", wraps=True),
    Column("NO DATA", goes=2),
    Column("USD/MONTH", goes=3, right=True),
)
_SIGNS = {
    "LessThanThreshold": "<",
    "LessThanOrEqualToThreshold": "<=",
    "GreaterThanThreshold": ">",
    "GreaterThanOrEqualToThreshold": ">=",
}

_MISSING: dict[Missing, str] = {
    "notBreaching": "Minutes without data count as good",
    "ignore": "Minutes without data leave an alarm as it is",
}


def plan_text(arguments: argparse.Namespace, plan: AlarmPlan) -> Paper:
    """What ``create`` would make."""
    paper = paper_for(arguments)
    paper.print(Text(f"{plan.job}: {_count(len(plan.alarms))}{_cost(plan)}", style="bold"))
    _body(paper, plan)
    return paper


def created_text(arguments: argparse.Namespace, plan: AlarmPlan, done: Created) -> Paper:
    """What ``create`` did."""
    paper = paper_for(arguments)
    said = [
        f"{len(names)} {word}"
        for word, names in (
            ("created", done.created),
            ("changed", done.changed),
            ("already there", done.unchanged),
            ("old ones removed", done.removed),
        )
        if names
    ]
    paper.print(Text(f"{plan.job}: {_count(len(plan.alarms))} ({', '.join(said)}){_cost(plan)}", style="bold"))
    _body(paper, plan)
    paper.print(Text(f"After the job: {PROGRAM} alarms delete {plan.job}"))
    return paper


def deleted_text(arguments: argparse.Namespace, job: str, names: tuple[str, ...]) -> Paper:
    """What ``delete`` removed."""
    paper = paper_for(arguments)
    if not names:
        paper.print(Text(f"{job} has no alarms whose names begin with {prefix_of(job)}: nothing to delete."))
        return paper
    paper.print(Text(f"Deleted {_count(len(names))} of {job}:"))
    for name in names:
        paper.print(Text(f"  {name}"), soft_wrap=True)
    return paper


def _count(alarms: int) -> str:
    return f"{alarms or 'no'} alarm{'' if alarms == 1 else 's'}"


def _cost(plan: AlarmPlan) -> str:
    if not plan.alarms:
        return ""
    if plan.usd_per_month is None:
        return "; AWS's price in this partition is not known"
    return f", ${plan.usd_per_month:.2f} for a whole month"


def _body(paper: Console, plan: AlarmPlan) -> None:
    if plan.alarms:
        paper.print()
        paper.print(_table(plan, paper.width))
        paper.print()
        paper.print(Text(f"Names begin with {prefix_of(plan.job)}"), soft_wrap=True)
        paper.print(
            "AWS's list price in us-east-1 ($0.10 a month for each metric an alarm looks at, charged by the hour; an account's "
            "first ten are free)."
            if plan.usd_per_month is not None
            else "AWS charges for each metric that an alarm looks at, by the hour."
        )
    for title, lines in (
        ("CloudWatch cannot keep", [f"{each.rule}: {each.why}" for each in plan.not_expressible]),
        ("What to know", list(plan.notes) + _missing(plan.alarms)),
    ):
        if lines:
            paper.print()
            paper.print(Text(title, "bold"))
            for line in lines:
                paper.print(Text(f"- {line}"))


def _table(plan: AlarmPlan, width: int) -> Table:
    groups: dict[tuple[str, str, str], list[Alarm]] = {}
    for alarm in plan.alarms:
        # Hundreds of nodes are one line.
        groups.setdefault((alarm.rule, _fires(alarm), alarm.missing), []).append(alarm)
    rows = []
    for (rule, fires, missing), alarms in groups.items():
        usd = sum(alarm.usd_per_month for alarm in alarms)
        shown = DASH if plan.usd_per_month is None else f"{usd:.2f}"
        rows.append((rule, _on(alarms), fires, missing, shown))
    return table(_COLUMNS, rows, width)


def _on(alarms: Sequence[Alarm]) -> str:
    names = [alarm.on for alarm in alarms]
    if len(names) <= 3:
        return ", ".join(names)
    return f"{names[0]} … {names[-1]} ({len(names)} alarms)"


def _fires(alarm: Alarm) -> str:
    series = alarm.series[0]
    what = f"{series.statistic} {series.metric}"
    if alarm.expression:
        function = alarm.expression.partition("(")[0]
        what = f"{function} of {len(alarm.series)} hosts' {series.metric}"
    limit = number(round(alarm.threshold, 6)) + (f" ({alarm.meaning})" if alarm.meaning else "")
    minutes = alarm.period_s // 60
    if alarm.periods == 1:
        lasting = "in a minute" if minutes == 1 else f"over {minutes} minutes"
    else:
        each = "minutes" if minutes == 1 else f"times {minutes} minutes"
        lasting = f"{alarm.periods} {each} in a row"
    return f"{what} {_SIGNS[alarm.comparison]} {limit}, {lasting}"


def _missing(alarms: Sequence[Alarm]) -> list[str]:
    reasons = {alarm.missing: alarm.why_missing for alarm in alarms}
    return [f"{_MISSING[kind]} ({kind}): {why}." for kind, why in reasons.items()]
