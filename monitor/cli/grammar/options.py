"""What the grammars of several commands share: their help, and options that mean the same everywhere."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Sequence
from typing import Any

from monitor.choices import STATUSES
from monitor.installed import PROGRAM

_INDENT = "  "


class Formatter(argparse.HelpFormatter):
    """Wraps paragraphs; indented lines are calls to copy and stay as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        parts = []
        for paragraph in text.split("\n"):
            is_call = paragraph.startswith(_INDENT)
            parts.append(f"{indent}{paragraph}" if is_call else textwrap.fill(paragraph, width, initial_indent=indent))
        return "\n".join(parts)


def add_command(
    commands: Any, name: str, short: str, what: str, examples: Sequence[str], usage: str | None = None
) -> argparse.ArgumentParser:
    """A command's parser; ``short`` is its line in the list of commands, ``what`` opens its own help."""
    calls = "\n".join(f"{_INDENT}{PROGRAM} {example}" for example in examples)
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=short,
        description=what,
        epilog=f"examples:\n{calls}",
        usage=usage and f"{PROGRAM} {usage}",
        formatter_class=Formatter,
    )
    return parser


_KINDS = "sns:ARN, slack:env:NAME, webhook:file:PATH, exec:PROGRAM"


def add_sink_options(command: argparse._ActionsContainer, does: str, what: str, *, stdout: bool = False) -> None:
    """Both options: ``does`` is what --notify is for, ``what`` is recorded; ``stdout`` is a sink, too, where nothing is
    printed anyway."""
    kinds = f"stdout, {_KINDS}" if stdout else _KINDS
    command.add_argument("--notify", action="append", default=[], metavar="SINK", help=f"{does}: {kinds}; repeatable")
    command.add_argument(
        "--ledger", metavar="FILE", help=f"where sent {what} are recorded (default: the user's state folder)"
    )


def add_account_options(command: argparse.ArgumentParser) -> None:
    """--region and --profile; all else that boto3 reads from the environment works by itself."""
    account = command.add_argument_group("account")
    account.add_argument("--region", help="AWS region (default: as configured for boto3)")
    account.add_argument("--profile", help="AWS profile (default: as configured for boto3)")
    account.add_argument(
        "--account",
        action="append",
        default=[],
        metavar="NAME",
        help="an account of the settings file: its role or profile, and its region if it has one",
    )


def add_query_options(command: argparse.ArgumentParser, limit: int) -> None:
    """Which jobs are listed."""
    command.add_argument("--status", metavar="S", help=f"only jobs with this status: {', '.join(STATUSES)}, or running")
    command.add_argument("--name-contains", metavar="T", help="only jobs whose name contains T")
    command.add_argument("--since", metavar="7d", help="only jobs created within this time: 90m, 12h, 7d, 4w")
    command.add_argument("--limit", type=int, default=limit, metavar="N", help=f"at most N jobs (default {limit})")


def add_job_options(command: argparse.ArgumentParser) -> None:
    """The job, and what it can be read from instead of AWS."""
    command.add_argument("job", nargs="?", metavar="JOB", help="training job name, logs:PATH, or archive:PATH")
    command.add_argument(
        "--logs", nargs="+", metavar="PATH", help="read these log files or folders instead of AWS; - is standard input"
    )
    add_archive_option(
        command, "read the job from this archive instead of AWS: the archive's root together with JOB, or root/JOB"
    )
    command.add_argument(
        "--step-regex",
        metavar="REGEX",
        help=r"a pattern for your own step lines, with named groups such as (?P<step>\d+) and (?P<time_s>[\d.]+)",
    )
    add_cache_option(command)
    add_account_options(command)


def add_archive_option(command: argparse.ArgumentParser, does: str) -> None:
    command.add_argument("--archive", metavar="PATH", help=f"{does} (a folder, or s3://bucket/prefix)")


def add_cache_option(
    command: argparse.ArgumentParser, does: str = "read finished jobs from AWS again, and keep nothing on disk"
) -> None:
    command.add_argument("--no-cache", action="store_true", help=does)


def add_profiler_options(command: argparse.ArgumentParser) -> None:
    """--profiler DIR and --no-profiler."""
    which = command.add_mutually_exclusive_group()
    which.add_argument(
        "--profiler", metavar="DIR", help="read the profiler's output from this copied folder instead of S3"
    )
    which.add_argument(
        "--no-profiler", action="store_true", help="do not read the profiler's output, even if the job has one"
    )


def add_accounts_options(command: argparse.ArgumentParser) -> None:
    """--all-accounts and --team, beside --account and --region of all commands."""
    many = command.add_argument_group("several accounts", "those of [[accounts]] in the settings file")
    many.add_argument(
        "--all-accounts", action="store_true", help="all of them; --account and --region leave out others"
    )
    many.add_argument("--team", action="append", default=[], metavar="NAME", help="only the accounts of this team")


def add_large_log_options(command: argparse.ArgumentParser) -> None:
    """--aggregate and --max-usd."""
    large = command.add_argument_group("very large logs")
    large.add_argument(
        "--aggregate",
        action="store_true",
        help="let CloudWatch Logs Insights aggregate the steps to medians per minute instead of reading every line; AWS "
        "charges by bytes scanned, and the cost is shown before it starts",
    )
    large.add_argument(
        "--max-usd",
        metavar="X",
        help="make no AWS call that would raise the cost above X USD; what is left out is listed",
    )


def add_output_options(command: argparse.ArgumentParser, formats: tuple[str, ...]) -> None:
    output = command.add_argument_group("output")
    output.add_argument("--format", choices=formats, default="text", help="default text, for people")
    output.add_argument("--output", metavar="FILE", help="write the result to FILE instead of standard output")
    output.add_argument("--quiet", action="store_true", help="no progress on standard error")
