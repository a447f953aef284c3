"""``alarms``: the rules that CloudWatch can evaluate by itself, as its alarms: plan them, create them, delete them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from monitor.alert.alarms.alarm import AlarmPlan
from monitor.alert.alarms.calls import create, delete
from monitor.alert.alarms.document import alarms_document, deleted_document
from monitor.alert.alarms.plan import alarms_of
from monitor.alert.conditions import Rule
from monitor.alert.sinks.names import sink_of
from monitor.cli.alarms_text import created_text, deleted_text, plan_text
from monitor.cli.alert import asked_rules
from monitor.cli.help import add_command
from monitor.cli.output import add_output_options, as_json, deliver, progress
from monitor.cli.sources import account_source, add_account_options
from monitor.errors import BadCall, CannotDo
from monitor.model import Job

if TYPE_CHECKING:
    from monitor.fetch.account import AwsSource

_ACTIONS = ("plan", "create", "delete")
_MOST_ACTIONS = 5


def add_to(commands: Any) -> None:
    """Adds the command's grammar."""
    command = add_command(
        commands,
        "alarms",
        "keep rules as CloudWatch alarms, which work without this program",
        "Turns rules into CloudWatch alarms: plan shows which, what they cost and what CloudWatch cannot check; create makes "
        "the job's alarms those of the rules; delete removes all alarms of the job.",
        (
            "alarms plan my-training-job --rules rules.toml",
            "alarms create my-training-job --when 'gpu_utilization < 40% for 10 min' --sns "
            "arn:aws:sns:us-east-1:123456789012:training",
            "alarms delete my-training-job",
        ),
        usage="alarms {plan,create,delete} JOB [options]",
    )
    command.add_argument(
        "action",
        choices=_ACTIONS,
        help="plan, create or delete",
    )
    command.add_argument("job", metavar="JOB", help="training job name")
    asked = command.add_argument_group("rules (default: the saved thresholds)")
    asked.add_argument("--rules", metavar="FILE", help="a rules file (TOML); see docs/alerts.md")
    asked.add_argument("--when", action="append", default=[], metavar="EXPR", help="a rule, as for alert; repeatable")
    asked.add_argument(
        "--sns",
        action="append",
        default=[],
        metavar="ARN",
        help="a topic to notify when an alarm fires and when it returns to OK; repeatable",
    )
    add_account_options(command)
    add_output_options(command, ("text", "json"))
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Does what was asked, and prints what came of it."""
    job = _name(arguments.job)
    if arguments.action == "delete":
        return _delete(arguments, job)
    rules = asked_rules(arguments)
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


def _check_topics(region: str, rules: Sequence[Rule], topics: Sequence[str]) -> None:
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
