"""``jobs --all-accounts``: the jobs of many accounts and regions in one list, newest first; what could not be read is named."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from datetime import UTC, datetime
from io import StringIO
from typing import Any

from rich.text import Text

from monitor.accounts import AccountRegion
from monitor.archive.document import jobs_document
from monitor.archive.verdicts import Kept
from monitor.cli.accounts import EXIT_SOME_MISSING, missing_documents, pairs_of, say_missing, sweep_of
from monitor.cli.kept_verdicts import instances, kept_of, muted_names, ran, verdict_document, verdict_text
from monitor.cli.output import as_json, deliver, paper_for, progress
from monitor.cli.paper import Paper
from monitor.cli.sources import chosen_cache
from monitor.cli.tables import Column, table
from monitor.diagnose.headline import status_word
from monitor.errors import TrainwatchError
from monitor.fetch.source import JobQuery
from monitor.review.across import Across, Placed, Sweep
from monitor.settings import read
from monitor.words import count, instant

_COLUMNS = (
    Column("JOB"),
    Column("ACCOUNT"),
    Column("REGION"),
    Column("STATUS"),
    Column("VERDICT", goes=1, wraps=True, below=True),
    Column("RAN", goes=2, right=True),
    Column("INSTANCES", goes=3),
    Column("CREATED", goes=4),
)
# Of a CSV, in the order of its columns; a pair that could not be read is a row without a job.
_CSV = (
    *("account", "region", "name", "status", "instance_type", "instance_count", "created", "ended"),
    *("verdict", "level", "reviewed_at", "team", "project", "not_read"),
)
_Verdicts = Sequence[Kept | None]


def run(arguments: argparse.Namespace, query: JobQuery) -> int:
    """Prints the list; the exit code says whether something is missing in it."""
    settings = read()
    pairs, cache = pairs_of(arguments, settings), chosen_cache(arguments, settings)
    sweep = sweep_of(arguments)
    with progress(arguments, "listing jobs") as say:
        found = sweep.look(pairs, query, datetime.now(UTC), say)
    rows = found.rows[: query.limit]
    endpoints = {where: _endpoint(sweep, where) for where in {row.where for row in rows}}
    verdicts = [kept_of(cache, endpoints[row.where], row.job) for row in rows]
    if arguments.format == "json":
        document = {"schema": 1, "jobs": _documents(rows, verdicts), "not_read": missing_documents(found.missing)}
        deliver(arguments, as_json(document | {"more": _more(found, query)}))
    elif arguments.format == "csv":
        deliver(arguments, _csv(rows, verdicts, found))
    else:
        deliver(arguments, _text(arguments, rows, verdicts, found, query))
    say_missing(found.missing, len(pairs))
    return EXIT_SOME_MISSING if found.missing else 0


def _endpoint(sweep: Sweep, where: AccountRegion) -> str | None:
    try:
        return sweep.source(where).endpoint()
    except TrainwatchError:
        return None


def _more(found: Across, query: JobQuery) -> bool:
    """Whether further jobs match, beyond those that --limit lets pass."""
    return bool(found.more) or len(found.rows) > query.limit


def _documents(rows: Sequence[Placed], verdicts: _Verdicts) -> list[dict[str, Any]]:
    told = jobs_document(tuple(row.job for row in rows))["jobs"]
    return [
        {"account": row.where.account.name, "region": row.where.region}
        | document
        | verdict_document(kept)
        | {key: row.job.tag(key) or row.where.account.tag(key) for key in ("team", "project")}
        for row, document, kept in zip(rows, told, verdicts, strict=True)
    ]


def _csv(rows: Sequence[Placed], verdicts: _Verdicts, found: Across) -> str:
    out = StringIO()
    writer = csv.DictWriter(out, _CSV, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_documents(rows, verdicts))
    for one in missing_documents(found.missing):
        writer.writerow({"account": one["account"], "region": one["region"], "not_read": one["why"]})
    return out.getvalue()


def _text(
    arguments: argparse.Namespace, rows: Sequence[Placed], verdicts: _Verdicts, found: Across, query: JobQuery
) -> Paper:
    paper = paper_for(arguments)
    if not rows:
        paper.print(f"No training job matches in {_where(found)}.")
        return paper
    paper.print(_table(rows, verdicts, found.at, paper.width), crop=False)
    paper.print(f"\n{count(len(rows), 'job')} in {_where(found)}.")
    if _more(found, query):
        paper.print("There are further ones: --limit shows more.", style="dim")
    return paper


def _table(rows: Sequence[Placed], verdicts: _Verdicts, at: datetime, width: int) -> Any:
    shown = [column for column in _COLUMNS if column.title != "VERDICT" or any(verdicts)]
    muted = muted_names((row.job.name, kept) for row, kept in zip(rows, verdicts, strict=True))
    lines = []
    for row, kept in zip(rows, verdicts, strict=True):
        job = row.job
        cells = {
            "JOB": Text(job.name),
            "ACCOUNT": Text(row.where.account.name),
            "REGION": Text(row.where.region),
            "STATUS": Text(status_word(job.status)),
            "VERDICT": verdict_text(job, kept, at, job.name in muted),
            "RAN": Text(ran(job, at)),
            "INSTANCES": Text(instances(job)),
            "CREATED": Text(instant(job.created)),
        }
        lines.append([cells[column.title] for column in shown])
    return table(shown, lines, width)


def _where(found: Across) -> str:
    """``3 of 4 accounts and regions``."""
    whole = len(found.asked)
    of = f"{found.answered} of {whole}" if found.missing else f"{whole}"
    return f"{of} accounts and regions" if whole != 1 else str(found.asked[0])
