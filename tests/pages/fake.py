"""An account made of hand-built reports, put in at the seam of ``monitor.show.data``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pandas as pd
from streamlit.testing.v1 import AppTest

from monitor.errors import NoSuchJob, TrainwatchError
from monitor.fetch.source import JobQuery, JobQueryResult
from monitor.model import ApiBill, Job, JobSummary, LogLine, LogRequest, LogSpan, Report
from monitor.review import Snapshot
from monitor.review.log_lines import LogSnapshot, LogTable, tabled
from tests.builders import START
from tests.situations import summary


@dataclass
class FakeAccount:
    """Source and watcher in one; what it was asked is kept."""

    reports: Sequence[Report] = ()
    error: TrainwatchError | None = None
    older: int = 0
    under_way: set[str] = field(default_factory=set)
    partly: set[str] = field(default_factory=set)
    """Reviewed so far as the newest lines go."""
    asked: list[str] = field(default_factory=list)
    logs: Mapping[str, Sequence[LogLine]] = field(default_factory=dict)
    """Job -> its lines in time."""
    log_error: TrainwatchError | None = None
    lineless: bool = False
    tables: dict[LogRequest, LogTable] = field(default_factory=dict)
    gives: str = "pages"
    clients: None = None

    def jobs(self, query: JobQuery) -> tuple[JobSummary, ...]:
        if self.error:
            raise self.error
        old = [
            JobSummary(f"old-{place:02d}", "Completed", START - timedelta(days=place + 1), START)
            for place in range(self.older)
        ]
        rows = [*map(summary, self.reports), *old]
        return tuple(
            row
            for row in rows
            if (not query.status or row.status == query.status) and (query.name_contains or "") in row.name
        )[: query.limit]

    def find(self, query: JobQuery) -> JobQueryResult:
        return JobQueryResult(self.jobs(query))

    def bill(self) -> ApiBill:
        return ApiBill()

    def job(self, name: str) -> Job:
        found = next((report.job for report in self.reports if report.job.name == name), None)
        if found is None:
            raise NoSuchJob(f'There is no training job "{name}".')
        return found

    def snapshot(self, name: str, urgency: int = 0) -> Snapshot:
        self.asked.append(name)
        if self.error:
            return Snapshot(error=self.error)
        if name in self.under_way:
            return Snapshot(working=True, progress="reading logs: 12,000 lines")
        for report in self.reports:
            if report.job.name == name:
                return Snapshot(report=report, updated_at=report.reviewed_at, working=name in self.partly)
        if name.startswith("old-"):
            report = self.reports[0]
            return Snapshot(report=replace(report, run=replace(report.run, job=replace(report.job, name=name))))
        return Snapshot(error=NoSuchJob(f'There is no training job "{name}".', "The nearest name is gpt-60b-run-7."))

    def lines(self, name: str, ask: LogRequest) -> LogSnapshot:
        report = next((report for report in self.reports if report.job.name == name), None)
        if self.log_error or report is None:
            missing = NoSuchJob(f'There is no training job "{name}".', "The nearest name is gpt-60b-run-7.")
            return LogSnapshot(error=self.log_error or missing)
        if self.lineless:
            return LogSnapshot(lineless=True)
        if name in self.under_way:
            return LogSnapshot(working=True, progress="reading the log")
        every = [line for line in self.logs.get(name, ()) if not ask.node or f"/{ask.node}-" in line.stream]
        begin, end = _ms(ask.start, 0), _ms(ask.end, 4_000_000_000_000)
        if ask.at is not None:
            begin = _ms(ask.at, 0) - 60_000
        span = LogSpan(
            tuple(line for line in every if begin <= line.time_ms < end),
            begin,
            end,
            older=any(line.time_ms < begin for line in every),
            newer=any(line.time_ms >= end for line in every),
        )
        growing = report.job.is_running and ask.end is None
        if ask not in self.tables:
            self.tables[ask] = tabled(span)
        return LogSnapshot(report.job, self.tables[ask], updated_at=report.reviewed_at, calls=2, growing=growing)


def _ms(moment: datetime | None, otherwise: int) -> int:
    return otherwise if moment is None else round(moment.timestamp() * 1000)


def grid(page: AppTest) -> pd.DataFrame:
    """The table of jobs, or of lines, as it is written: a column a name, a row a key; no table has no row."""
    if not (table := told(page)):
        return pd.DataFrame()
    names = [column["name"] for column in table["columns"]]
    rows = [[cell[0] if isinstance(cell, list) else cell for cell in row["cells"]] for row in table["rows"]]
    return pd.DataFrame(rows, columns=names, index=[row["key"] for row in table["rows"]])


def told(page: AppTest) -> dict[str, Any]:
    """What the browser is told of that table; nothing where there is none."""
    found = page.get("bidi_component")
    return dict(json.loads(found[0].proto.json)) if found else {}


def texts(page: AppTest) -> str:
    """Everything that a page says in words, in one string."""
    kinds: Iterable[str] = (
        "title", "markdown", "caption", "text", "info", "warning", "error", "success", "metric", "code",
    )  # fmt: skip
    parts = []
    for kind in kinds:
        for element in page.get(kind):
            body = getattr(element, "value", "") or ""
            title = getattr(getattr(element, "proto", None), "title", "")
            parts.append(f"{title} {getattr(element, 'label', '')} {body}")
    return "\n".join(parts).replace("\\", "").replace("\u2060", "")
