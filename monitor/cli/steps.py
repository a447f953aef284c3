"""``steps``: the step reports behind a review, one row for each that a rank (or node) printed."""

from __future__ import annotations

import argparse
import json
import sys
from datetime import UTC, datetime
from io import StringIO
from typing import Any

import pandas as pd
from rich.table import Table

from monitor.cli.output import add_output_options, as_json, console, deliver, progress
from monitor.cli.sources import add_job_options, chosen_cache, job_source
from monitor.errors import NoData
from monitor.export.tables import steps_csv, steps_table
from monitor.model import Report
from monitor.parse.user import step_pattern
from monitor.review import Reviewer
from monitor.settings import read
from monitor.words import DASH, step_seconds

# A terminal shows the head and the tail of a long run; the other formats have all rows.
_SHOWN = 20


def add_to(commands: Any) -> None:
    """Adds the command's grammar."""
    command = commands.add_parser("steps", help="the step reports of one job", description=__doc__)
    add_job_options(command)
    add_output_options(command, ("text", "csv", "json"))
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints the steps."""
    extra = (step_pattern(arguments.step_regex),) if arguments.step_regex else ()
    source, name = job_source(arguments)
    settings = read()
    cache = chosen_cache(arguments, settings)
    with progress(arguments) as say:
        reviewer = Reviewer(source, name, settings, extra, metrics=False, cache=cache)
        report = reviewer.review(datetime.now(UTC), say)
    steps = report.run.steps
    missing = [gap for gap in report.run.gaps if gap.what == "logs"]
    if missing and not report.run.logs.lines:
        raise NoData(f"There are no steps: {missing[0].why}", missing[0].remedy)
    for gap in missing:
        print(f"trainwatch: not read: {gap.why} {gap.remedy}".rstrip(), file=sys.stderr)
    if steps.empty and arguments.format != "text":
        print(f"trainwatch: {_why_none(report)}", file=sys.stderr)
    if arguments.format == "csv":
        deliver(arguments, steps_csv(steps))
    elif arguments.format == "json":
        deliver(arguments, as_json({"schema": 1, "steps": json.loads(_json_rows(steps))}))
    else:
        deliver(arguments, _text(arguments, report))
    return 0


def _json_rows(steps: pd.DataFrame) -> str:
    text: str = steps_table(steps).to_json(orient="records", double_precision=9)
    return text


def _text(arguments: argparse.Namespace, report: Report) -> str:
    out = StringIO()
    paper = console(arguments, out)
    steps = report.run.steps
    if steps.empty:
        paper.print(_why_none(report))
        return out.getvalue()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("NODE", "RANK", "STEP", "TIME (UTC)", "STEP TIME", "THROUGHPUT", "LOSS", "KIND", "LINE"):
        table.add_column(title, justify="left" if title in {"NODE", "KIND", "TIME (UTC)"} else "right", no_wrap=True)
    head, tail = (steps, steps.iloc[:0]) if len(steps) <= 2 * _SHOWN else (steps.head(_SHOWN), steps.tail(_SHOWN))
    for row in head.itertuples():
        table.add_row(*_cells(row))
    if len(tail):
        table.add_row(*["…"] * 9)
        for row in tail.itertuples():
            table.add_row(*_cells(row))
    paper.print(table)
    hidden = len(steps) - len(head) - len(tail)
    if hidden:
        paper.print(f"\n{hidden:,} more rows; --format csv prints all {len(steps):,}.")
    return out.getvalue()


def _cells(row: Any) -> list[str]:
    def shown(value: Any, form: str = "") -> str:
        return DASH if pd.isna(value) or value == "" else format(value, form)

    throughput = DASH if pd.isna(row.throughput) else f"{row.throughput:,.4g} {row.throughput_unit}"
    return [
        shown(row.node),
        shown(row.rank),
        shown(row.step),
        DASH if pd.isna(row.timestamp) else f"{row.timestamp:%m-%d %H:%M:%S}",
        step_seconds(row.step_time_s),
        throughput,
        shown(row.loss, ".5g"),
        row.kind + (", warm-up" if row.warm_up else ""),
        DASH if row.line < 1 else str(row.line),
    ]


def _why_none(report: Report) -> str:
    finding = next((finding for finding in report.findings if finding.id == "no-step-lines"), None)
    if finding is None:
        return "No steps."
    lines = [finding.summary, *(f"  {evidence.line}" for evidence in finding.evidence if evidence.line)]
    if finding.recommendation:
        lines.append(finding.recommendation.text)
    return "\n".join(lines)
