"""``fleet``: where the GPU-hours of all archived jobs went, by team; printed, written, or sent to those whom alerts reach."""

from __future__ import annotations

import argparse
import csv
import re
import sys
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

from monitor.alert.delivery import checked
from monitor.archive.address import no_jobs, store_of
from monitor.cli.fleet_logs import (
    ENGINES,
    add_logs_options,
    check_logs,
    complain,
    print_reviewed,
    review_logs,
    reviewed_document,
)
from monitor.cli.fleet_sending import send
from monitor.cli.help import add_command
from monitor.cli.output import add_output_options, as_json, deliver, paper_for, progress
from monitor.cli.paper import Paper
from monitor.cli.sinks import add_sink_options
from monitor.cli.sources import add_archive_option, split
from monitor.cli.tables import Column, table
from monitor.errors import BadCall, CannotDo, NoData
from monitor.fleet import window as windows
from monitor.fleet.document import COLUMNS, csv_rows, fleet_document
from monitor.fleet.owners import BY, Only
from monitor.fleet.report import FleetReport
from monitor.fleet.sections import Section, headline, sections
from monitor.fleet.window import Window
from monitor.installed import PROGRAM
from monitor.review.exported import Reviewed
from monitor.review.fleet_report import Made, made, owners_of
from monitor.settings import archive_root, read

_SINCE = re.compile(r"(\d{1,4})([dw])")
# Sentences beside a table need more than this, or they stand below it.
_WIDE = 100
# At the width of a terminal definitions are a screen of their own: they are in the other formats, and in the manual.
_LEFT_OUT = frozenset({"Definitions"})


def add_to(commands: Any) -> None:
    """Adds the command's grammar."""
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
    command.set_defaults(run=run)


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


def run(arguments: argparse.Namespace) -> int:
    """Makes the report, prints it, and sends it where that is asked for."""
    now = datetime.now(UTC)
    window = chosen_window(arguments, now)
    check_logs(arguments)
    checked(arguments.notify, "The report is printed anyway.")
    code, logs = 0, None
    if arguments.logs:
        settings = read()
        root = arguments.archive or archive_root(settings)
        with progress(arguments, "listing the logs") as say:
            logs = review_logs(arguments, root, settings, now, say)
        code = CannotDo.exit_code if complain(logs) else 0
    found = report_of(arguments, window, now)
    for trouble in found.read.unread:
        print(f"trainwatch: left out: {trouble}", file=sys.stderr)
    deliver(arguments, drawn(arguments, found.report, logs))
    if not arguments.notify:
        return code
    ledger = Path(arguments.ledger) if arguments.ledger else None
    return send(found.report, arguments.notify, ledger, read().public_url, now) or code


def report_of(arguments: argparse.Namespace, window: Window, now: datetime) -> Made:
    """The report of a window. NoData where the archive has no job at all."""
    if arguments.all_accounts and arguments.account:
        raise BadCall("--all-accounts and --account were given.", "Leave one of them out.")
    settings = read()
    root = arguments.archive or archive_root(settings)
    regions = split([arguments.region])
    # --region is of the jobs; from any region S3 leads to a bucket of another.
    store = store_of(root, next(iter(regions), None), arguments.profile)
    accounts, teams = split(arguments.account), split(arguments.team)
    only = Only(frozenset(accounts), frozenset(regions), frozenset(teams), owners_of(settings))
    with progress(arguments, "looking for new jobs in the archive") as say:
        found = made(store, window, now, arguments.by, settings, only=only, keep=not arguments.no_cache, said=say)
    if not found.read.jobs:
        if arguments.archive:
            raise no_jobs(arguments.archive)
        raise NoData(
            f"Your own archive {store.label} contains no jobs.",
            f"Archive some first: {PROGRAM} archive --all --since 14d.",
        )
    return found


def chosen_window(arguments: argparse.Namespace, now: datetime) -> Window:
    """That of --since or --week; without them the last whole week. BadCall where one of them is wrong."""
    if arguments.since is not None:
        match = _SINCE.fullmatch(arguments.since.strip())
        if match is None or not int(match[1]) or (days := int(match[1]) * (7 if match[2] == "w" else 1)) > 3660:
            raise BadCall(f"--since {arguments.since} is not a number of days.", "Write 7d or 4w, up to ten years.")
        return windows.since(timedelta(days=days), now)
    asked = arguments.week or "last"
    window = windows.week(asked.strip(), now.date())
    if window is None:
        raise BadCall(f"--week {asked} is not a week.", "Write last, this, or a year and its week: 2026-W47.")
    return window


def drawn(arguments: argparse.Namespace, report: FleetReport, logs: Reviewed | None = None) -> str | Paper:
    """In the format that was asked for; what was done with exported logs is said where there is a place for it."""
    engine = arguments.engine or ENGINES[0]
    if arguments.format == "json":
        exported = {} if logs is None else {"exported_logs": reviewed_document(logs, engine)}
        return as_json(fleet_document(report) | exported)
    if arguments.format == "csv":
        out = StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(csv_rows(report))
        return out.getvalue()
    if arguments.format == "markdown":
        from monitor.export.fleet_markdown import fleet_markdown

        return fleet_markdown(report)
    if arguments.format == "html":
        # Imported late: the converter of charts is large.
        from monitor.export.fleet_html import fleet_html

        return fleet_html(report)
    paper = paper_for(arguments)
    if logs is not None:
        print_reviewed(logs, engine, paper)
        paper.print()
    print_report(report, paper)
    return paper


def print_report(report: FleetReport, paper: Paper) -> None:
    """The report on a terminal."""
    first, *others = headline(report)
    paper.print(f"GPU-hours, {report.window.name}", style="bold")
    paper.print(first)
    for sentence in others:
        paper.print(sentence)
    for section in sections(report):
        if section.title not in _LEFT_OUT and report.coverage.jobs:
            _print_section(section, paper)


def _print_section(section: Section, paper: Paper) -> None:
    if not (section.said or section.rows):
        return
    paper.print()
    paper.print(section.title, style="bold")
    if section.said:
        paper.print(section.said)
    if section.rows:
        columns = [
            Column(each.title, goes=each.goes, right=each.right, wraps=each.wraps, below=each.wraps)
            for each in section.columns
        ]
        below = paper.width < _WIDE and section.numbered
        shown = len(columns) - 1 if below else len(columns)
        paper.print(table(columns[:shown], [row[:shown] for row in section.rows], paper.width), crop=False)
        for row in section.rows if below else ():
            paper.print(f"{row[0].partition(' ')[0]} {row[-1]}")
    if section.note:
        paper.print(section.note, style="dim")
