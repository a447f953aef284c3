"""``report``: the review of one job, running or finished."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from typing import Any

from monitor.archive.document import report_document
from monitor.aws.calls import metered
from monitor.cli.large_logs import add_large_log_options, checked_limit, instead
from monitor.cli.options import add_command
from monitor.cli.output import add_output_options, as_json, deliver, paper_for, progress
from monitor.cli.report_text import print_report
from monitor.cli.sources import add_job_options, add_profiler_options, chosen_cache, chosen_minutes, job_source
from monitor.errors import BadCall
from monitor.export.markdown import markdown
from monitor.model import Report
from monitor.parse.user import step_pattern
from monitor.review import Reviewer
from monitor.review.muted import mutes, with_mutes
from monitor.settings import read


def add_to(commands: Any) -> None:
    """Adds the command's grammar."""
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
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    extra = (step_pattern(arguments.step_regex),) if arguments.step_regex else ()
    source, name = job_source(arguments)
    settings = read()
    cache = chosen_cache(arguments, settings)
    with progress(arguments) as say:
        reviewer = Reviewer(
            source,
            name,
            settings,
            extra,
            cache=cache,
            instead=instead(arguments, source),
            profiler=not arguments.no_profiler,
            minutes=chosen_minutes(arguments),
        )
        with metered(checked_limit(arguments)):
            report = _with_mutes(reviewer.review(datetime.now(UTC), say))
    if arguments.format == "json":
        deliver(arguments, as_json(report_document(report)))
    elif arguments.format == "markdown":
        deliver(arguments, markdown(report))
    elif arguments.format == "html":
        # Imported late: what draws charts is large, and nobody else needs it.
        from monitor.export.html import html

        deliver(arguments, html(report, datetime.now(UTC)))
    else:
        paper = paper_for(arguments)
        print_report(report, paper)
        deliver(arguments, paper)
    return 0


def _with_mutes(report: Report) -> Report:
    """A file of them that cannot be used keeps nobody from the report."""
    try:
        return with_mutes(report, mutes())
    except BadCall as error:
        print(f"trainwatch: not read: {error}", file=sys.stderr)
        return report
