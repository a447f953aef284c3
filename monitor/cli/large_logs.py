"""``--aggregate``: Logs Insights aggregates the steps if reading all lines would take minutes. Announced, priced,
then done."""

from __future__ import annotations

import argparse
import math
import sys
from datetime import datetime

from monitor.errors import BadCall
from monitor.fetch.source import Aggregated, JobSource
from monitor.model import Job
from monitor.review import Instead, Progress

# Whoever means "as much as it takes" leaves the option out.
_MOST_USD = 1_000_000.0


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
            return aggregate.aggregate(clients, job, now, _tell, progress, most)
        return Aggregated() if arguments.quiet else aggregate.offer(clients, job, now, _tell)

    return ask


def _tell(said: str) -> None:
    print(f"trainwatch: {said}", file=sys.stderr)
