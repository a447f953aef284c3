"""What ``alert`` takes."""

from __future__ import annotations

from typing import Any

from monitor.cli.grammar.options import (
    add_accounts_options,
    add_command,
    add_job_options,
    add_output_options,
    add_sink_options,
)


def add_to(commands: Any) -> None:
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
