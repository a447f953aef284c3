"""``top``: the jobs of the account in the terminal, live, a row each, worst first; Enter opens one. Nothing here draws."""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from monitor.charts.sparkline import sparkline
from monitor.cli.options import account_source, archive_source, chosen_cache, query_of, source_of
from monitor.diagnose.headline import status_word
from monitor.diagnose.stakes import stakes_usd
from monitor.diagnose.verdict import Level, by_urgency, judge, mean_of, urgency_key_of
from monitor.diagnose.words.step_readings import came_by
from monitor.errors import CannotDo, TrainwatchError
from monitor.faults import fault
from monitor.fetch.source import JobQuery
from monitor.model import JobSummary
from monitor.review import Snapshot, Watch
from monitor.review.archived import Source
from monitor.review.log_lines import LogWatch
from monitor.settings import read
from monitor.words import DASH, step_seconds, usd


def run(arguments: argparse.Namespace) -> int:
    """Takes the terminal until it is given back."""
    query_of(arguments, datetime.now(UTC))
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise CannotDo("top needs a terminal to draw on.", "Use report JOB, or jobs --watch.")
    if arguments.archive is not None:
        source: Source = archive_source(arguments.archive, arguments)
        job: str | None = arguments.job
    elif arguments.job is not None:
        source, job = source_of(arguments.job, arguments, lambda: account_source(arguments))
    else:
        source, job = account_source(arguments), None
    settings = read()
    watch = Watch(source, settings=settings, cache=chosen_cache(arguments, settings))
    board = Board(source, watch, lambda: query_of(arguments, datetime.now(UTC))) if job is None else None
    # Imported late: what draws a whole screen is large.
    from monitor.cli.top_screens import Top

    top = Top(watch, LogWatch(source, settings=settings), board, job)
    top.run(mouse=False)
    if top.failure is not None:
        raise fault(top.failure, "The screen")
    if top.interrupted:
        raise KeyboardInterrupt
    return 0


#: The list itself is asked for so often.
LIST_EVERY_S = 20.0
#: So many jobs are reviewed, the most urgent ones: each review costs calls.
REVIEWED = 25
_BLOCKS = "▁▂▃▄▅▆▇█"
# Of a job that is not among those that are reviewed.
_UNASKED = Snapshot()


@dataclass(frozen=True, slots=True)
class TopRow:
    """One job in words."""

    name: str
    status: str
    level: Level
    words: str
    saved: str
    """What could be recovered: an hour of a job that runs, in all of one that has ended."""
    gpu: str
    course: str
    """The GPU's over time, as blocks; empty without data."""
    step: str
    step_came_by: str = ""
    """How the step time was come by, where it is not simply printed."""


@dataclass(frozen=True, slots=True)
class Seen:
    """All rows as of one moment."""

    rows: tuple[TopRow, ...] = ()
    trouble: str = ""
    """Why the list is old, or missing."""
    listed: bool = False
    waiting: int = 0
    """Reviews that have told nothing yet."""


class Board:
    """The jobs that a query finds, reviewed by a ``Watch``. ``rows_now`` never blocks: the list is asked for beside it."""

    def __init__(self, source: Source, watch: Watch, query: Callable[[], JobQuery]) -> None:
        self._source, self._watch, self._query = source, watch, query
        self._lock = threading.Lock()
        self._jobs: tuple[JobSummary, ...] = ()
        self._trouble, self._listed = "", False
        self._due, self._asking = 0.0, False
        self._known: dict[str, tuple[JobSummary, Snapshot, TopRow, tuple[float, ...]]] = {}

    def rows_now(self) -> Seen:
        """The rows as of now, worst first."""
        self._list_if_due()
        with self._lock:
            jobs, trouble, listed = self._jobs, self._trouble, self._listed
        urgent = by_urgency(jobs, datetime.now(UTC))[:REVIEWED]
        known = {job.name: self._watch.snapshot(job.name, rank) for rank, job in enumerate(urgent)}
        waiting = sum(each.report is None and each.error is None for each in known.values())
        return Seen(self._rows(jobs, known), trouble, listed, waiting)

    def _rows(self, jobs: Sequence[JobSummary], asked: Mapping[str, Snapshot]) -> tuple[TopRow, ...]:
        """What did not change since the last look is not worked out again."""
        known = {}
        for job in jobs:
            snapshot = asked.get(job.name, _UNASKED)
            before = self._known.get(job.name)
            if before is None or before[0] != job or before[1] is not snapshot:
                before = (job, snapshot, row_of(job, snapshot), _rank(job, snapshot))
            known[job.name] = before
        self._known = known
        return tuple(row for _, _, row, _ in sorted(known.values(), key=lambda each: each[3]))

    def _list_if_due(self) -> None:
        with self._lock:
            if self._asking or time.monotonic() < self._due:
                return
            self._asking = True
        threading.Thread(target=self._list, name="list of jobs", daemon=True).start()

    def _list(self) -> None:
        try:
            found, trouble = self._source.with_instances(self._source.jobs(self._query())), ""
        except TrainwatchError as error:
            found, trouble = None, str(error)
        except Exception as error:  # a bug must not leave an empty screen without a word
            found, trouble = None, str(fault(error, "Listing jobs"))
        with self._lock:
            self._jobs = self._jobs if found is None else found
            self._trouble, self._listed = trouble, self._listed or found is not None
            self._due, self._asking = time.monotonic() + LIST_EVERY_S, False


def _rank(job: JobSummary, snapshot: Snapshot) -> tuple[float, ...]:
    return urgency_key_of(job, snapshot.report)


def row_of(job: JobSummary, snapshot: Snapshot) -> TopRow:
    report = snapshot.report
    level, words = _standing(snapshot)
    if report is None:
        return TopRow(job.name, status_word(job.status), level, words, DASH, DASH, "", DASH)
    came = came_by(report.run.logs.readings)
    saved, gpu = stakes_usd(report), mean_of(report, "gpu_utilization")
    return TopRow(
        job.name,
        status_word(report.job.status),
        level,
        words,
        f"{usd(saved)}{'/h' if report.job.is_running and saved is not None else ''}",
        DASH if gpu is None else f"{gpu:.0f}",
        blocks(sparkline(report.run.metrics, "gpu_utilization"), 8),
        f"{step_seconds(report.steps.median_s)}{'*' if came else ''}" if report.steps else DASH,
        came if report.steps else "",
    )


def _standing(snapshot: Snapshot) -> tuple[Level, str]:
    if snapshot is _UNASKED:
        return "unreviewed", "not reviewed (Enter reviews it)"
    if snapshot.report is not None:
        verdict = judge(snapshot.report)
        return verdict.level, verdict.headline
    if snapshot.error is not None:
        return "unknown", f"Review failed: {snapshot.error.message}"
    return "waiting", snapshot.progress or "reviewing…"


def blocks(values: Sequence[float | None], width: int) -> str:
    """Percent over time as so many blocks, each the mean of its piece; a space is a piece without data."""
    out, width = [], min(width, len(values))
    for at in range(width):
        first, last = at * len(values) // width, (at + 1) * len(values) // width
        piece = [each for each in values[first : max(last, first + 1)] if each is not None]
        mean = sum(piece) / len(piece) if piece else None
        out.append(" " if mean is None else _BLOCKS[min(len(_BLOCKS) - 1, int(mean / 100 * len(_BLOCKS)))])
    return "".join(out)


def short(name: str, width: int) -> str:
    """A job's name in so many columns; its beginning and its end tell runs apart."""
    if len(name) <= width:
        return name
    tail = max(1, width // 4)
    return f"{name[: width - tail - 1]}…{name[-tail:]}"
