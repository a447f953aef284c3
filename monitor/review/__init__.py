"""The whole flow: a source and a job's name go in, a Report comes out; Watch is its live form.

The room can be called: ``from monitor import review; review("my-job")`` is what a notebook needs.
"""

from __future__ import annotations

import sys
from types import ModuleType

from monitor.review.notebook import ShownReport, review
from monitor.review.reports import report
from monitor.review.reviewer import Instead, Progress, ReportPace, Reviewer
from monitor.review.watch import Snapshot, Watch

__all__ = ["Instead", "Progress", "ReportPace", "Reviewer", "ShownReport", "Snapshot", "Watch", "report", "review"]


class _Room(ModuleType):
    """This module, as something that can be called."""

    __call__ = staticmethod(review)


sys.modules[__name__].__class__ = _Room
