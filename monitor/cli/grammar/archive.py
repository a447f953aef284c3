"""What ``archive`` takes."""

from __future__ import annotations

from typing import Any

from monitor.cli.grammar.options import (
    add_account_options,
    add_accounts_options,
    add_cache_option,
    add_command,
    add_output_options,
)


def add_to(commands: Any) -> None:
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
