"""How soon is a job to be looked at again? By what is known of it."""

from __future__ import annotations

from datetime import timedelta

from monitor.review import Snapshot
from monitor.show.pace import DONE, EMPTY, IDLE, RUNNING, WAITING, Pace
from monitor.show.trouble import is_lasting

# Metrics and lines of the last minutes come late.
_SETTLED_AFTER = timedelta(minutes=2)


def pace_of(snapshot: Snapshot, more: bool = False) -> Pace:
    """Never, once the job is over and all of it is read; ``more`` says that something beside the report is under way."""
    report = snapshot.report
    if report is None:
        return EMPTY if snapshot.error is None else DONE if is_lasting(snapshot.error) else IDLE
    if report.job.is_running and not report.archive:
        return RUNNING
    # Of a job that is over, what is there may be its newest lines alone.
    if more or snapshot.working:
        return WAITING
    if report.archive:
        return DONE
    ended = report.job.ended
    return DONE if ended is None or report.reviewed_at - ended > _SETTLED_AFTER else IDLE
