"""``alarms``: the rules that CloudWatch can evaluate by itself, as its alarms: plan them, create them, delete them.

People get a line for each rule and form of alarm, what cannot be kept, what to know, and what it costs.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from rich.console import Console
from rich.table import Table
from rich.text import Text

from monitor.alert.alarms.alarm import (
    Alarm,
    AlarmPlan,
    Created,
    Missing,
    alarms_document,
    create,
    delete,
    deleted_document,
    prefix_of,
)
from monitor.alert.alarms.plan import alarms_of
from monitor.alert.conditions import AlertRule, number
from monitor.alert.sinks.names import sink_of
from monitor.cli.alert import rules_of_call
from monitor.cli.options import account_source
from monitor.cli.output import Column, Paper, as_json, deliver, paper_for, progress, table
from monitor.errors import BadCall, CannotDo
from monitor.installed import PROGRAM
from monitor.model import Job
from monitor.words import DASH

if TYPE_CHECKING:
    from monitor.fetch.account import AwsSource

_MOST_ACTIONS = 5


def run(arguments: argparse.Namespace) -> int:
    """Does what was asked, and prints what came of it."""
    job = _name(arguments.job)
    if arguments.action == "delete":
        return _delete(arguments, job)
    rules = rules_of_call(arguments)
    topics = tuple(dict.fromkeys(sink_of(f"sns:{text.removeprefix('sns:')}").target for text in arguments.sns))
    source = _account(arguments)
    _check_topics(source.clients.region, rules, topics)
    plan = alarms_of(_with_devices(source, source.job(job)), rules, topics)
    if arguments.action == "plan":
        text = plan_text(arguments, plan) if arguments.format == "text" else as_json(alarms_document(plan))
        deliver(arguments, text)
        return 0
    return _create(arguments, source, plan)


def _create(arguments: argparse.Namespace, source: AwsSource, plan: AlarmPlan) -> int:
    if not plan.alarms:
        if arguments.format == "json":
            deliver(arguments, as_json(alarms_document(plan)))
        first = plan.not_expressible[0]
        raise CannotDo(
            f"CloudWatch can keep none of these rules. {first.rule}: {first.why}",
            "No alarm was changed; alarms plan gives the reason for each rule.",
        )
    with progress(arguments) as say:
        done = create(source.clients, plan.job, plan.alarms, say)
    text = created_text(arguments, plan, done) if arguments.format == "text" else as_json(alarms_document(plan, done))
    deliver(arguments, text)
    return 0


def _delete(arguments: argparse.Namespace, job: str) -> int:
    # All alarms of the job go, whatever rules are named beside it.
    names = delete(_account(arguments).clients, job)
    deliver(
        arguments,
        deleted_text(arguments, job, names) if arguments.format == "text" else as_json(deleted_document(job, names)),
    )
    return 0


def _name(text: str) -> str:
    """The training job's name; of an ARN its end."""
    if text.startswith(("logs:", "archive:")):
        raise BadCall(f"Alarms need a job in an AWS account, and {text} is not one.", "Name a training job.")
    name = text.rpartition("training-job/")[2].strip()
    if not name or "/" in name:
        raise BadCall(f'"{text}" is not the name of a training job.', "To find one, list the jobs.")
    return name


def _account(arguments: argparse.Namespace) -> AwsSource:
    return cast("AwsSource", account_source(arguments))


def _with_devices(source: AwsSource, job: Job) -> Job:
    """With the GPUs and vCPUs of types that the table lacks, as EC2 tells them."""
    nodes = []
    for node in job.nodes:
        if node.gpus is None and node.instance_type and (known := source.instance_type(node.instance_type)):
            node = replace(node, gpus=known.gpus, vcpus=known.vcpus)
        nodes.append(node)
    return replace(job, nodes=tuple(nodes))


def _check_topics(region: str, rules: Sequence[AlertRule], topics: Sequence[str]) -> None:
    """BadCall for a topic that an alarm of this region cannot tell."""
    for rule in rules:
        mine = {*topics, *(sink_of(sink).target for sink in rule.notify if sink_of(sink).kind == "sns")}
        if len(mine) > _MOST_ACTIONS:
            raise BadCall(
                f"{rule.name} would notify {len(mine)} topics; an alarm notifies at most {_MOST_ACTIONS}.",
                "Leave some out.",
            )
        for topic in sorted(mine):
            if sink_of(f"sns:{topic}").region != region:
                raise BadCall(
                    f"The topic {topic} is not in the job's region ({region}), so an alarm cannot reach it.",
                    f"Name a topic in {region}.",
                )


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
