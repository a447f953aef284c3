"""``steps``: the step reports behind a review, one row for each that a rank (or node) printed."""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from typing import Any

import pandas as pd
from rich.padding import Padding
from rich.text import Text

from monitor.cli.options import reviewer_of
from monitor.cli.output import Column, Paper, as_json, deliver, paper_for, progress, report_damage, table
from monitor.diagnose.words.step_readings import explained, reading_words
from monitor.errors import BadCall, NoData
from monitor.export.tables import steps_csv, steps_table
from monitor.model import Report
from monitor.terminal import to_stderr
from monitor.words import DASH, step_seconds

# A terminal shows the head and the tail of a long run; the other formats have all rows.
_SHOWN = 20
_COLUMNS = (
    Column("NODE"),
    Column("RANK", goes=6, right=True),
    Column("STEP", right=True),
    Column("TIME (UTC)", goes=3),
    Column("STEP TIME", right=True),
    Column("THROUGHPUT", goes=1, right=True),
    Column("LOSS", goes=2, right=True),
    Column("KIND", goes=5),
    Column("LINE", goes=4, right=True),
)


def run(arguments: argparse.Namespace) -> int:
    reviewer = reviewer_of(arguments, metrics=False)
    with progress(arguments) as say:
        report = reviewer.review(datetime.now(UTC), say)
    report_damage(report)
    steps = report.run.steps
    missing = [gap for gap in report.run.gaps if gap.what == "logs"]
    if missing and not report.run.logs.lines:
        raise NoData(f"There are no steps: {missing[0].why}", missing[0].remedy)
    for gap in missing:
        to_stderr(f"not read: {gap.sentence}")
    if steps.empty and arguments.format != "text":
        to_stderr(_why_none(report))
    if arguments.explain:
        if arguments.format != "text":
            raise BadCall(
                "--explain is text.", "Leave out --format; report --format json has the same under steps.readings."
            )
        deliver(arguments, _explained(arguments, report))
    elif arguments.format == "csv":
        deliver(arguments, steps_csv(steps))
    elif arguments.format == "json":
        deliver(arguments, as_json({"schema": 1, "steps": json.loads(_json_rows(steps))}))
    else:
        deliver(arguments, _text(arguments, report))
    return 0


def _json_rows(steps: pd.DataFrame) -> str:
    text: str = steps_table(steps).to_json(orient="records", double_precision=9)
    return text


def _text(arguments: argparse.Namespace, report: Report) -> Paper:
    paper = paper_for(arguments)
    steps = report.run.steps
    if steps.empty:
        paper.print(_why_none(report))
        return paper
    head, tail = (steps, steps.iloc[:0]) if len(steps) <= 2 * _SHOWN else (steps.head(_SHOWN), steps.tail(_SHOWN))
    rows = [_cells(row) for row in head.itertuples()]
    if len(tail):
        rows += [["…"] * len(_COLUMNS), *(_cells(row) for row in tail.itertuples())]
    paper.print(table(_COLUMNS, rows, paper.width), crop=False)
    hidden = len(steps) - len(head) - len(tail)
    if hidden:
        paper.print(f"\n{hidden:,} more rows; --format csv prints all {len(steps):,}.")
    return paper


def _explained(arguments: argparse.Namespace, report: Report) -> Paper:
    paper = paper_for(arguments)
    if report.run.steps.empty:
        paper.print(_why_none(report))
        return paper
    for line in reading_words(report.run.logs.readings):
        paper.print(Text(line))
    for reading in report.run.logs.readings:
        paper.print()
        for line in explained(reading):
            indent = len(line) - len(line.lstrip())
            paper.print(Padding(Text(line.strip()), (0, 0, 0, indent)))
    return paper


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
        lines.append(finding.recommendation.whole)
    return "\n".join(lines)
