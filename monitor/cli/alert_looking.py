"""How ``alert`` looks at a job: the review, the address of its page, and whether its step times are published."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from monitor.alert.ledger import Ledger, durable
from monitor.errors import BadCall, TrainwatchError
from monitor.fetch.source import JobSource
from monitor.model import Report

LookAt = Callable[[datetime, Callable[[str], None]], Report]


@dataclass(frozen=True, slots=True)
class Looking:
    """What a look at a job consists of."""

    look_at: LookAt
    public_url: str = ""
    """Of the dashboard."""
    publish: Callable[[Report, datetime], str] = lambda report, now: ""
    """Done with each report; gives what was in the way, or nothing."""


def publisher(source: JobSource, path: Path | None) -> Callable[[Report, datetime], str]:
    """Puts what is new of a report's step times into CloudWatch. BadCall for jobs of no account."""
    # Imported late: log files need no AWS.
    from monitor.alert.publish import publish

    if (clients := source.clients) is None:
        raise BadCall("--publish puts metrics into a job's account, and this job has none.", "Leave it out.")
    ledger = Ledger(durable(path))
    for sentence in ledger.damage():
        print(f"trainwatch: {sentence}", file=sys.stderr)

    def published(report: Report, now: datetime) -> str:
        try:
            publish(clients, ledger, report, now)
        except TrainwatchError as error:
            return f"Step times were not published: {error}"
        return ""

    return published
