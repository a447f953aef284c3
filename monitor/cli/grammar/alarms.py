"""What ``alarms`` takes."""

from __future__ import annotations

from typing import Any

from monitor.cli.grammar.options import add_account_options, add_command, add_output_options

_ACTIONS = ("plan", "create", "delete")


def add_to(commands: Any) -> None:
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
