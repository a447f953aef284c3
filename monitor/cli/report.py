"""``report``: the review of one job, running or finished."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from io import StringIO
from typing import Any

from monitor.archive.document import report_document
from monitor.aws.tally import metered
from monitor.cli.large_logs import add_large_log_options, instead
from monitor.cli.output import add_output_options, as_json, console, deliver, progress
from monitor.cli.report_markdown import markdown
from monitor.cli.report_text import print_report
from monitor.cli.sources import add_job_options, chosen_cache, job_source
from monitor.parse.user import step_pattern
from monitor.review import Reviewer
from monitor.settings import read


def add_to(commands: Any) -> None:
    """Adds the command's grammar."""
    command = commands.add_parser("report", help="review one job", description=__doc__)
    add_job_options(command)
    add_large_log_options(command)
    add_output_options(command, ("text", "json", "markdown"))
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints the report."""
    extra = (step_pattern(arguments.step_regex),) if arguments.step_regex else ()
    source, name = job_source(arguments)
    settings = read()
    cache = chosen_cache(arguments, settings)
    with progress(arguments) as say:
        reviewer = Reviewer(source, name, settings, extra, cache=cache, instead=instead(arguments, source))
        with metered(arguments.max_usd):
            report = reviewer.review(datetime.now(UTC), say)
    if arguments.format == "json":
        deliver(arguments, as_json(report_document(report)))
    elif arguments.format == "markdown":
        deliver(arguments, markdown(report))
    else:
        out = StringIO()
        print_report(report, console(arguments, out))
        deliver(arguments, out.getvalue())
    return 0
