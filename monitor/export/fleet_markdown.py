"""A fleet's report as Markdown, for a mail, a ticket or a wiki. Names stand in code where they could be markup."""

from __future__ import annotations

from monitor.export.markup import as_text, bold, document, heading, table
from monitor.fleet.report import FleetReport
from monitor.fleet.sections import headline, sections


def fleet_markdown(report: FleetReport) -> str:
    """The whole report."""
    lines = [heading(1, f"GPU-hours, {report.window.name}"), ""]
    lines += [bold(sentence) for sentence in headline(report)[:1]]
    lines += [as_text(" ".join(headline(report)[1:])), ""]
    for section in sections(report):
        lines += [heading(2, section.title), ""]
        if section.said:
            lines += [as_text(section.said), ""]
        if section.rows:
            lines += [*table([column.title.lower() for column in section.columns], section.rows), ""]
        if section.note:
            lines += [as_text(section.note), ""]
    lines += [as_text(f"From the archive {report.archive}, made {report.made_at:%Y-%m-%d %H:%M} UTC.")]
    return document(lines)
