"""A comparison to keep and to share: as Markdown, for a ticket or a pull request, and the tables behind it as CSV.

The tables are what differs, the figures, the step times, the verdicts and predictions. In Markdown, names and values stand in
code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd

from monitor.archive.comparison import Record, comparison_document, record_line
from monitor.diagnose.comparison.compare import Comparison, letter
from monitor.diagnose.comparison.rows import difference_rows, figure_rows, prediction_lines, verdict_lines
from monitor.diagnose.headline import facts, status_word
from monitor.export.markdown import Markup, as_code, bold, broken, document, heading, item, table
from monitor.export.tables import as_csv
from monitor.words import DASH


def differences_csv(comparison: Comparison) -> str:
    """One row a parameter and job: its value, and where it was read."""
    rows = [
        (each.parameter, letter(place), job.name, None if value is None else str(value), read_from)
        for each in comparison.different
        for place, (job, value, read_from) in enumerate(zip(comparison.jobs, each.values, each.read_from, strict=True))
    ]
    return as_csv(pd.DataFrame(rows, columns=["parameter", "job", "name", "value", "read_from"]))


def figures_csv(comparison: Comparison) -> str:
    """One row a job; what is not known is empty."""
    rows = comparison_document(comparison)["figures"]
    table = pd.DataFrame(rows)
    table.insert(0, "job", [letter(place) for place in range(len(table))])
    return as_csv(table)


def step_times_csv(comparison: Comparison) -> str:
    """One row a time of the stable part, in the order of the reports: of a step, and for the work of one of the first job's."""
    columns = ["job", "name", "report", "step_time_s", "same_work_s"]
    tables = []
    for place, (job, steps, same_s) in enumerate(
        zip(comparison.jobs, comparison.steps, comparison.times_s, strict=True)
    ):
        if steps is not None:
            reports = range(1, len(steps.times_s) + 1)
            values = (letter(place), job.name, reports, steps.times_s, same_s)
            tables.append(pd.DataFrame(dict(zip(columns, values, strict=True))))
    return as_csv(pd.concat(tables) if tables else pd.DataFrame(columns=columns))


def verdicts_csv(comparison: Comparison) -> str:
    """One row a job after the first: verdict, change with its interval, what was predicted, what came of it."""
    rows = []
    for place, result in enumerate(comparison.against, 1):
        row: dict[str, object] = {"job": letter(place), "name": result.name, "verdict": result.verdict}
        row["comparable"] = "yes" if result.unlike is None else "no"
        for title, found in (
            ("change", result.judged_pct),
            ("predicted", result.predicted.change_pct),
            ("measured_for_same_samples", result.for_same_samples_pct),
        ):
            for part, value in zip(("low", "middle", "high"), found or (None, None, None), strict=True):
                row[f"{title}_{part}_pct"] = value
        held = {"held": "true", "missed": "false"}.get(result.came or "")
        row |= {"held": held, "prediction": result.came, "reason": result.reason or None}
        rows.append(row)
    return as_csv(pd.DataFrame(rows))


#: What a reader may want as a table -> how it is made.
TABLES: Mapping[str, Callable[[Comparison], str]] = {
    "verdicts": verdicts_csv,
    "differences": differences_csv,
    "figures": figures_csv,
    "step times": step_times_csv,
}


def markdown(comparison: Comparison, earlier: Record | None) -> str:
    names = comparison.letters
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
