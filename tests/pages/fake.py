"""An account made of hand-built reports, put in at the seam of ``monitor.show.data``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from streamlit.testing.v1 import AppTest

from monitor.errors import NoSuchJob, TrainwatchError
from monitor.fetch.source import JobQuery
from monitor.model import JobSummary, Report
from monitor.review import Snapshot
from tests.builders import START
from tests.situations import summary


@dataclass
class FakeAccount:
    """Source and watcher in one; what it was asked is kept."""

    reports: Sequence[Report] = ()
    error: TrainwatchError | None = None
    older: int = 0
    under_way: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)

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

    def snapshot(self, name: str) -> Snapshot:
        self.asked.append(name)
        if self.error:
            return Snapshot(error=self.error)
        if name in self.under_way:
            return Snapshot(working=True, progress="reading logs: 12,000 lines")
        for report in self.reports:
            if report.job.name == name:
                return Snapshot(report=report, updated_at=report.reviewed_at)
        if name.startswith("old-"):
            report = self.reports[0]
            return Snapshot(report=replace(report, run=replace(report.run, job=replace(report.job, name=name))))
        return Snapshot(error=NoSuchJob(f'There is no training job "{name}".', "The nearest name is gpt-60b-run-7."))


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
