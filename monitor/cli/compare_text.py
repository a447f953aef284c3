"""A comparison for a person at a terminal: the verdict, what differs, the figures side by side, predicted and measured."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from monitor.archive.pairs import Record, record_line
from monitor.cli.tables import Column, table
from monitor.diagnose.comparison.compare import Comparison, letter
from monitor.diagnose.comparison.rows import difference_rows, figure_rows, heading, prediction_lines, verdict_lines
from monitor.diagnose.headline import facts, status_word

_STYLE = {"faster": "bold green", "slower": "bold red", "cannot tell": "bold yellow", "not comparable": "bold yellow"}
_DIFFERENCES_SHOWN = 30


def print_comparison(comparison: Comparison, earlier: Record | None, paper: Console) -> None:
    """Prints all of it to ``paper``."""
    for verdict, result in zip(verdict_lines(comparison), comparison.against, strict=True):
        paper.print(Text(verdict, _STYLE[result.answer]))
    paper.print()
    for place, report in enumerate(comparison.reports):
        paper.print(Text(heading(comparison, place), "bold"))
        paper.print(Text("   " + " · ".join([status_word(report.job.status), *facts(report)])))
    _head("What differs", paper)
    rows = difference_rows(comparison)
    names = [letter(place) for place in range(len(comparison.reports))]
    if rows:
        _table(("PARAMETER", *names), rows[:_DIFFERENCES_SHOWN], False, paper)
        if len(rows) > _DIFFERENCES_SHOWN:
            paper.print(f"{len(rows) - _DIFFERENCES_SHOWN} more; --format json has all.", style="dim")
    else:
        paper.print("Nothing in the known configuration.")
    _head("Side by side", paper)
    _table(("", *names), figure_rows(comparison), True, paper)
    for note in comparison.notes:
        paper.print(Text(note, "dim"))
    if predicted := prediction_lines(comparison):
        _head("Predicted and measured", paper)
        for sentence in predicted:
            paper.print(Text(sentence))
    if line := record_line(earlier):
        paper.print()
        paper.print(Text(line))


def _head(text: str, paper: Console) -> None:
    paper.print()
    paper.print(Text(text, "bold"))


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]], right: bool, paper: Console) -> None:
    columns = [Column(title, right=right and place > 0, wraps=place > 0) for place, title in enumerate(titles)]
    paper.print(table(columns, rows, paper.width, head="dim"))
