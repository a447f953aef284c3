"""What does the newest report know of its log? Worked out once per report, for the Logs page and for links to it."""

from __future__ import annotations

from datetime import datetime

from monitor.diagnose.log_places import LogContext, Quote, log_context
from monitor.model import Evidence, Report
from monitor.show import data
from monitor.show.logs import address as log_address

NOTHING = LogContext((), (), None, (), {})
# So much of a line is looked for where its time is not known.
_FIND = 60


def context_of(report: Report | None) -> LogContext:
    """Quotes, places, ranks; nothing as long as there is no report."""
    return NOTHING if report is None else data.of_report(report, "log", lambda: log_context(report))


def node_names(report: Report | None) -> tuple[str, ...]:
    """The nodes by name, as far as they are known."""
    return () if report is None else tuple(name for name in report.job.node_names if name)


def link_of(report: Report, finding_id: str, fact: Evidence, number: int) -> dict[str, str]:
    """The query parameters of the log at the line that a fact quotes; where its time is not known, a search for it."""
    quote: Quote | None = next(
        (quote for quote in context_of(report).quotes if quote.key == f"{finding_id}.{number}"), None
    )
    at: datetime | None = quote.at if quote is not None else fact.start
    if at is not None:
        return log_address.link(report.job.name, at, f"{finding_id}.{number}")
    text = " ".join((fact.line or "").split()).removesuffix("…")[:_FIND]
    return log_address.link(report.job.name, report.job.started or report.job.created, find=text)
