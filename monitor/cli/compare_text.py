"""A comparison for a person at a terminal: what differs, the figures side by side, one verdict, predicted beside measured."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from monitor.archive.pairs import Record, record_line
from monitor.diagnose.compared import Comparison, letter
from monitor.diagnose.compared_rows import difference_rows, figure_rows, heading, result_lines
from monitor.diagnose.headline import facts, status_word

_STYLE = {"faster": "bold green", "slower": "bold red", "cannot tell": "bold yellow"}
_DIFFERENCES_SHOWN = 30


def print_comparison(comparison: Comparison, earlier: Record | None, paper: Console) -> None:
    """Prints all of it to ``paper``."""
    for place, report in enumerate(comparison.reports):
        paper.print(Text(heading(comparison, place), "bold"))
        paper.print(Text("   " + " · ".join([status_word(report.job.status), *facts(report)])))
    _head("What differs", paper)
    rows = difference_rows(comparison)
    names = [letter(place) for place in range(len(comparison.reports))]
    if rows:
        paper.print(_table(("PARAMETER", *names), rows[:_DIFFERENCES_SHOWN], right=False))
        if len(rows) > _DIFFERENCES_SHOWN:
            paper.print(f"{len(rows) - _DIFFERENCES_SHOWN} more; --format json has all.", style="dim")
    else:
        paper.print("Nothing that is known of their configuration.")
    _head("Side by side", paper)
    paper.print(_table(("", *names), figure_rows(comparison), right=True))
    for note in comparison.notes:
        paper.print(Text(note, "dim"))
    for (verdict, sentences), result in zip(result_lines(comparison), comparison.against, strict=True):
        paper.print()
        paper.print(Text(verdict, _STYLE[result.verdict]))
        for sentence in sentences:
            paper.print(Text(sentence))
    if line := record_line(earlier):
        paper.print()
        paper.print(Text(line))


def _head(text: str, paper: Console) -> None:
    paper.print()
    paper.print(Text(text, "bold"))


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]], right: bool) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for place, title in enumerate(titles):
        table.add_column(title, justify="right" if right and place else "left", no_wrap=not place, overflow="fold")
    for row in rows:
        table.add_row(*(escape(cell) for cell in row))
    return table
