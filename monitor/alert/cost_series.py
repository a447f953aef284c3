"""What had the job cost, at any moment? Its bill spread over the time that is billed."""

from __future__ import annotations

from datetime import datetime

import numpy as np

from monitor.alert.conditions import Threshold
from monitor.alert.pieces import Pieces, cut
from monitor.alert.tracked import Tracked
from monitor.model import Report


def cost_tracks(report: Report, when: Threshold, now: datetime) -> Tracked:
    """The cost of the whole job so far, as one track without a node."""
    usd = report.cost.usd
    if usd is None:
        gaps = [gap for gap in report.run.gaps if gap.what == "price"]
        why = " ".join(part for part in (gaps[0].why, gaps[0].remedy) if part) if gaps else ""
        return Tracked(why_none=why or "No price is known for this job's instances, so its cost is not known either.")
    phases = [phase for phase in report.phases if phase.seconds > 0]
    if not phases:
        at = np.array([(report.job.ended or report.job.created or now).timestamp()])
        amount = np.array([usd])
        return Tracked((cut(Pieces(None, at, at, amount, amount, np.array([np.nan])), when),), "USD")
    seconds = np.array([phase.seconds if phase.billed else 0.0 for phase in phases])
    grown = np.cumsum(seconds) / max(seconds.sum(), 1e-9) * usd
    grown[-1] = usd
    low = np.insert(grown[:-1], 0, 0.0)
    begins = np.array([phase.start.timestamp() for phase in phases])
    ends = np.array([phase.end.timestamp() for phase in phases])
    return Tracked((cut(Pieces(None, begins, ends, low, grown, np.full(len(ends), np.nan)), when),), "USD")
