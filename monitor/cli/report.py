"""``report``: the review of one job, running or finished. For a person at a terminal: what the job was, what stands out, where
the time went, a line per node."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

from rich.console import Console

from monitor.archive.document import report_document
from monitor.aws.calls import metered
from monitor.cli.options import checked_limit, reviewer_of
from monitor.cli.output import as_json, deliver, draw, paper_for, progress
from monitor.errors import BadCall
from monitor.export.layout import html, markdown, report_tree
from monitor.model import Report
from monitor.review.muted import mutes, with_mutes
from monitor.terminal import to_stderr


def print_report(report: Report, paper: Console) -> None:
    draw(report_tree(report), paper)


def run(arguments: argparse.Namespace) -> int:
    reviewer = reviewer_of(arguments)
    with progress(arguments) as say, metered(checked_limit(arguments)):
        report = _with_mutes(reviewer.review(datetime.now(UTC), say))
    if arguments.format == "json":
        deliver(arguments, as_json(report_document(report)))
    elif arguments.format == "markdown":
        deliver(arguments, markdown(report))
    elif arguments.format == "html":
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
        to_stderr(f"not read: {error}")
        return report
