"""Lists of jobs: what is said of each without a call, the list again and again for ``--watch``, and the jobs of an archive,
those with the most to save first."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from monitor.accounts import AccountRegion
from monitor.archive.cache import Cache, CachedVerdict
from monitor.archive.document import SCHEMA, json_types
from monitor.cli.grammar.reviewing import SHORTEST_S
from monitor.cli.options import archive_source, seconds_of
from monitor.cli.output import (
    VERDICT_STYLES,
    Column,
    Paper,
    as_json,
    as_line,
    csv_text,
    deliver,
    on_screen,
    paper_for,
    progress,
    table,
)
from monitor.diagnose.headline import status_word
from monitor.errors import BadCall, TrainwatchError
from monitor.fetch.source import JobQuery
from monitor.model import JobSummary, Mute
from monitor.review.archived import ArchiveSource, Row, matching
from monitor.review.muted import is_muted, mutes
from monitor.terminal import lost_output, to_stderr
from monitor.words import DASH, clock, count, duration, instant, percent, usd

# A verdict on a running job that is older says so.
_FRESH_S = 120.0


def cached_verdict(cache: Cache | None, endpoint: str | None, job: JobSummary) -> CachedVerdict | None:
    """The verdict of the last review; nothing that was said before the job changed its status: of a run, once it has
    ended."""
    kept = None if cache is None else cache.verdicts.of(endpoint, job.name, job.created)
    return kept if kept is not None and kept.status == job.status else None


def muted_names(verdicts: Iterable[tuple[str, CachedVerdict | None]]) -> frozenset[str]:
    """Names of jobs whose verdict is of a finding that this user muted. A file of mutes that cannot be used keeps nobody
    from the list; report says what is wrong with it."""
    known: Sequence[Mute] = ()
    with suppress(BadCall):
        known = mutes()
    return frozenset(name for name, kept in verdicts if kept and kept.finding and is_muted(kept.finding, name, known))


def verdict_document(cached: CachedVerdict | None) -> dict[str, Any]:
    """For machines."""
    return {
        "verdict": None if cached is None else cached.headline,
        "level": None if cached is None else cached.level,
        "reviewed_at": None if cached is None else json_types(cached.reviewed_at),
    }


def verdict_text(job: JobSummary, cached: CachedVerdict | None, at: datetime, muted: bool) -> Text:
    """For people; "" where the job was not reviewed."""
    if cached is None:
        return Text("")
    age_s = (at - cached.reviewed_at).total_seconds()
    old = f" ({duration(age_s)} ago)" if job.ended is None and age_s > _FRESH_S else ""
    if muted:
        return Text(f"{cached.headline}{old} (muted)", "dim")
    return Text(f"{cached.headline}{old}", VERDICT_STYLES.get(cached.level, ""))


_VERDICT = Column("VERDICT", goes=1, wraps=True, below=True)
_ACCOUNT = (Column("ACCOUNT"), Column("REGION"))
_JOB_COLUMNS = (
    Column("JOB"),
    *_ACCOUNT,
    Column("STATUS"),
    _VERDICT,
    Column("RAN", goes=2, right=True),
    Column("INSTANCES", goes=3),
    Column("CREATED", goes=4),
)


def job_table(
    jobs: Sequence[JobSummary],
    verdicts: Sequence[CachedVerdict | None],
    at: datetime,
    width: int,
    where: Sequence[AccountRegion] = (),
) -> Table:
    """A row a job, with its account and region where ``where`` tells them; without verdicts where there are none."""
    left_out = {*(() if where else _ACCOUNT), *(() if any(verdicts) else (_VERDICT,))}
    shown = [column for column in _JOB_COLUMNS if column not in left_out]
    muted = muted_names((job.name, kept) for job, kept in zip(jobs, verdicts, strict=True))
    places: Sequence[AccountRegion | None] = where or [None] * len(jobs)
    rows = []
    for job, kept, place in zip(jobs, verdicts, places, strict=True):
        started_s = ((job.ended or at) - job.started).total_seconds() if job.started else None
        cells = {
            "JOB": Text(job.name),
            "ACCOUNT": Text("" if place is None else place.account.name),
            "REGION": Text("" if place is None else place.region),
            "STATUS": Text(status_word(job.status)),
            "VERDICT": verdict_text(job, kept, at, job.name in muted),
            "RAN": Text(duration(started_s)),
            "INSTANCES": Text(f"{job.instance_count} x {job.instance_type}" if job.instance_type else DASH),
            "CREATED": Text(instant(job.created)),
        }
        rows.append([cells[column.title] for column in shown])
    return table(shown, rows, width)


@dataclass(frozen=True, slots=True)
class Listed:
    """A list as of one moment, in the forms in which it is repeated."""

    at: datetime
    what: str
    """``12 jobs``"""
    document: Mapping[str, Any]
    table: Callable[[int], Table | Text]
    """By the width there is; a sentence where no job matches."""
    troubles: tuple[str, ...] = ()
    """What of it could not be read."""


def watch(
    arguments: argparse.Namespace, listed_now: Callable[[], Listed], sleep: Callable[[float], None] = time.sleep
) -> int:
    """Lists until Ctrl-C."""
    interval_s = max(SHORTEST_S, seconds_of("--interval", arguments.interval))
    in_place = arguments.format == "text" and sys.stdout.isatty()
    paper = Paper.on(sys.stdout)
    found: Listed | None = None
    said: tuple[str, ...] = ()
    with (
        suppress(KeyboardInterrupt),
        on_screen(Live(console=paper, auto_refresh=False)) if in_place else nullcontext() as live,
    ):
        while True:
            try:
                found = listed_now()
                troubles, is_new = found.troubles, True
            except TrainwatchError as error:
                if found is None or isinstance(error, BadCall):
                    raise
                troubles, is_new = (str(error),), False
            if live is not None:
                live.update(_screen(found, troubles, interval_s, paper.width), refresh=True)
            else:
                for trouble in troubles:
                    # One that goes on is said once.
                    if trouble not in said:
                        to_stderr(trouble)
                if is_new:
                    _print(arguments, found)
            said = troubles
            if lost_output():
                break  # nobody reads it any more
            sleep(interval_s)
    return 0


def check_watch(arguments: argparse.Namespace) -> None:
    """BadCall where something cannot be repeated."""
    seconds_of("--interval", arguments.interval)
    if arguments.archive is not None:
        raise BadCall("--watch lists an account; an archive does not change by itself.", "Leave out --watch.")
    if arguments.format == "csv" or arguments.output is not None:
        raise BadCall(
            "--watch prints to standard output, as text or JSON lines.", "Leave out --output and --format csv."
        )


def _print(arguments: argparse.Namespace, found: Listed) -> None:
    if arguments.format == "json":
        print(as_line({"at": found.at.isoformat(), **found.document}), flush=True)
        return
    print(_heading(found))
    paper = paper_for(arguments)
    paper.print(found.table(paper.width), crop=False)
    deliver(arguments, paper)
    sys.stdout.flush()


def _heading(found: Listed) -> str:
    return f"{found.what} as of {clock(found.at)}"


def _screen(found: Listed, troubles: tuple[str, ...], interval_s: float, width: int) -> Group:
    head = Text(f"{_heading(found)}, every {duration(interval_s)}; Ctrl-C ends it", "dim")
    return Group(head, *(Text(trouble, "yellow") for trouble in troubles), found.table(width))


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
        to_stderr(f"left out: {trouble}")
    found = ranked(matching(rows, query))
    shown = found[: query.limit]
    if arguments.format == "json":
        documents = [_document(row) for row in shown]
        deliver(arguments, as_json({"schema": SCHEMA, "archive": source.label, "jobs": documents}))
    elif arguments.format == "csv":
        deliver(arguments, csv_text([*_KEYS, *_HOURS], map(_document, shown)))
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
