"""What the commands take that watch over jobs: ``alert``, ``thresholds``, ``alarms`` and ``nightly``."""

from __future__ import annotations

from typing import Any

from monitor.choices import BY, SEVERITIES
from monitor.cli.grammar.options import (
    add_account_options,
    add_accounts_options,
    add_archive_option,
    add_command,
    add_job_options,
    add_output_options,
    add_sink_options,
)

_ACTIONS = ("plan", "create", "delete")


def alert(commands: Any) -> None:
    command = add_command(
        commands,
        "alert",
        "check a job against thresholds",
        "Checks a job against thresholds: once, until it ends (--watch), or over finished jobs (--backtest). The "
        "exit code is 0 where none is crossed, 1 where one is, 3 where that could not be determined.",
        (
            'alert my-training-job --when "gpu_utilization < 40% for 10 min"',
            'alert my-training-job --when "step_time > 1.3x for 20 steps" --when "finding critical" --format json',
            "alert my-training-job --rules rules.toml --watch --notify slack:env:SLACK_WEBHOOK",
            'alert --all-accounts --when "finding critical" --watch --notify slack:env:SLACK_WEBHOOK',
            'alert --backtest my-run-1 my-run-2 --when "cost_usd > 500"',
        ),
    )
    add_job_options(command)
    add_accounts_options(command)
    asked = command.add_argument_group("thresholds")
    asked.add_argument(
        "--when",
        action="append",
        default=[],
        metavar="EXPR",
        help='such as "gpu_utilization < 40%% for 10 min", "step_time > 1.3x for 20 steps on any", "finding stall"; '
        "repeatable",
    )
    asked.add_argument("--rules", metavar="FILE", help="a rules file (TOML); see docs/alerts.md")
    command.add_argument("more", nargs="*", metavar="JOB", help="more jobs, with --backtest")
    asked.add_argument(
        "--backtest",
        action="store_true",
        help="what the rules would have said in finished jobs: when, how long before the end, and the cost from then on",
    )
    told = command.add_argument_group("watching and notifying")
    told.add_argument(
        "--watch",
        action="store_true",
        help="keep checking until the job has ended, then print a summary; with --all-accounts until Ctrl-C",
    )
    told.add_argument("--interval", default="60s", metavar="60s", help="time between checks with --watch (default 60s)")
    add_sink_options(told, "where to send alerts", "alerts", stdout=True)
    told.add_argument(
        "--cool-down",
        default="10m",
        metavar="10m",
        help="how long a rule stays silent about a node after its alert has ended (default 10m)",
    )
    told.add_argument(
        "--publish",
        action="store_true",
        help="also publish step times to CloudWatch (namespace Trainwatch), for alarms",
    )
    told.add_argument(
        "--resend",
        nargs="*",
        metavar="ID",
        help="look at no job; send again what the sinks of --notify and --rules refused before (with IDs: these, to these sinks)",
    )
    add_output_options(command, ("text", "json"))


def thresholds(commands: Any) -> None:
    command = add_command(
        commands,
        "thresholds",
        "list, add or remove saved thresholds",
        "Saved thresholds: alert checks them where no others are given, and the dashboard draws them.",
        (
            "thresholds",
            'thresholds add idle "gpu_utilization < 40% for 10 min"',
            'thresholds add stalled "seconds_since_last_step > 15 min" --severity critical',
            "thresholds remove idle",
        ),
        usage="thresholds [list|add NAME EXPR|remove NAME] [options]",
    )
    command.add_argument("action", nargs="?", default="list", metavar="list|add|remove", help="list is the default")
    command.add_argument("words", nargs="*", metavar="NAME EXPR", help="a name, and the condition in quotes")
    command.add_argument(
        "--severity", choices=SEVERITIES, default="warning", help="of the added threshold (default warning)"
    )
    command.add_argument(
        "--notify", action="append", default=[], metavar="SINK", help="where to send alerts; repeatable"
    )
    add_output_options(command, ("text", "json"))


def alarms(commands: Any) -> None:
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


def nightly(commands: Any) -> None:
    command = add_command(
        commands,
        "nightly",
        "archive new jobs, judge rules, send the weekly report",
        "What cron runs once a night: archives the jobs since the last night and those that ran then, judges the saved "
        "rules on those that have ended, and on Mondays sends the report of the week. A night that was killed, or did not "
        "take place, is caught up by the next one. The exit code is 0, or 3 where anything was not done.",
        (
            "nightly",
            "nightly --archive s3://my-bucket/trainwatch --by project --quiet",
            "nightly --rules rules.toml --first 30d --format json",
            "nightly --all-accounts --archive s3://my-bucket/trainwatch --notify slack:env:SLACK_WEBHOOK --quiet",
        ),
    )
    add_archive_option(command, "the archive (default: the settings' archive)")
    command.add_argument(
        "--first", default="14d", metavar="14d", help="how far back the first night looks (default 14d)"
    )
    command.add_argument("--by", choices=BY, default="team", help="whose hours the report is by (default team)")
    command.add_argument("--rules", metavar="FILE", help="a rules file (TOML) instead of the saved rules")
    add_sink_options(command, "who gets reports, alerts and troubles", "messages")
    command.add_argument("--max-usd", metavar="X", help="make no metric call that would raise the cost above X USD")
    add_account_options(command)
    add_accounts_options(command)
    add_output_options(command, ("text", "json"))
    # Its reviews go into the archive; a cache beside it would be the same again.
    command.set_defaults(no_cache=True)
