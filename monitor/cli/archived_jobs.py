"""``jobs --archive``: the jobs of an archive, those with the most to save first."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from io import StringIO
from typing import Any

from monitor.archive.document import SCHEMA
from monitor.cli.output import as_json, deliver, paper_for, progress
from monitor.cli.paper import Column, Paper, table
from monitor.cli.sources import archive_source
from monitor.diagnose.headline import status_word
from monitor.fetch.source import JobQuery
from monitor.review.archived import ArchiveSource, Row, matching
from monitor.words import DASH, count, percent, usd

# Key of the printed document -> column of the archive's table of jobs.
_KEYS = {
    "name": "job_name",
    "status": "status",
    "instance_type": "instance_type",
    "instance_count": "instance_count",
    "created": "created",
    "ended": "ended",
    "arn": "arn",
    "cost_usd": "cost_usd",
    "overhead_usd": "overhead_usd",
    "recoverable_usd": "recoverable_usd",
    "recoverable_usd_per_hour": "recoverable_usd_per_hour",
    "wasted_usd": "overhead_usd",
    "goodput": "goodput",
    "gpu_utilization": "gpu_utilization_pct",
    "step_median_s": "step_median_s",
    "step_time_came_by": "step_time_came_by",
    "verdict": "verdict",
    "top_finding": "top_finding",
    "top_finding_title": "top_finding_title",
    "final": "is_final",
    "reviewed_at": "reviewed_at",
}
_COLUMNS = (
    Column("JOB"),
    Column("STATUS", goes=4),
    Column("NODES", goes=6, right=True),
    Column("HOURS", goes=5, right=True),
    Column("COST", goes=3, right=True),
    Column("OVERHEAD", goes=2, right=True),
    Column("RECOVERABLE", right=True),
    Column("TOP FINDING", goes=1, wraps=True, below=True),
)
_HOURS = {
    "billed_instance_hours": "billed_instance_s",
    "overhead_instance_hours": "wasted_instance_s",
    "recoverable_instance_hours": "recoverable_instance_s",
    "wasted_instance_hours": "wasted_instance_s",
}


def run(arguments: argparse.Namespace, query: JobQuery) -> int:
    """Prints the ranking."""
    source = archive_source(arguments.archive, arguments)
    with progress(arguments) as say:
        say("reading the archive")
        rows, unread = source.rows()
    for trouble in unread:
        print(f"trainwatch: left out: {trouble}", file=sys.stderr)
    found = ranked(matching(rows, query))
    shown = found[: query.limit]
    if arguments.format == "json":
        documents = [_document(row) for row in shown]
        deliver(arguments, as_json({"schema": SCHEMA, "archive": source.label, "jobs": documents}))
    elif arguments.format == "csv":
        deliver(arguments, _csv(shown))
    else:
        deliver(arguments, _text(arguments, source, shown, found))
    return 0


def ranked(rows: Sequence[Row]) -> list[Row]:
    """By recoverable USD; then those without a price by recoverable instance-hours; then those of which neither is known. Of
    equal ones what has more overhead, or cost more, comes first."""

    def place(row: Row) -> tuple[float, ...]:
        names = ("recoverable_usd", "recoverable_instance_s")
        rank = next((rank for rank, name in enumerate(names) if row[name] is not None), len(names))
        known = -row[names[rank]] if rank < len(names) else 0.0
        return rank, known, -(row["overhead_usd"] or 0.0), -(row["cost_usd"] or 0.0)

    return sorted(rows, key=place)


def _document(row: Row) -> dict[str, Any]:
    hours = {key: None if row[name] is None else row[name] / 3600 for key, name in _HOURS.items()}
    document = {key: row[name] for key, name in _KEYS.items()} | hours
    for key in ("created", "ended", "reviewed_at"):
        document[key] = None if document[key] is None else document[key].replace("+00:00", "Z")
    return document


def _csv(rows: Sequence[Row]) -> str:
    out = StringIO()
    writer = csv.DictWriter(out, [*_KEYS, *_HOURS], lineterminator="\n")
    writer.writeheader()
    writer.writerows(_document(row) for row in rows)
    return out.getvalue()


def _text(arguments: argparse.Namespace, source: ArchiveSource, rows: Sequence[Row], found: Sequence[Row]) -> Paper:
    paper = paper_for(arguments)
    if not rows:
        paper.print(f"No job of the archive {source.label} matches.")
        return paper
    lines = [
        (
            row["job_name"],
            status_word(row["status"]),
            DASH if row["instance_count"] is None else str(row["instance_count"]),
            _hours(row["billed_instance_s"]),
            usd(row["cost_usd"]),
            usd(row["overhead_usd"]) if row["overhead_usd"] is not None else _with_unit(row["wasted_instance_s"]),
            usd(row["recoverable_usd"])
            if row["recoverable_usd"] is not None
            else _with_unit(row["recoverable_instance_s"]),
            row["top_finding_title"] or DASH,
        )
        for row in rows
    ]
    paper.print(table(_COLUMNS, lines, paper.width), crop=False)
    paper.print()
    paper.print(_total(found))
    paper.print(
        "HOURS are billed hours times instances. RECOVERABLE is for the whole job, or so far if it was still running.",
        style="dim",
    )
    if len(found) > len(rows):
        paper.print(f"{count(len(found) - len(rows), 'more job')}; --limit shows more.", style="dim")
    return paper


def _total(rows: Sequence[Row]) -> str:
    """What all matching jobs cost, and what of it is overhead and recoverable, as far as it is known."""
    priced = [row for row in rows if row["cost_usd"] is not None]
    if not priced:
        return f"{count(len(rows), 'job')}, none with a known price."
    spent = sum(row["cost_usd"] for row in priced)
    without = len(rows) - len(priced)
    others = f", {without:,} without a known price; on the other{'s' if len(priced) > 1 else ''}" if without else ""
    said = f"{count(len(rows), 'job')}{others}: {usd(spent)} spent"
    for name in ("overhead", "recoverable"):
        known = [row[f"{name}_usd"] for row in priced if row[f"{name}_usd"] is not None]
        if not known:
            said += f", {name} not known"
            continue
        share = f" ({percent(100 * sum(known) / spent)})" if spent else ""
        unknown = sum(row[f"{name}_usd"] is None and row["cost_usd"] > 0 for row in priced)
        said += f", {name} {usd(sum(known))}{share}" + (f", not known for {count(unknown, 'job')}" if unknown else "")
    return f"{said}."


def _hours(seconds: float | None) -> str:
    return DASH if seconds is None else f"{seconds / 3600:,.1f}"


def _with_unit(seconds: float | None) -> str:
    return DASH if seconds is None else f"{seconds / 3600:,.1f} h"
