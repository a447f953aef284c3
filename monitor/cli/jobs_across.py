"""``jobs --all-accounts``: the jobs of many accounts and regions in one list, newest first; what could not be read is named."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from rich.table import Table
from rich.text import Text

from monitor.archive.cache import KeptVerdict as Kept
from monitor.archive.document import jobs_document
from monitor.cli.job_lists import Listed, job_table, kept_of, verdict_document, watch
from monitor.cli.options import (
    EXIT_SOME_MISSING,
    chosen_cache,
    missing_documents,
    pairs_of,
    query_of,
    say_missing,
    sweep_of,
)
from monitor.cli.output import Paper, as_json, csv_text, deliver, paper_for, progress
from monitor.fetch.source import JobQuery
from monitor.review.across import Across, Placed
from monitor.settings import read
from monitor.words import count

# Of a CSV, in the order of its columns; a pair that could not be read is a row without a job.
_CSV = (
    *("account", "region", "name", "status", "instance_type", "instance_count", "created", "ended"),
    *("verdict", "level", "reviewed_at", "team", "project", "not_read"),
)


def run(arguments: argparse.Namespace) -> int:
    """Prints the list, once or again and again; the exit code says whether something is missing in it."""
    settings = read()
    pairs, cache = pairs_of(arguments, settings), chosen_cache(arguments, settings)
    sweep = sweep_of(arguments)

    def look(say: Callable[[str], None] = lambda text: None) -> _Listing:
        now = datetime.now(UTC)
        query = query_of(arguments, now)
        found = sweep.look(pairs, query, now, say)
        rows = found.rows[: query.limit]
        endpoints = {where: sweep.endpoint(where) for where in {row.where for row in rows}}
        return _Listing(found, rows, [kept_of(cache, endpoints[row.where], row.job) for row in rows], query)

    if arguments.watch:
        return watch(arguments, lambda: _listed(look()))
    with progress(arguments, "listing jobs") as say:
        seen = look(say)
    if arguments.format == "json":
        deliver(arguments, as_json(seen.document()))
    elif arguments.format == "csv":
        deliver(arguments, _csv(seen))
    else:
        deliver(arguments, _text(arguments, seen))
    say_missing(seen.found.missing, len(pairs))
    return EXIT_SOME_MISSING if seen.found.missing else 0


@dataclass(frozen=True, slots=True)
class _Listing:
    """The list of all accounts as of one moment."""

    found: Across
    rows: Sequence[Placed]
    """As many as are shown."""
    verdicts: Sequence[Kept | None]
    query: JobQuery

    @property
    def more(self) -> bool:
        """Whether further jobs match, beyond those that --limit lets pass."""
        return bool(self.found.more) or len(self.found.rows) > self.query.limit

    @property
    def what(self) -> str:
        return f"{count(len(self.rows), 'job')} in {_where(self.found)}"

    def document(self) -> dict[str, Any]:
        jobs, missing = _documents(self.rows, self.verdicts), missing_documents(self.found.missing)
        return {"schema": 1, "jobs": jobs, "not_read": missing, "more": self.more}


def _listed(seen: _Listing) -> Listed:
    """The list in the forms in which it is repeated."""

    def drawn(width: int) -> Table | Text:
        return _table(seen, width) if seen.rows else Text("No training job matches.")

    troubles = tuple(f"{one.where}: {one.error}" for one in seen.found.missing)
    return Listed(seen.found.at, seen.what, seen.document(), drawn, troubles)


def _documents(rows: Sequence[Placed], verdicts: Sequence[Kept | None]) -> list[dict[str, Any]]:
    told = jobs_document(tuple(row.job for row in rows))["jobs"]
    return [
        {"account": row.where.account.name, "region": row.where.region}
        | document
        | verdict_document(kept)
        | {key: row.job.tag(key) or row.where.account.tag(key) for key in ("team", "project")}
        for row, document, kept in zip(rows, told, verdicts, strict=True)
    ]


def _csv(seen: _Listing) -> str:
    missing = [
        {"account": one["account"], "region": one["region"], "not_read": one["why"]}
        for one in missing_documents(seen.found.missing)
    ]
    return csv_text(_CSV, [*_documents(seen.rows, seen.verdicts), *missing])


def _text(arguments: argparse.Namespace, seen: _Listing) -> Paper:
    paper = paper_for(arguments)
    if not seen.rows:
        paper.print(f"No training job matches in {_where(seen.found)}.")
        return paper
    paper.print(_table(seen, paper.width), crop=False)
    paper.print(f"\n{seen.what}.")
    if seen.more:
        paper.print("There are further ones: --limit shows more.", style="dim")
    return paper


def _table(seen: _Listing, width: int) -> Table:
    jobs, where = [row.job for row in seen.rows], [row.where for row in seen.rows]
    return job_table(jobs, seen.verdicts, seen.found.at, width, where)


def _where(found: Across) -> str:
    """``3 of 4 accounts and regions``."""
    whole = len(found.asked)
    of = f"{found.answered} of {whole}" if found.missing else f"{whole}"
    return f"{of} accounts and regions" if whole != 1 else str(found.asked[0])
