"""``archive``: keeps jobs past CloudWatch's retention, as Parquet and JSON in a folder or a bucket."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

from monitor.accounts import AccountRegion
from monitor.archive.store import Store, store_of
from monitor.aws.calls import metered
from monitor.cli.options import (
    account_source,
    checked_limit,
    chosen_cache,
    is_many,
    missing_documents,
    pairs_of,
    report_missing,
    source_of,
    sweep_of,
)
from monitor.cli.output import Column, Paper, as_json, deliver, paper_for, progress, table
from monitor.errors import BadCall
from monitor.fetch.source import JobQuery, job_query
from monitor.installed import PROGRAM
from monitor.review.across import Across, Missing
from monitor.review.archived import Source
from monitor.review.archiving import STATES, Archiver, ArchiveRequest, ArchivingResult
from monitor.settings import archive_root, read
from monitor.terminal import to_stderr

EXIT_SOME_FAILED = 3
_EVERY_JOB = 1_000_000
_COLUMNS = (Column("JOB"), Column("ARCHIVE"), Column("NOTE", goes=1, wraps=True, below=True))
_COLUMNS_ACROSS = (_COLUMNS[0], Column("ACCOUNT"), Column("REGION"), *_COLUMNS[1:])
# Where a job is, if several accounts were asked, and what became of it.
_Placed = tuple[AccountRegion | None, ArchivingResult]
_WORDS = {"archived": "archived", "unchanged": "unchanged", "kept": "kept as it was"}


def run(arguments: argparse.Namespace) -> int:
    """Archives, and prints what became of each job."""
    _check(arguments)
    most = checked_limit(arguments)
    now = datetime.now(UTC)
    settings = read()
    many = arguments.all and is_many(arguments)
    # Of several accounts none is that of the archive: the call's own credentials write it.
    region = None if many else arguments.region
    store = store_of(arguments.to or archive_root(settings), region, arguments.profile)
    account = cache(lambda: account_source(arguments))
    missing: tuple[Missing, ...] = ()
    asked: tuple[AccountRegion, ...] = ()
    broken_off: Sequence[str] = ()
    with progress(arguments) as say, metered(most):
        if many:
            asked = pairs_of(arguments, settings)
            found, named = _everywhere(arguments, asked, now, say)
            wheres: list[AccountRegion | None] = [row.where for row in found.rows]
            missing, broken_off = found.missing, [f"{where}: {why}" for where, why in found.broken_off]
        else:
            named, why = _chosen(arguments, account, now)
            wheres, broken_off = [None for _ in named], [why] if why else []
        if named:
            store.make_ready()
        ready = 0

        def said(job: str, text: str) -> None:
            nonlocal ready
            ready += text in STATES
            say(f"{ready} of {len(named)} done; {job}: {text}")

        archiver = Archiver(store, settings, chosen_cache(arguments, settings))
        outcomes = archiver.archive_all(named, lambda: datetime.now(UTC), said)
    placed = list(zip(wheres, outcomes, strict=True))
    _complain(placed)
    if arguments.format == "json":
        deliver(arguments, as_json(_document(store, placed, missing if many else None)))
    else:
        deliver(arguments, _text(arguments, store, placed))
    report_missing(missing, len(asked))
    for sentence in broken_off:
        to_stderr(f"the list of jobs is not complete: {sentence}")
    return EXIT_SOME_FAILED if missing or broken_off or any(outcome.error for outcome in outcomes) else 0


def _check(arguments: argparse.Namespace) -> None:
    if arguments.jobs and arguments.all:
        raise BadCall("Both jobs and --all were given.", "Give one of them.")
    if not arguments.jobs and not arguments.all:
        raise BadCall("No job was named.", "Give names of training jobs, or --all with --since 14d.")
    if not arguments.all:
        if arguments.all_accounts or arguments.team:
            raise BadCall("--all-accounts only works with --all.", "Add --all, or name one account with --account.")
        for option in ("since", "status", "name_contains"):
            if getattr(arguments, option) is not None:
                raise BadCall(f"--{option.replace('_', '-')} only works with --all.", "Add --all.")


def _chosen(
    arguments: argparse.Namespace, account: Callable[[], Source], now: datetime
) -> tuple[list[ArchiveRequest], str]:
    """Each job once, and why these are not all."""
    if not arguments.all:
        return [ArchiveRequest(*source_of(job, arguments, account)) for job in dict.fromkeys(arguments.jobs)], ""
    query: JobQuery = job_query(arguments.status, arguments.name_contains, arguments.since, now, _EVERY_JOB)
    source = account()
    found = source.find(query)
    return [ArchiveRequest.of(source, job) for job in found.jobs], found.broken_off


def _everywhere(
    arguments: argparse.Namespace, pairs: Sequence[AccountRegion], now: datetime, say: Callable[[str], None]
) -> tuple[Across, list[ArchiveRequest]]:
    """The jobs of several accounts."""
    query = job_query(arguments.status, arguments.name_contains, arguments.since, now, _EVERY_JOB)
    sweep = sweep_of(arguments)
    found = sweep.list_jobs(pairs, query, now, say)
    return found, [ArchiveRequest.of(sweep.source(row.where), row.job, row.where.account) for row in found.rows]


def _complain(placed: Sequence[_Placed]) -> None:
    """The failures on standard error; of those that were not tried, how many."""
    untried = [outcome for _, outcome in placed if outcome.error and outcome.why]
    for where, outcome in placed:
        if outcome.error and not outcome.why:
            at = "" if where is None else f" of {where}"
            to_stderr(f"{outcome.name}{at} is not archived: {outcome.error}")
    if untried:
        others = "1 more job was" if len(untried) == 1 else f"{len(untried):,} more jobs were"
        to_stderr(f"for the same reason {others} not tried.")


def _document(store: Store, placed: Sequence[_Placed], missing: Sequence[Missing] | None) -> dict[str, Any]:
    document = {"schema": 1, "archive": store.label, "jobs": [_at(where) | _row(outcome) for where, outcome in placed]}
    return document if missing is None else document | {"not_read": missing_documents(missing)}


def _at(where: AccountRegion | None) -> dict[str, Any]:
    return {} if where is None else {"account": where.account.name, "region": where.region}


def _row(outcome: ArchivingResult) -> dict[str, Any]:
    made = outcome.manifest
    return {
        "name": outcome.name,
        "state": outcome.state,
        "final": made.is_final if made else None,
        "bytes": sum(part.size_bytes for part in made.parts.values()) if made else None,
        "files": {name: part.path for name, part in made.parts.items()} if made else {},
        "masked": list(made.masked) if made else [],
        "why": str(outcome.error) if outcome.error else outcome.why or None,
        "healed": list(outcome.healed),
    }


def _text(arguments: argparse.Namespace, store: Store, placed: Sequence[_Placed]) -> Paper:
    paper = paper_for(arguments)
    outcomes = [outcome for _, outcome in placed]
    if not outcomes:
        paper.print("No training job matches; nothing was archived.")
        return paper
    shown = [(where, outcome) for where, outcome in placed if not outcome.error]
    if shown:
        rows = [(outcome.name, *_at(where).values(), _WORDS[outcome.state], _note(outcome)) for where, outcome in shown]
        columns = _COLUMNS if shown[0][0] is None else _COLUMNS_ACROSS
        paper.print(table(columns, rows, paper.width), crop=False)
    counts: Counter[str] = Counter(outcome.state for outcome in outcomes)
    said = ", ".join(f"{counts[state]:,} {_WORDS.get(state, state)}" for state in (*_WORDS, "failed") if counts[state])
    paper.print(f"\n{said}: {store.label}" if shown else f"{said}: {store.label}", soft_wrap=True)
    if shown:
        for command in (f"report archive:{store.label}/JOB", f"jobs --archive {store.label}"):
            paper.print(f"{PROGRAM} {command}", soft_wrap=True, style="dim")
    return paper


def _note(outcome: ArchivingResult) -> str:
    made = outcome.manifest
    assert made is not None
    notes = [f"missing or damaged, and written again: {', '.join(outcome.healed)}"] if outcome.healed else []
    if outcome.state == "kept":
        return f"{'; '.join([outcome.why, *notes])}."
    # Of log files nobody is told when they are complete.
    if outcome.state == "archived" and not made.is_final and made.job.source == "aws":
        running = "running" if made.job.is_running else "not final yet"
        notes.append(f"{f'incomplete: {outcome.why}' if outcome.why else running} (archive it again later)")
    if outcome.state == "archived" and made.masked:
        notes.append(f"masked: {', '.join(made.masked)}")
    return "; ".join(notes)
