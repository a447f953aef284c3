"""A comparison as Markdown, for a ticket or a pull request. Names and values stand in code, so that none is markup."""

from __future__ import annotations

from monitor.archive.pairs import Record, record_line
from monitor.diagnose.compared import Comparison, letter
from monitor.diagnose.compared_rows import difference_rows, figure_rows, prediction_lines, verdict_lines
from monitor.diagnose.headline import facts, status_word
from monitor.export.markdown import as_code, as_table
from monitor.words import DASH


def markdown(comparison: Comparison, earlier: Record | None) -> str:
    """The whole comparison."""
    names = [letter(place) for place in range(len(comparison.reports))]
    lines = ["# Comparison", ""]
    for verdict in verdict_lines(comparison):
        lines += [f"**{verdict}**", ""]
    for name, report in zip(names, comparison.reports, strict=True):
        lines.append(
            f"- {name}: {as_code(report.job.name)}, {', '.join([status_word(report.job.status), *facts(report)])}"
        )
    lines += ["", "## What differs", ""]
    rows = [
        (as_code(row[0]), *(cell if cell == DASH else as_code(cell) for cell in row[1:]))
        for row in difference_rows(comparison)
    ]
    lines += [*as_table(("parameter", *names), rows)] if rows else ["Nothing in the known configuration."]
    lines += ["", "## Side by side", "", *as_table(("", *names), figure_rows(comparison)), ""]
    lines += [f"{note}  " for note in comparison.notes]
    if foretold := prediction_lines(comparison):
        lines += ["", "## Predicted and measured", "", *(f"{sentence}  " for sentence in foretold)]
    if line := record_line(earlier):
        lines += ["", line]
    return "\n".join(lines) + "\n"
