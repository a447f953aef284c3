"""What a user's program does with the four functions of docs/library.md; the type checker reads it as it would theirs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import pandas as pd

from monitor import compare, jobs, plan, review
from monitor.errors import TrainwatchError


def told(name: str) -> tuple[str, float | None, list[str], pd.DataFrame]:
    """A job's status and cost, what was found, and its steps."""
    report = review(name)
    return report.job.status or "", report.cost.usd, [finding.id for finding in report.findings], report.run.steps


def faster(before: str, after: str) -> bool | None:
    """Whether the second job takes less time; None where nobody can tell."""
    against = compare(before, review(after)).against[0]
    return None if against.verdict == "cannot tell" else against.verdict == "faster"


def gain(name: str, change: Mapping[str, Any]) -> float | None:
    """The predicted change of the step time in percent."""
    found = plan(name, change)
    return None if found.is_rejected or found.step_time_change_pct is None else found.step_time_change_pct[1]


def newest(part: str) -> datetime | None:
    """When the newest job was made whose name has this part."""
    try:
        found = jobs(name_contains=part, limit=1)
    except TrainwatchError:
        return None
    return found[0].created if found else None
