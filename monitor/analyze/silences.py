"""When did a node report no step although steps were expected? For far longer than its usual gap, with nothing to
explain it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pandas as pd

from monitor.model import Activity, Phase

# Longer than this many usual gaps between the node's reports, and than five minutes, as in the phases.
_SILENT_GAPS = 5
_SILENT_S = 300.0
_FEWEST_REPORTS = 3
_WITH_STEPS = frozenset({"productive", "slow-excess", "stall", "lost-work", "unknown"})
_AT_WORK = frozenset({"productive", "slow-excess", "stall"})


@dataclass(frozen=True, slots=True)
class Silence:
    """From a node's report to its next one, or to the end of the work; ``node`` is empty where it is not known."""

    node: str
    start: pd.Timestamp
    end: pd.Timestamp


def silences(
    steps: pd.DataFrame, phases: Sequence[Phase], activities: Sequence[Activity], now: datetime
) -> tuple[Silence, ...]:
    """The silences of each node that reports steps with times, from the Steps frame, as of ``now``."""
    explained = [(phase.start, phase.end) for phase in phases if phase.name not in _WITH_STEPS]
    explained += [(activity.start, activity.end) for activity in activities]
    ends = [phase.end for phase in phases if phase.name in _AT_WORK]
    until = min(max(ends), now) if ends else None
    found: list[Silence] = []
    stamped = steps.loc[steps["timestamp"].notna(), ["node", "timestamp"]]
    for node, rows in stamped.groupby("node", observed=True)["timestamp"]:
        times = np.unique(rows.to_numpy(dtype="datetime64[ms]"))
        if len(times) < _FEWEST_REPORTS:
            continue
        gaps_s = np.diff(times).astype("int64") / 1000
        allowed_s = max(_SILENT_GAPS * float(np.median(gaps_s)), _SILENT_S)
        spans = [(times[at], times[at + 1]) for at in np.flatnonzero(gaps_s > allowed_s)]
        if until is not None:
            spans.append((times[-1], np.datetime64(int(until.timestamp() * 1000), "ms")))
        for one, other in spans:
            start, end = pd.Timestamp(one, tz="UTC"), pd.Timestamp(other, tz="UTC")
            if _seconds_left(start, end, explained) > allowed_s:
                found.append(Silence(str(node), start, end))
    return tuple(found)


def _seconds_left(start: pd.Timestamp, end: pd.Timestamp, explained: Sequence[tuple[datetime, datetime]]) -> float:
    """The length of a silence without what explains it; spans that overlap count twice, which errs to calm."""
    covered = sum(max(0.0, (min(end, b) - max(start, a)).total_seconds()) for a, b in explained)
    return float((end - start).total_seconds() - covered)
