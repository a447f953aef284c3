"""What the commands take that keep or serve jobs: ``archive``, ``fleet``, ``dashboard``, ``demo``, ``mcp``, ``completion``."""

from __future__ import annotations

import argparse
from typing import Any

from monitor.choices import BY, HERE
from monitor.cli.grammar.options import (
    add_account_options,
    add_accounts_options,
    add_archive_option,
    add_cache_option,
    add_command,
    add_output_options,
    add_sink_options,
)
from monitor.installed import COMMAND

ENGINES = ("local", "spark")
_PORT = 8765
# So much is hours of watching the largest jobs, and an agent in a loop costs no more.
MOST_USD = 1.0


def archive(commands: Any) -> None:
    command = add_command(
        commands,
        "archive",
        "keep jobs past CloudWatch's retention",
        "Keeps jobs past CloudWatch's retention, as Parquet and JSON in a folder or a bucket. Every command reads them there.",
        (
            "archive my-training-job",
            "archive --all --since 14d --to s3://my-bucket/trainwatch",
            "archive --all --all-accounts --since 1d",
            "archive logs:./algo-1.log --to ~/trainwatch-archive",
        ),
    )
    command.add_argument("jobs", nargs="*", metavar="JOB", help="training job names, logs:PATH, or archive:PATH")
    command.add_argument("--all", action="store_true", help="all jobs of the account that match the options below")
    command.add_argument("--since", metavar="14d", help="with --all: created within this time: 90m, 12h, 14d, 4w")
    command.add_argument("--status", metavar="S", help="with --all: only jobs in this status")
    command.add_argument("--name-contains", metavar="T", help="with --all: only jobs whose name contains T")
    command.add_argument("--to", metavar="DIR", help="a folder, or s3://bucket/prefix (default: the settings' archive)")
    command.add_argument(
        "--max-usd",
        metavar="X",
        help="make no metric call that would raise the cost above X USD",
    )
    add_cache_option(command)
    add_account_options(command)
    add_accounts_options(command)
    add_output_options(command, ("text", "json"))


def fleet(commands: Any) -> None:
    command = add_command(
        commands,
        "fleet",
        "where the GPU-hours of all archived jobs went",
        "Reports on the jobs of an archive together: GPU-hours by use, waste by team and cause, failures, queues, what to "
        "change first, and what became of earlier advice. Without --since or --week it is about the last whole week. Only "
        "what is new in the archive is read; no call to AWS is made but for an archive in S3.",
        (
            "fleet --archive ~/trainwatch-archive --since 7d --by team",
            "fleet --archive ~/trainwatch-archive --week last --format html --output week.html",
            "fleet --archive ~/trainwatch-archive --week 2026-W47 --by project --format json",
            "fleet --archive ~/trainwatch-archive --since 4w --team vision,speech --by account",
            "fleet --logs ./exports --archive ~/trainwatch-archive --engine local --since 52w",
        ),
    )
    add_fleet_options(command)
    add_logs_options(command)
    add_output_options(command, ("text", "json", "csv", "markdown", "html"))


def add_fleet_options(command: argparse.ArgumentParser) -> None:
    """Which jobs, which time, by what, and to whom."""
    time = command.add_mutually_exclusive_group()
    time.add_argument("--since", metavar="7d", help="so many days or weeks up to today: 7d, 4w")
    time.add_argument("--week", metavar="WEEK", help="one week from Monday to Monday, UTC: last, this, or 2026-W47")
    command.add_argument("--by", choices=BY, default="team", help="whose hours: by a tag of the jobs (default team)")
    add_archive_option(command, "the archive (default: the settings' archive)")
    command.add_argument(
        "--no-cache", action="store_true", help="read the whole archive again, and keep nothing on disk"
    )
    add_sink_options(command, "also send it, once", "reports")
    jobs = command.add_argument_group("which jobs", "all by themselves; several of one kind with commas between them")
    jobs.add_argument("--all-accounts", action="store_true", help="those of all accounts, as without it")
    jobs.add_argument("--account", action="append", default=[], metavar="NAME", help="by name or number")
    jobs.add_argument("--region", metavar="REGION", help="also where an archive in S3 is asked for first")
    jobs.add_argument("--team", action="append", default=[], metavar="NAME", help="by tag, or by the account's team")
    jobs.add_argument("--profile", metavar="PROFILE", help="AWS profile that reads an archive in S3")


def add_logs_options(command: argparse.ArgumentParser) -> None:
    """What is reviewed first, and by whom."""
    logs = command.add_argument_group(
        "exported logs", "reviewed into the archive first; a second call reads what is new"
    )
    logs.add_argument(
        "--logs",
        nargs="+",
        metavar="PATH",
        help="folders or s3:// prefixes with what CreateExportTask or a subscription (Firehose) wrote",
    )
    logs.add_argument(
        "--descriptions",
        metavar="PATH",
        help="where answers of DescribeTrainingJob or Search, or EventBridge's events are kept (default: beside the logs)",
    )
    logs.add_argument(
        "--engine", choices=ENGINES, help="processes of this machine (default), or Spark's session (docs/fleet.md)"
    )
    logs.add_argument("--workers", type=int, metavar="N", help="tasks at a time (default: one a core)")
    logs.add_argument(
        "--work", metavar="PATH", help="where a subscription is sorted by job (default: the user's cache folder)"
    )


def dashboard(commands: Any) -> None:
    command = add_command(
        commands,
        "dashboard",
        "the browser dashboard on the AWS account",
        "Serves the browser dashboard on the configured AWS account, or on an archive, until Ctrl-C.",
        (
            "dashboard",
            "dashboard --profile training --region eu-west-1",
            "dashboard --all-accounts --host 0.0.0.0",
            "dashboard --archive ~/trainwatch-archive",
        ),
    )
    add_address_options(command)
    add_archive_option(command, "show the jobs of this archive instead of the account's; needs no AWS")
    add_cache_option(command)
    add_account_options(command)
    command.add_argument(
        "--all-accounts",
        action="store_true",
        help="everyone who opens the dashboard sees the accounts of the settings file (without it, whoever runs it alone)",
    )


def add_address_options(command: argparse.ArgumentParser) -> None:
    """Where a dashboard is served."""
    command.add_argument("--port", type=int, default=8501, help="port (default 8501)")
    command.add_argument(
        "--host",
        default=HERE,
        metavar="ADDRESS",
        help=f"address to listen on (default {HERE}, this machine only; 0.0.0.0 lets others in: there is no sign-in)",
    )
    command.add_argument(
        "--read-only",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="whether nobody can change thresholds and mutes, nor choose another profile (default: only where --host lets "
        "others in)",
    )


def demo(commands: Any) -> None:
    command = add_command(
        commands,
        "demo",
        "the dashboard on sample jobs, without an account",
        "Serves the dashboard on an embedded account with sample jobs; no credentials, no network.",
        ("demo", "demo --port 8600"),
    )
    add_address_options(command)


def mcp(commands: Any) -> None:
    command = add_command(
        commands,
        "mcp",
        "tools for coding agents (Model Context Protocol)",
        "Serves six tools to a coding agent: jobs, review, evidence, compare, plan and watch. They only read. The agent "
        "starts this command and talks to it over standard input and output; --http serves it to programs of this machine "
        "instead, until Ctrl-C. It needs the extra mcp: pip install 'trainwatch[mcp]'.",
        (
            "mcp",
            "mcp --profile training --region eu-west-1",
            "mcp --files ./trainwatch-archive",
            "mcp --http --port 8765 --max-usd 0.50",
        ),
    )
    command.add_argument(
        "--files",
        action="append",
        default=[],
        metavar="PATH",
        help="a folder whose logs and archives may be read, too (logs:PATH, archive:PATH); repeatable; none without it",
    )
    command.add_argument(
        "--max-usd",
        metavar="X",
        help=f"what the metrics that the reviews read may cost in all, until it ends (default {MOST_USD:g}; logs are free)",
    )
    command.add_argument("--http", action="store_true", help=f"serve streamable HTTP on {HERE} instead")
    command.add_argument("--port", type=int, default=_PORT, help=f"port of --http (default {_PORT})")
    command.add_argument(
        "--host", default=HERE, metavar="ADDRESS", help=f"a loopback address for --http (default {HERE})"
    )
    add_cache_option(command)
    add_account_options(command)


def completion(commands: Any) -> None:
    command = add_command(
        commands,
        "completion",
        "completion of commands and options for bash, zsh or fish",
        f"Prints a script for your shell that completes the commands, options and files of {COMMAND}. The shell "
        "reads it as it starts, from the file below, or each time with a line such as: "
        f'eval "$({COMMAND} completion bash)"',
        (
            "completion bash > ~/.local/share/bash-completion/completions/trainwatch",
            "completion zsh > ~/.zfunc/_trainwatch",
            "completion fish > ~/.config/fish/completions/trainwatch.fish",
        ),
    )
    command.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")
