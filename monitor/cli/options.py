"""What commands make of the options that several of them take: durations (``30s``, ``10 min``, ``1 h``), the sinks of alerts,
and the job that is meant: where it is read from, and Logs Insights for logs that would take minutes to read.

With ``--all-accounts``, the accounts and regions that a command looks over together, and how those that failed are named.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from monitor.accounts import AccountRegion, chosen
from monitor.alert.conditions import seconds_in
from monitor.archive.cache import Cache, user_cache
from monitor.choices import ARCHIVE, LOGS
from monitor.errors import BadCall
from monitor.fetch.metrics.profiler import FolderMinutes
from monitor.fetch.source import Aggregated, JobQuery, JobSource, job_query
from monitor.model import Job
from monitor.parse.recognise import Recogniser
from monitor.parse.user import step_pattern
from monitor.review import Instead, Progress, Reviewer, archived
from monitor.review.across import Missing, Sweep
from monitor.review.archived import ArchiveSource, Source
from monitor.settings import Settings, expanded, read
from monitor.terminal import to_stderr

# Names of training jobs are letters, digits and hyphens.
_NO_NAME = re.compile(r"[^A-Za-z0-9-]")


def seconds_of(option: str, text: str) -> float:
    """The seconds of a duration such as 30s, 5m, 2 h. BadCall names the option."""
    match = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?)\s*([a-z]+)", text.strip().lower())
    seconds = seconds_in(match[2]) if match else None
    if match is None or seconds is None or seconds < 1:
        raise BadCall(f"{option} {text} is not a duration.", "Write a number and a unit: 30s, 5m or 2h.")
    return float(match[1]) * seconds


def query_of(arguments: argparse.Namespace, now: datetime) -> JobQuery:
    """What these options ask for. BadCall where one of them is wrong."""
    if arguments.limit < 1:
        raise BadCall(f"--limit {arguments.limit} lists nothing.", "Give a number of at least 1.")
    return job_query(arguments.status, arguments.name_contains, arguments.since, now, arguments.limit)


def own_patterns(arguments: argparse.Namespace) -> tuple[Recogniser, ...]:
    """What --step-regex adds to the formats that are read."""
    return (step_pattern(arguments.step_regex),) if arguments.step_regex else ()


def chosen_minutes(arguments: argparse.Namespace) -> FolderMinutes | None:
    """The folder of --profiler; None without it. NoData where it holds no profiler output."""
    return None if arguments.profiler is None else FolderMinutes(expanded(arguments.profiler))


def reviewer_of(arguments: argparse.Namespace, **further: Any) -> Reviewer:
    """Who reviews the job that the options name, as they say; ``further`` as for a ``Reviewer``."""
    extra = own_patterns(arguments)
    source, name = job_source(arguments)
    settings = read()
    cache = chosen_cache(arguments, settings)
    if "aggregate" in arguments:
        further["instead"] = instead(arguments, source)
    if "profiler" in arguments:
        further |= {"profiler": not arguments.no_profiler, "minutes": chosen_minutes(arguments)}
    return Reviewer(source, name, settings, extra, cache=cache, **further)


def chosen_cache(arguments: argparse.Namespace, settings: Settings) -> Cache | None:
    """Where finished jobs are kept; None with --no-cache."""
    return None if arguments.no_cache else user_cache(settings.cache_bytes)


def account_source(arguments: argparse.Namespace) -> Source:
    """The AWS account that the options and the environment name."""
    # Imported late: log files need no AWS, and boto3 takes a third of a second.
    from monitor.aws.clients import Clients
    from monitor.fetch.account import AwsSource, open_pair
    from monitor.fetch.prices import user_prices

    prices = None if getattr(arguments, "no_cache", False) else user_prices()
    if getattr(arguments, "account", None):
        return open_pair(_only_pair(arguments), arguments.profile, prices)
    return AwsSource(Clients(arguments.region, arguments.profile), prices)


def _only_pair(arguments: argparse.Namespace) -> AccountRegion:
    """The account and region that --account and --region name; BadCall where they name several."""
    pairs = chosen(read().accounts, split(arguments.account), split([arguments.region]))
    if len(pairs) > 1:
        several = ", ".join(dict.fromkeys(pair.region for pair in pairs))
        names = {pair.account.name for pair in pairs}
        if len(names) > 1:
            raise BadCall("Several accounts were named for one job.", "Name one with --account.")
        raise BadCall(f"The account {names.pop()} has several regions: {several}.", "Name one with --region.")
    return pairs[0]


def split(given: Iterable[str | None]) -> tuple[str, ...]:
    """The values of an option that may be given again, or have several, with commas between them."""
    return tuple(part for text in given if text for part in (each.strip() for each in text.split(",")) if part)


def job_source(arguments: argparse.Namespace) -> tuple[Source, str]:
    """(source, job name) of a command that takes one job."""
    job: str | None = arguments.job
    paths: list[str] | None = arguments.logs
    if job is not None and paths:
        raise BadCall(f"Both a job ({job}) and --logs were given.", "Give one of them.")
    if arguments.archive is not None:
        if paths:
            raise BadCall("Both --logs and --archive were given.", "Give one of them.")
        if job is None:
            return archived.archived(arguments.archive, arguments.region, arguments.profile)
        if job.startswith((LOGS, ARCHIVE)):
            raise BadCall(f"Both a path ({job}) and --archive were given.", "Give one of them.")
        return archive_source(arguments.archive, arguments), job
    if paths:
        return archived.log_files(paths)
    if not job:
        raise BadCall(
            "No job was named.",
            "Give a training job's name, log files with --logs PATH, or an archive with --archive PATH.",
        )
    return source_of(job, arguments, lambda: account_source(arguments))


def source_of(job: str, arguments: argparse.Namespace, account: Callable[[], Source]) -> tuple[Source, str]:
    """(source, job name) of one JOB; ``account`` gives the source of those that AWS has."""
    if _NO_NAME.search(job) and not job.startswith((LOGS, ARCHIVE)) and Path(job).exists():
        raise BadCall(
            f"{job} is a path on this machine, and no training job has such a name.",
            f"Write logs:{job} to read its log lines, or archive:{job} if it is an archive.",
        )
    return archived.source_of(job, account, arguments.region, arguments.profile)


def archive_source(root: str, arguments: argparse.Namespace) -> ArchiveSource:
    """The archive with that root. NoData where there is none."""
    return archived.archive_source(root, arguments.region, arguments.profile)


#: Where some accounts could not be read, and the rest is there.
EXIT_SOME_MISSING = 3


def is_many(arguments: argparse.Namespace) -> bool:
    """Whether several accounts are looked over, rather than the one that boto3 finds by itself."""
    return bool(arguments.all_accounts or arguments.account or arguments.team)


def pairs_of(arguments: argparse.Namespace, settings: Settings) -> tuple[AccountRegion, ...]:
    """The pairs that the options choose; each option may be given again or have commas. BadCall where they choose none."""
    # Imported late: boto3 takes a third of a second.
    from monitor.aws.profiles import check_regions

    found = chosen(settings.accounts, split(arguments.account), split([arguments.region]), split(arguments.team))
    check_regions(found)
    return found


def sweep_of(arguments: argparse.Namespace) -> Sweep:
    """Who looks at them."""
    from monitor.fetch.account import open_pair
    from monitor.fetch.prices import user_prices

    prices = None if getattr(arguments, "no_cache", False) else user_prices()
    return Sweep(lambda where: open_pair(where, arguments.profile, prices))


def refuse_one_account(arguments: argparse.Namespace, what: str) -> None:
    """BadCall where the options for several accounts meet something that has one."""
    if arguments.all_accounts or arguments.team:
        raise BadCall(f"{what} and --all-accounts were given.", "Leave one of them out.")


def report_missing(missing: Sequence[Missing], pairs: int) -> None:
    """A line on standard error for each pair that failed, and how many did."""
    for one in missing:
        to_stderr(f"{one.where}: {one.error}")
    if missing:
        to_stderr(f"{len(missing)} of {pairs} accounts and regions could not be read.")


def missing_documents(missing: Sequence[Missing]) -> list[dict[str, Any]]:
    """The same for machines."""
    return [{"account": one.where.account.name, "region": one.where.region, "why": str(one.error)} for one in missing]


# Whoever means "as much as it takes" leaves the option out.
_MOST_USD = 1_000_000.0


def checked_limit(arguments: argparse.Namespace) -> float | None:
    """The value of --max-usd. BadCall where it is no amount that anybody would spend on calls."""
    typed: str | None = arguments.max_usd
    if typed is None:
        return None
    try:
        most = float(typed)
    except ValueError:
        most = math.nan
    if not 0 <= most <= _MOST_USD:
        said = typed if math.isnan(most) else most
        raise BadCall(
            f"--max-usd {said} is not an amount.", f"Give USD, such as --max-usd 0.50; {_MOST_USD:,.0f} is the most."
        )
    return most


def instead(arguments: argparse.Namespace, source: JobSource) -> Instead | None:
    """What the review asks before it reads lines; None for log files, which cost nothing but time.

    BadCall where the options make no sense.
    """
    most = checked_limit(arguments)
    if arguments.aggregate and arguments.step_regex:
        raise BadCall("--aggregate only works with known formats, not with --step-regex.", "Leave one of them out.")
    if (clients := source.clients) is None:
        if arguments.aggregate:
            raise BadCall("--aggregate works in CloudWatch; log files and archives are read locally.", "Leave it out.")
        return None
    # Imported late: log files need no AWS.
    from monitor.fetch.logs import aggregate

    def ask(job: Job, now: datetime, progress: Progress) -> Aggregated:
        if arguments.aggregate:
            return aggregate.aggregate(clients, job, now, to_stderr, progress, most)
        return Aggregated() if arguments.quiet else aggregate.offer(clients, job, now, to_stderr)

    return ask
