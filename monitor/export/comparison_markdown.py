"""A comparison as Markdown, for a ticket or a pull request. Names and values stand in code."""

from __future__ import annotations

from monitor.archive.pairs import Record, record_line
from monitor.diagnose.comparison.compare import Comparison, letter
from monitor.diagnose.comparison.rows import difference_rows, figure_rows, prediction_lines, verdict_lines
from monitor.diagnose.headline import facts, status_word
from monitor.export.markup import Markup, as_code, bold, broken, document, heading, item, table
from monitor.words import DASH


def markdown(comparison: Comparison, earlier: Record | None) -> str:
    """The whole comparison."""
    names = [letter(place) for place in range(len(comparison.reports))]
    lines: list[str] = [heading(1, "Comparison"), ""]
    for verdict in verdict_lines(comparison):
        lines += [bold(verdict), ""]
    for name, report in zip(names, comparison.reports, strict=True):
        said = ", ".join([status_word(report.job.status), *facts(report)])
        lines.append(item(f"{name}:", Markup(f"{as_code(report.job.name)},"), said))
    lines += ["", heading(2, "What differs"), ""]
    rows = [
        (as_code(row[0]), *(cell if cell == DASH else as_code(cell) for cell in row[1:]))
        for row in difference_rows(comparison)
    ]
    lines += [*table(("parameter", *names), rows)] if rows else ["Nothing in the known configuration."]
    lines += ["", heading(2, "Side by side"), "", *table(("", *names), figure_rows(comparison)), ""]
    lines += map(broken, comparison.notes)
    if predicted := prediction_lines(comparison):
        lines += ["", heading(2, "Predicted and measured"), "", *map(broken, predicted)]
    if line := record_line(earlier):
        lines += ["", line]
    return document(lines)
