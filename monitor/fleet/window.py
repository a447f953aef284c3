"""The time that a report is about. Whole days in UTC, weeks from Monday to Monday (ISO 8601); spans are cut at midnight."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

_WEEK = re.compile(r"(?P<year>\d{4})-?W(?P<week>\d{1,2})")
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class DateWindow:
    """``start`` is in it, ``end`` is not."""

    start: date
    end: date

    @property
    def days(self) -> int:
        return (self.end - self.start).days

    @property
    def before(self) -> DateWindow:
        """The one of the same length before it."""
        return DateWindow(self.start - timedelta(days=self.days), self.start)

    @property
    def begins(self) -> datetime:
        return midnight(self.start)

    @property
    def ends(self) -> datetime:
        return midnight(self.end)

    @property
    def name(self) -> str:
        """``2026-W47``, or ``2026-11-18 to 2026-11-24``, its last day."""
        if self.days == 7 and self.start.weekday() == 0:
            return week_of(self.start)
        return f"{self.start.isoformat()} to {(self.end - _DAY).isoformat()}"

    def holds(self, at: datetime | None) -> bool:
        return at is not None and self.begins <= at < self.ends


def week_of(day: date) -> str:
    """``2026-W47``."""
    year, week, _ = day.isocalendar()
    return f"{year}-W{week:02d}"


def monday_of(day: date) -> date:
    """The first day of its week."""
    return day - timedelta(days=day.weekday())


def week(text: str, today: date) -> DateWindow | None:
    """``last`` (the last one that is over), ``this``, or ``2026-W47``; None for anything else."""
    monday = monday_of(today)
    if text in {"last", "this"}:
        start = monday - timedelta(days=7) if text == "last" else monday
        return DateWindow(start, start + timedelta(days=7))
    found = _WEEK.fullmatch(text)
    if found is None:
        return None
    try:
        start = date.fromisocalendar(int(found["year"]), int(found["week"]), 1)
    except ValueError:
        return None
    return DateWindow(start, start + timedelta(days=7))


def since(span: timedelta, now: datetime) -> DateWindow:
    """So many days up to today, which is one of them; of less than a day today alone."""
    end = now.astimezone(UTC).date() + _DAY
    days = max(1, -(-span // _DAY))
    return DateWindow(end - timedelta(days=days), end)


def midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def by_day(start: datetime, end: datetime) -> Iterator[tuple[date, float]]:
    """(day, seconds) of each day that a span touches; the seconds add up to the span."""
    at = start.astimezone(UTC)
    end = end.astimezone(UTC)
    while at < end:
        until = min(end, midnight(at.date() + _DAY))
        yield at.date(), (until - at).total_seconds()
        at = until
