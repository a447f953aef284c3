"""``fleet``: where the GPU-hours of all archived jobs went, by team; printed, written, or sent to those whom alerts reach.

With ``--logs``, exported logs are first reviewed into the archive, by this machine or by Spark. A report goes to the sinks that
alerts have: each window once, however often it is made, and again until it arrives.
"""

from __future__ import annotations

import argparse
import csv
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

from monitor.alert.delivery import checked, write_down
from monitor.alert.delivery import deliver as deliver_to
from monitor.alert.ledger import Ledger, durable, ledger_file
from monitor.archive.store import no_jobs, store_of
from monitor.cli.alert_text import not_sent, refusals
from monitor.cli.grammar.keeping import ENGINES
from monitor.cli.options import split
from monitor.cli.output import Paper, as_json, deliver, paper_for, progress, table
from monitor.errors import BadCall, CannotDo, NoData
from monitor.fleet import window as windows
from monitor.fleet.facts import Only
from monitor.fleet.report import FleetReport
from monitor.fleet.sections import COLUMNS, FleetSection, csv_rows, fleet_document, headline, sections
from monitor.fleet.window import DateWindow
from monitor.installed import PROGRAM
from monitor.review.exported import Reviewed, ReviewRequest, reviewed
from monitor.review.exported_tasks import Engine, Local, Reach
from monitor.review.fleet_facts import Made, made, owners_of
from monitor.review.nightly import RULE, message_of
from monitor.settings import Settings, archive_root, cache_folder, read
from monitor.terminal import to_stderr
from monitor.words import count

_SINCE = re.compile(r"(\d{1,4})([dw])")
# Sentences beside a table need more than this, or they stand below it.
_WIDE = 100
# At the width of a terminal definitions are a screen of their own: they are in the other formats, and in the manual.
_LEFT_OUT = frozenset({"Definitions"})


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
        to_stderr(f"left out: {trouble}")
    deliver(arguments, drawn(arguments, found.report, logs))
    if not arguments.notify:
        return code
    ledger = Path(arguments.ledger) if arguments.ledger else None
    return send_report(found.report, arguments.notify, ledger, read().public_url, now) or code


def report_of(arguments: argparse.Namespace, window: DateWindow, now: datetime) -> Made:
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
        found = made(store, window, now, arguments.by, settings, only=only, keep=not arguments.no_cache, progress=say)
    if not found.read.jobs:
        if arguments.archive:
            raise no_jobs(arguments.archive)
        raise NoData(
            f"Your own archive {store.label} contains no jobs.",
            f"Archive some first: {PROGRAM} archive --all --since 14d.",
        )
    return found


def chosen_window(arguments: argparse.Namespace, now: datetime) -> DateWindow:
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
        from monitor.export.layout import fleet_markdown

        return fleet_markdown(report)
    if arguments.format == "html":
        # Imported late: the converter of charts is large.
        from monitor.export.layout import fleet_html

        return fleet_html(report)
    paper = paper_for(arguments)
    if logs is not None:
        print_reviewed(logs, engine, paper)
        paper.print()
    print_report(report, paper)
    return paper


def print_report(report: FleetReport, paper: Paper) -> None:
    first, *others = headline(report)
    paper.print(f"GPU-hours, {report.window.name}", style="bold")
    paper.print(first)
    for sentence in others:
        paper.print(sentence)
    for section in sections(report):
        if section.title not in _LEFT_OUT and report.coverage.jobs:
            _print_section(section, paper)


def _print_section(section: FleetSection, paper: Paper) -> None:
    if not (section.said or section.rows):
        return
    paper.print()
    paper.print(section.title, style="bold")
    if section.said:
        paper.print(section.said)
    if section.rows:
        columns = [replace(each, below=each.wraps) for each in section.columns]
        below = paper.width < _WIDE and section.numbered
        shown = len(columns) - 1 if below else len(columns)
        paper.print(table(columns[:shown], [row[:shown] for row in section.rows], paper.width), crop=False)
        for row in section.rows if below else ():
            paper.print(f"{row[0].partition(' ')[0]} {row[-1]}")
    if section.note:
        paper.print(section.note, style="dim")


_NEEDS_LOGS = ("descriptions", "engine", "workers", "work")
_MOST_SAID = 10


def check_logs(arguments: argparse.Namespace) -> None:
    """BadCall for options that make no sense: told before any work."""
    if not arguments.logs:
        for name in _NEEDS_LOGS:
            if getattr(arguments, name) is not None:
                raise BadCall(
                    f"--{name} goes with --logs.", "Name the exported logs with --logs PATH, or leave it out."
                )
    elif arguments.workers is not None and arguments.workers < 1:
        raise BadCall(f"--workers {arguments.workers} does nothing.", "Give a number of at least 1.")


def review_logs(
    arguments: argparse.Namespace, root: str, settings: Settings, now: datetime, say: Callable[[str], None]
) -> Reviewed:
    """Reviews what is new of the logs into the archive at ``root``."""
    region = next(iter(split([arguments.region])), None)
    engine = _engine(arguments)
    with _work(arguments) as work:
        reach = Reach(root, work, region, arguments.profile)
        ask = ReviewRequest(
            tuple(arguments.logs), reach, settings, now, arguments.descriptions, work_is_shared=bool(arguments.work)
        )
        store = store_of(root, region, arguments.profile)
        return reviewed(ask, store, store_of(work, region, arguments.profile), engine, say)


def complain(found: Reviewed) -> bool:
    """What could not be read or archived, on standard error; whether there is anything of the kind."""
    failed = [f"{job.name} is not archived: {job.error}" for job in found.jobs if job.error]
    told = [*found.troubles, *failed]
    if not (found.jobs or told):
        others = f" (of {count(len(found.others), 'object')}, such as {found.others[0]})" if found.others else ""
        told = [
            f"Nothing there is an exported log{others}. Name with --logs what CreateExportTask or a subscription wrote."
        ]
    for sentence in told[:_MOST_SAID]:
        to_stderr(sentence)
    if len(told) > _MOST_SAID:
        to_stderr(f"and {count(len(told) - _MOST_SAID, 'more trouble')} of the kind.")
    return bool(told)


def print_reviewed(found: Reviewed, engine: str, paper: Paper) -> None:
    """What was done with the logs, before the report."""
    states = found.states
    words = {"archived": "archived", "unchanged": "unchanged", "kept": "kept as archived from AWS", "failed": "failed"}
    said = ", ".join(f"{states[state]:,} {word}" for state, word in words.items() if states[state]) or "none"
    paper.print(
        f"Exported logs: {count(len(found.jobs), 'job')} in {count(found.objects, 'object')} ({found.size / 1e6:,.1f} MB), "
        f"by {engine}: {said}."
    )
    if found.undescribed:
        which = "1 job is" if found.undescribed == 1 else f"{found.undescribed:,} jobs are"
        paper.print(
            f"{which} known from logs alone: without a description, status, bill, queue and instances are not known "
            "(--descriptions)."
        )
    if found.others:
        what = count(len(found.others), "object is neither a log", "objects are neither logs")
        paper.print(f"{what} nor a description, such as {found.others[0]}.", style="dim")


def reviewed_document(found: Reviewed, engine: str) -> dict[str, Any]:
    """The same for machines."""
    return {
        "engine": engine,
        "objects": found.objects,
        "bytes": found.size,
        "events_read": found.events,
        "without_description": found.undescribed,
        "other_objects": len(found.others),
        "not_read": list(found.troubles),
        "jobs": [
            {
                "name": job.name,
                "state": job.state,
                "described": job.described,
                "why": job.error or job.why or None,
                "seconds": round(job.seconds, 3),
            }
            for job in found.jobs
        ],
    }


def _engine(arguments: argparse.Namespace) -> Engine:
    if arguments.engine == "spark":
        from monitor.review.exported_tasks import Spark

        return Spark(arguments.workers)
    return Local(arguments.workers)


@contextmanager
def _work(arguments: argparse.Namespace) -> Iterator[str]:
    """What is sorted there is a cache of the logs, and as private as they are."""
    folder = None if arguments.no_cache else cache_folder()
    if arguments.work or folder:
        yield arguments.work or str((folder or Path()) / "exported")
        return
    with tempfile.TemporaryDirectory(prefix="trainwatch-") as made:
        yield made


def send_report(
    report: FleetReport,
    sinks: Sequence[str],
    ledger: Path | None,
    public_url: str,
    now: datetime,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """The exit code: 3 where a sink has not got it. What could not be sent waits in the ledger for the next call."""
    found = checked(sinks, "The report is printed anyway.")
    book = Ledger(durable(ledger or ledger_file()))
    write_down(book, message_of(report, public_url, now), found, now.timestamp())
    outcomes = [deliver_to(book, sink, sleep, what=RULE) for sink in found]
    troubles = [sentence for outcome in outcomes for sentence in refusals(outcome)]
    troubles += [not_sent(outcome) for outcome in outcomes if outcome.waiting]
    for sentence in troubles:
        to_stderr(sentence)
    return CannotDo.exit_code if troubles else 0
