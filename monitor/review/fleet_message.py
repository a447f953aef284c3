"""A fleet's report, and what became of a night, as messages for the sinks that alerts have: each with an id of its own."""

from __future__ import annotations

from datetime import date, datetime

from monitor.alert.message import Message, id_of
from monitor.export.markdown import fleet_markdown
from monitor.fleet.report import FleetReport
from monitor.fleet.sections import headline

RULE = "fleet report"


def message_of(report: FleetReport, public_url: str, now: datetime) -> Message:
    """One message a window, archive, choice of jobs and kind of owner: whoever makes the report again sends nothing again."""
    first, *others = headline(report)
    window = report.window
    return Message(
        id=id_of("fleet", report.archive, window.start, window.end, report.by, *filter(None, [report.only])),
        kind="report",
        job="",
        status=None,
        rule=RULE,
        when=f"{window.name} by {report.by}",
        severity="info",
        node=None,
        finding=None,
        since=window.begins.isoformat(),
        at=now.isoformat(),
        value=None,
        limit=None,
        unit="",
        title=f"GPU-hours {window.name}: {first}",
        text="\n".join([*others, "", fleet_markdown(report)]),
        link=f"{public_url}/fleet" if public_url else None,
    )


def trouble_of(archive: str, day: date, troubles: tuple[str, ...], now: datetime) -> Message:
    """What went wrong in a night; the same trouble is said once a day."""
    return Message(
        id=id_of("nightly", archive, day, *sorted(troubles)),
        kind="report",
        job="",
        status=None,
        rule="nightly",
        when=day.isoformat(),
        severity="warning",
        node=None,
        finding=None,
        since=None,
        at=now.isoformat(),
        value=None,
        limit=None,
        unit="",
        title=f"nightly of {day.isoformat()} did not do everything: {troubles[0]}",
        text="\n".join(troubles[1:]),
        link=None,
    )
