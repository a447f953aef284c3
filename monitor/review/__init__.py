"""The whole flow: a source and a job's name go in, a Report comes out; Watch is its live form."""

from __future__ import annotations

from monitor.review.reports import report
from monitor.review.reviewer import Instead, Progress, Reviewer, review
from monitor.review.watch import Snapshot, Watch

__all__ = ["Instead", "Progress", "Reviewer", "Snapshot", "Watch", "report", "review"]
