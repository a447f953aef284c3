"""Which jobs are listed? A status, a part of the name and an age, as a user writes them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from monitor.choices import STATUSES
from monitor.errors import BadCall
from monitor.fetch.source import JobQuery

_UNITS = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def job_query(status: str | None, name_contains: str | None, since: str | None, now: datetime, limit: int) -> JobQuery:
    """The query of --status, --name-contains and --since. BadCall where one of them is wrong."""
    return JobQuery(_status(status), name_contains, _since(since, now), limit)


def _status(text: str | None) -> str | None:
    if text is None:
        return None
    known = {status.lower(): status for status in (*STATUSES, "Deleting")}
    if text.lower() == "running":
        return "InProgress"
    if text.lower() not in known:
        raise BadCall(f"No job has the status {text}.", f"Write one of {', '.join(STATUSES)}, or running.")
    return known[text.lower()]


def _since(text: str | None, now: datetime) -> datetime | None:
    if text is None:
        return None
    match = re.fullmatch(r"(\d{1,6})([mhdw])", text.strip())
    if match is None:
        raise BadCall(f"--since {text} is not a duration.", "Write a number and a unit: 90m, 12h, 7d or 4w.")
    try:
        return now - timedelta(seconds=int(match[1]) * _UNITS[match[2]])
    except OverflowError:
        raise BadCall(f"--since {text} is longer ago than any job.", "Leave it out to list all.") from None
