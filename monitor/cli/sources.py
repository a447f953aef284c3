"""Which job is meant, and where it is read from: an AWS account, or log files."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from monitor.archive.cache import Cache, user_cache
from monitor.errors import BadCall
from monitor.fetch.files import FilesSource
from monitor.fetch.source import Source
from monitor.settings import Settings


def add_account_options(command: argparse.ArgumentParser) -> None:
    """--region and --profile; all else that boto3 reads from the environment works by itself."""
    account = command.add_argument_group("account")
    account.add_argument("--region", help="AWS region (default: as boto3 finds it)")
    account.add_argument("--profile", help="AWS profile (default: as boto3 finds it)")


def add_job_options(command: argparse.ArgumentParser) -> None:
    """The job, and what it can be read from instead of AWS."""
    command.add_argument("job", nargs="?", metavar="JOB", help="training job name, or logs:PATH")
    command.add_argument(
        "--logs", nargs="+", metavar="PATH", help="read these log files or folders instead of AWS; - is standard input"
    )
    command.add_argument(
        "--step-regex",
        metavar="REGEX",
        help=r"a pattern for your own step lines, with named groups such as (?P<step>\d+) and (?P<time_s>[\d.]+)",
    )
    add_cache_option(command)
    add_account_options(command)


def add_cache_option(command: argparse.ArgumentParser) -> None:
    """--no-cache."""
    command.add_argument(
        "--no-cache", action="store_true", help="read finished jobs from AWS anew, and keep nothing of them on disk"
    )


def chosen_cache(arguments: argparse.Namespace, settings: Settings) -> Cache | None:
    """Where finished jobs are kept; None with --no-cache."""
    return None if arguments.no_cache else user_cache(settings.cache_bytes)


def account_source(arguments: argparse.Namespace) -> Source:
    """The AWS account that the options and the environment name."""
    # Imported late: log files need no AWS, and boto3 takes a third of a second.
    from monitor.aws.clients import Clients
    from monitor.fetch.account import AwsSource
    from monitor.fetch.price_file import user_prices

    prices = None if getattr(arguments, "no_cache", False) else user_prices()
    return AwsSource(Clients(arguments.region, arguments.profile), prices)


def job_source(arguments: argparse.Namespace) -> tuple[Source, str]:
    """(source, job name) of a command that takes one job."""
    job: str | None = arguments.job
    paths: list[str] | None = arguments.logs
    if job is not None and paths:
        raise BadCall(f"Both a job ({job}) and --logs were given.", "Give one of them.")
    if paths:
        return _log_files(paths)
    if not job:
        raise BadCall("No job was named.", "Give a training job's name, or log files with --logs PATH.")
    return source_of(job, arguments, lambda: account_source(arguments))


def source_of(job: str, arguments: argparse.Namespace, account: Callable[[], Source]) -> tuple[Source, str]:
    """(source, job name) of one JOB; ``account`` gives the source of those that AWS has."""
    if job.startswith("logs:"):
        return _log_files([job.removeprefix("logs:")])
    if job.startswith("archive:"):
        raise BadCall("Archives cannot be read by this version.", "Name a training job, or log files with --logs.")
    return account(), job


def _log_files(paths: list[str]) -> tuple[Source, str]:
    if not all(paths):
        raise BadCall("logs: needs a path behind it.", "For example logs:./algo-1.log.")
    return FilesSource(paths), _name_of(paths)


def _name_of(paths: list[str]) -> str:
    return "standard-input" if paths == ["-"] else Path(paths[0]).name or paths[0]
