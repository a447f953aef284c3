"""What would be lost if a running job died now? The work since its last checkpoint, in time and money."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import pandas as pd

from monitor.analyze.lost import LostWork
from monitor.analyze.saves import Save
from monitor.model import AtRisk


def at_risk(
    saved: Sequence[Save],
    journal: pd.DataFrame,
    until: datetime,
    usd_per_hour: float | None,
    lost: LostWork | None = None,
) -> AtRisk | None:
    """Of a running job that worked ``until`` then; None where no checkpoint was seen.

    ``saved`` are the checkpoints of ``monitor.analyze.saves``, ``journal`` is that of ``monitor.analyze.journal``;
    ``usd_per_hour`` is of the whole job.
    """
    if not saved:
        return None
    last = saved[-1]
    # What was lost already is no longer at risk.
    begun = [loss.again for loss in (lost.losses if lost else ()) if loss.again is not None]
    seconds = max(0.0, (until - max([last.at, *begun])).total_seconds())
    reached = journal["step"].iloc[-1] if len(journal) else pd.NA
    steps = None if last.step is None or pd.isna(reached) else max(0, int(reached) - last.step)
    return AtRisk(last.at, last.step, steps, seconds, None if usd_per_hour is None else seconds * usd_per_hour / 3600)
