"""What the commands take that look at jobs (``jobs``, ``top``, ``report``, ``steps``, ``compare``, ``plan``) and that watch over
them (``alert``, ``thresholds``, ``alarms``, ``nightly``)."""

from __future__ import annotations

from typing import Any

from monitor.choices import BY, FRAMEWORK_NAMES, SEVERITIES
from monitor.cli.grammar.options import (
    add_account_options,
    add_accounts_options,
    add_archive_option,
    add_cache_option,
    add_command,
    add_job_options,
    add_large_log_options,
    add_output_options,
    add_profiler_options,
    add_query_options,
    add_sink_options,
)

#: Between two looks at the least: each is a call or two, and one more for each new job.
SHORTEST_S = 5.0


def jobs(commands: Any) -> None:
    command = add_command(
        commands,
        "jobs",
        "list training jobs, newest first",
        "Lists training jobs, newest first, each with the verdict of its last review. The list itself reviews "
        "nothing and makes no extra calls: a job has a verdict once the dashboard or report has reviewed it. Jobs "
        "of an archive are ranked by what could be saved on them.",
        (
            "jobs",
            "jobs --status running --watch",
            "jobs --name-contains llama --since 7d --limit 50",
            "jobs --archive ~/trainwatch-archive --format csv --output jobs.csv",
            "jobs --all-accounts --status running --watch",
            "jobs --account research --region eu-west-1 --since 7d",
        ),
    )
    add_query_options(command, 20)
    command.add_argument("--watch", action="store_true", help="list again and again until Ctrl-C")
    command.add_argument(
        "--interval",
        default="30s",
        metavar="30s",
        help=f"time between lists with --watch (default 30s, at least {SHORTEST_S:.0f}s)",
    )
    add_archive_option(command, "rank the jobs of this archive by what could be saved on them")
    add_cache_option(command, "do not use the local cache, and so show no verdicts")
    add_account_options(command)
    add_accounts_options(command)
    add_output_options(command, ("text", "json", "csv"))


def top(commands: Any) -> None:
    command = add_command(
        commands,
        "top",
        "the jobs in this terminal, live",
        "Shows the newest jobs in this terminal, worst first, each with its verdict and its GPU over time. Enter opens one: "
        "its report, and its log, which follows. Keys: arrows or j and k, Enter, Escape, l for a larger log, Tab, s to sort "
        "again, q to quit.",
        ("top", "top my-training-job", "top --status running --name-contains llama"),
    )
    command.add_argument("job", nargs="?", metavar="JOB", help="open this job: a name, logs:PATH, or archive:PATH")
    add_query_options(command, 50)
    add_archive_option(command, "show the jobs of this archive instead of the account's")
    add_cache_option(command)
    add_account_options(command)


def report(commands: Any) -> None:
    command = add_command(
        commands,
        "report",
        "review one job",
        "Reviews one job, running or finished: where its time went, what stands out and what to change.",
        (
            "report my-training-job",
            "report my-training-job --format html --output report.html",
            "report logs:./algo-1.log",
            "report archive:./trainwatch-archive/my-training-job --format json",
        ),
    )
    add_job_options(command)
    add_profiler_options(command)
    add_large_log_options(command)
    add_output_options(command, ("text", "json", "markdown", "html"))


def steps(commands: Any) -> None:
    command = add_command(
        commands,
        "steps",
        "the step reports of one job",
        "Prints the step reports behind a review, a row for each that a rank (or node) logged.",
        (
            "steps my-training-job",
            "steps my-training-job --format csv --output steps.csv",
            "steps my-training-job --explain",
            r"steps --logs ./algo-1.log --step-regex 'it (?P<step>\d+) took (?P<time_s>[\d.]+)'",
        ),
    )
    add_job_options(command)
    add_output_options(command, ("text", "csv", "json"))
    command.add_argument(
        "--explain",
        action="store_true",
        help="show the first lines of each log format and how every figure of them was come by",
    )


def compare(commands: Any) -> None:
    command = add_command(
        commands,
        "compare",
        "jobs side by side, the first is the baseline",
        "Compares jobs with the first one: which takes less time for the same work and how certain that is, what "
        "differs in the configuration, and whether a prediction held. Where the work of a step is unknown or of a "
        "different kind, it says so and what would help.",
        (
            "compare my-run-1 my-run-2",
            "compare my-run-1 my-run-2 my-run-3 --format markdown",
            "compare logs:./before logs:./after --format json",
        ),
    )
    command.add_argument(
        "jobs", nargs="*", metavar="JOB", help="two or more: training job name, logs:PATH or archive:PATH"
    )
    command.add_argument(
        "--step-regex", metavar="REGEX", help="a pattern for the step lines of all these jobs, as for report"
    )
    command.add_argument(
        "--no-keep",
        action="store_true",
        help="do not keep predicted and measured change in $XDG_DATA_HOME/trainwatch/pairs.jsonl",
    )
    add_cache_option(command)
    add_account_options(command)
    add_output_options(command, ("text", "json", "markdown"))


def plan(commands: Any) -> None:
    command = add_command(
        commands,
        "plan",
        "what another model-parallel configuration would do",
        "Predicts what another model-parallel configuration would do to step time and GPU memory. The start is a "
        "reviewed job, a published configuration (--preset) or what --set says. Parameters have the library's "
        "names, or those that scripts use; mp_parameters='{...}' gives several at once. If no name identifies the "
        "library, SMP v1 is assumed.",
        (
            "plan my-training-job --change active_microbatches=4",
            "plan --preset gpt2-60b --change active_microbatches=4",
            "plan --set pipeline_parallel_degree=4 --set microbatches=8 --set active_microbatches=2 --change "
            "active_microbatches=4",
            "plan --preset list",
        ),
    )
    command.add_argument(
        "--set", action="append", default=[], metavar="P=V", help="set or correct a parameter of the start; repeatable"
    )
    command.add_argument(
        "--change", action="append", default=[], metavar="P=V", help="a parameter to change; repeatable"
    )
    command.add_argument("--preset", metavar="NAME", help="start from a published configuration; list shows them")
    command.add_argument(
        "--framework",
        metavar="LIBRARY",
        choices=sorted(FRAMEWORK_NAMES),
        help=f"the library, if no name identifies it: {', '.join(sorted(FRAMEWORK_NAMES))}",
    )
    add_job_options(command)
    add_large_log_options(command)
    add_output_options(command, ("text", "json", "markdown"))


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
