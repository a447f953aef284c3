"""What ``fleet`` takes."""

from __future__ import annotations

import argparse
from typing import Any

from monitor.choices import BY
from monitor.cli.grammar.options import add_archive_option, add_command, add_output_options, add_sink_options

ENGINES = ("local", "spark")


def add_to(commands: Any) -> None:
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
