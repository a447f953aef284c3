"""How a comparison is laid out, as a tree that a terminal and Markdown draw; and the tables behind it as CSV: what differs, the
figures, the step times, the verdicts and predictions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd

from monitor.archive.comparison import Record, comparison_document, record_line
from monitor.diagnose.comparison.compare import Comparison, letter
from monitor.diagnose.comparison.rows import difference_rows, figure_rows, heading, prediction_lines, verdict_lines
from monitor.diagnose.headline import about
from monitor.document import Column, Node, Note, Section, Table
from monitor.export.markdown import as_markdown
from monitor.export.tables import as_csv


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


_LEVELS = {"faster": "healthy", "slower": "critical", "cannot tell": "warning", "not comparable": "warning"}
_DIFFERENCES_SHOWN = 30


def markdown(comparison: Comparison, earlier: Record | None) -> str:
    return as_markdown(comparison_tree(comparison, earlier))


def comparison_tree(comparison: Comparison, earlier: Record | None) -> Section:
    """The verdicts, the jobs, what differs, the figures, what was predicted; ``earlier`` is how predictions did before."""
    jobs = [(heading(comparison, place), f"   {about(report)}") for place, report in enumerate(comparison.reports)]
    different = tuple(difference_rows(comparison))
    nodes: list[Node] = [
        *map(Note, verdict_lines(comparison), (_LEVELS[result.answer] for result in comparison.against)),
        Section("", tuple(note for name, said in jobs for note in (Note(name, "strong"), Note(said)))),
        Section(
            "What differs",
            (
                Table(_columns("parameter", comparison, code=True), different, most=_DIFFERENCES_SHOWN)
                if different
                else Note("Nothing in the known configuration."),
            ),
        ),
        Section(
            "Side by side",
            (
                Table(_columns("", comparison, right=True), tuple(figure_rows(comparison))),
                *(Note(note, "quiet") for note in comparison.notes),
            ),
        ),
    ]
    if predicted := prediction_lines(comparison):
        nodes.append(Section("Predicted and measured", tuple(map(Note, predicted))))
    if line := record_line(earlier):
        nodes.append(Section("", (Note(line),)))
    return Section("Comparison", tuple(nodes), plain=True)


def _columns(first: str, comparison: Comparison, right: bool = False, code: bool = False) -> tuple[Column, ...]:
    return Column(first, code=code), *(Column(name, right, wraps=True, code=code) for name in comparison.letters)
