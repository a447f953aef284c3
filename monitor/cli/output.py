"""Where results go, how a terminal is told from a pipe, and what is drawn on it with colors: text on a terminal cannot do what
its own codes do.

A table fits a terminal of any width: what comes first is never cut nor split; of the rest the least important goes first.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from io import StringIO
from typing import IO, Any, TextIO, TypeVar

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text

from monitor.archive.document import as_json as as_json
from monitor.archive.document import as_line as as_line
from monitor.archive.document import without_trailing_spaces
from monitor.cli.result_file import put
from monitor.document import Code, Facts, Figure, FindingNode, Node, Note, Section, shown
from monitor.document import Column as Column
from monitor.document import Table as TableNode
from monitor.errors import CannotDo
from monitor.inert import inert
from monitor.model import Report
from monitor.review import Progress
from monitor.terminal import drawn, outlets, to_stderr
from monitor.words import DASH

Shown = TypeVar("Shown")
# Wide enough for a table of nodes where nobody says how wide the paper is.
PIPE_WIDTH = 110
_NARROWEST = 60
#: Level of a verdict -> how its words are drawn.
VERDICT_STYLES = {"critical": "bold red", "warning": "yellow", "healthy": "green"}


class Paper(Console):
    """A console on which text is text: no markup, no emoji, and nothing that a terminal obeys but what this program draws."""

    def __init__(self, file: IO[str], width: int | None = None, force_terminal: bool | None = None) -> None:
        super().__init__(
            file=file, width=width, force_terminal=force_terminal, markup=False, emoji=False, highlight=False
        )

    @classmethod
    def on(cls, stream: TextIO) -> Paper:
        """That of a standard stream."""
        return cls(drawn(stream))

    @classmethod
    def for_result(cls, to_terminal: bool) -> Paper:
        """Written into memory, as wide as the terminal if it goes there; see ``text``."""
        width = cls.on(sys.stdout).width if to_terminal else PIPE_WIDTH
        return cls(StringIO(), max(_NARROWEST, width), to_terminal or None)

    @classmethod
    def drawing(cls, width: int) -> Paper:
        """Written into memory with the codes of its styles, for what draws them elsewhere on a screen."""
        return cls(StringIO(), width, force_terminal=True)

    @property
    def text(self) -> str:
        """What was drawn on one in memory."""
        assert isinstance(self.file, StringIO)
        return self.file.getvalue()

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(inert(segment.text), segment.style)


@contextmanager
def on_screen(shown: AbstractContextManager[Shown]) -> Iterator[Shown]:
    """What stays in its place, such as a bar; lines that are printed meanwhile stand above it.

    Rich prints these, and would take codes in them for styles.
    """
    with shown as found, outlets():
        yield found


# A column that wraps gets at least this, so that words stay whole.
_NARROWEST_COLUMN = 20
_GAP = 2
# Of a terminal's letters the widest take two cells.
_WIDEST_LETTER = 2
Cell = str | Text
# Nothing is written to it: text is wrapped by its rules.
_PAPER = Console(file=StringIO())


def table(
    columns: Sequence[Column],
    rows: Sequence[Sequence[Cell]],
    width: int,
    styles: Sequence[str] = (),
    head: str = "bold",
) -> Table:
    """The columns that have room in ``width``; ``styles`` is one a row. Cells are text, never markup."""
    cells = [[_text(cell) for cell in row] for row in rows]
    natural = [
        max([cell_len(column.title), *(_length(row[place]) for row in cells)]) for place, column in enumerate(columns)
    ]
    kept = _columns_that_stay(columns, natural, width)
    widths = _widths(columns, natural, kept, width)
    beneath = [place for place, column in enumerate(columns) if column.below and place not in kept]
    if beneath:
        widths[0] = max(widths[0], _GAP + _WIDEST_LETTER)
    named = any(column.title for column in columns)
    out = Table(box=None, pad_edge=False, header_style=head, show_header=named)
    for place in kept:
        column = columns[place]
        wraps = column.wraps and widths[place] < natural[place]
        out.add_column(
            column.title,
            justify="right" if column.right else "left",
            no_wrap=not wraps,
            width=widths[place],
            overflow="fold",
        )
    whole = sum(widths.values()) + _GAP * (len(kept) - 1)
    if whole > width:
        out.width = whole
    for number, row in enumerate(cells):
        shown = [row[place] for place in kept]
        for place in beneath:
            if row[place].plain.strip() not in {"", DASH}:
                shown[0] = _with_below(shown[0], row[place], widths[0])
        out.add_row(*shown, style=Style.parse(styles[number]) if number < len(styles) else None)
    return out


def _columns_that_stay(columns: Sequence[Column], natural: Sequence[int], width: int) -> list[int]:
    """The places of the columns that stay."""
    least = [
        min(size, _NARROWEST_COLUMN) if column.wraps else size for column, size in zip(columns, natural, strict=True)
    ]
    kept = list(range(len(columns)))
    while sum(least[place] + _GAP for place in kept) - _GAP > width:
        leaving = [place for place in kept[1:] if columns[place].goes]
        if not leaving:
            break
        kept.remove(max(leaving, key=lambda place: (columns[place].goes, place)))
    return kept


def _widths(columns: Sequence[Column], natural: Sequence[int], kept: Sequence[int], width: int) -> dict[int, int]:
    """Those that wrap share what the others leave, each up to what it needs."""
    widths = {place: natural[place] for place in kept}
    wrapping = sorted((place for place in kept if columns[place].wraps), key=lambda place: natural[place])
    room = width - _GAP * (len(kept) - 1) - sum(widths[place] for place in kept if place not in wrapping)
    for number, place in enumerate(wrapping):
        share = max(min(natural[place], _NARROWEST_COLUMN), room // (len(wrapping) - number))
        widths[place] = min(natural[place], share)
        room -= widths[place]
    return widths


def _with_below(first: Text, under: Text, width: int) -> Text:
    """A cell with a second one below it, indented and wrapped by words."""
    style = str(under.style) or "dim"
    lines = Text(" ".join(under.plain.split())).wrap(_PAPER, width - _GAP, overflow="fold")
    return Text.assemble(first, *((f"\n{' ' * _GAP}{line.plain}", style) for line in lines))


def _text(cell: Cell) -> Text:
    """What is inert has its width from the start."""
    text = cell.copy() if isinstance(cell, Text) else Text(cell)
    text.plain = inert(text.plain)
    return text


def _length(cell: Text) -> int:
    return max(map(cell_len, cell.plain.split("\n")), default=0)


_STYLE = {
    "critical": "bold red",
    "warning": "bold yellow",
    "info": "bold blue",
    "healthy": "bold green",
    "quiet": "dim",
    "": "",
}
# How serious a finding is stands before what it says.
_BESIDE = 9
# Bars are so long where the paper is wide enough for them and the figures beside.
_LONGEST_BAR, _BESIDE_BAR = 36, 52
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def draw(tree: Section, paper: Console) -> None:
    """The whole document, in the width and colors of the paper."""
    if not tree.plain:
        paper.print(Text(tree.title, "bold"))
    _draw(tree.nodes, paper)


def _draw(nodes: Iterable[Node], paper: Console, indent: int = 0) -> None:
    for node in shown(nodes, "terminal"):
        if isinstance(node, Note):
            said = Text(f"{node.label}: {node.text}" if node.label else node.text, _STYLE.get(node.level, "bold"))
            paper.print(Padding(said, (0, 0, 0, indent), expand=False) if indent else said)
        elif isinstance(node, Code):
            for line in node.text.split("\n"):
                paper.print(Text(" " * indent + line), soft_wrap=True)
        elif isinstance(node, Facts):
            _draw([Note(f"| {fact.line}") for fact in node.facts if fact.line], paper, indent)
        elif isinstance(node, TableNode):
            _draw_table(node, paper)
        elif isinstance(node, FindingNode):
            paper.print()
            _draw_head(node, paper)
            _draw(node.nodes, paper, _BESIDE)
        elif isinstance(node, Figure):
            paper.print(Text(node.said))
            for line in node.letters(paper.width) if node.letters else ():
                paper.print(Text(line), no_wrap=True, overflow="crop")
        else:
            if node.title and not node.plain:
                titled(node.title, paper)
            elif not isinstance(node.nodes[0], FindingNode):
                paper.print()
            _draw(node.nodes, paper)


def _draw_head(finding: FindingNode, paper: Console) -> None:
    severity = Text(f"{finding.level:<{_BESIDE}}", _STYLE[finding.level])
    if _BESIDE + len(finding.title) + 2 + len(finding.id) <= paper.width:
        paper.print(Text.assemble(severity, (finding.title, "bold"), f"  {finding.id}"))
        return
    # A title of two lines stays beside how serious it is.
    head = Table.grid()
    head.add_column(width=_BESIDE, no_wrap=True)
    head.add_column()
    head.add_row(severity, Text(finding.title, "bold"))
    head.add_row("", Text(finding.id, "dim"))
    paper.print(head)


def _draw_table(node: TableNode, paper: Console) -> None:
    columns = [replace(column, title=column.short or column.title.upper()) for column in node.columns]
    longest, most = max(4, min(_LONGEST_BAR, paper.width - _BESIDE_BAR)), node.most or len(node.rows)
    rows = [
        [
            bar(float(cell or 0), longest) if column.bar else cell[: column.letters or None]
            for column, cell in zip(columns, row, strict=True)
        ]
        for row in node.rows[:most]
    ]
    styles = [_STYLE.get(level, "bold") for level in node.levels]
    paper.print(table(columns, rows, paper.width, styles, head="dim"), crop=False)
    if len(node.rows) > most:
        more = f"{len(node.rows) - most} more {node.rows_are}".rstrip()
        paper.print(Text(f"{more}; --format json has all.", "dim"))


def bar(share: float, width: int) -> str:
    """A bar of ``share`` of ``width``, to an eighth of a letter; what is more than nothing has one."""
    eighths = max(0, min(8 * width, round(8 * width * share)))
    if not eighths and share > 0:
        eighths = 1
    return "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")


def deliver(arguments: argparse.Namespace, result: str | Paper) -> None:
    """Writes a finished result to the file that --output names, else to standard output.

    Raises nothing where it cannot be written: what a command found out, and whom it still has to tell, does not hang on that.
    ``main`` says what ``arguments.lost`` holds, and sees by itself what standard output has lost.
    """
    text = without_trailing_spaces(result.text if isinstance(result, Paper) else inert(result))
    if arguments.output is None:
        drawn(sys.stdout).write(text)
        return
    try:
        put(arguments.output, text)
    except CannotDo as error:
        arguments.lost = str(error)


def report_damage(*reports: Report) -> None:
    """A line on standard error for each archive of which files are damaged that the result does not need; with several
    jobs, it says of which."""
    for report in {id(report): report for report in reports}.values():
        of = f"{report.job.name}: " if len(reports) > 1 else ""
        for gap in report.gaps:
            if gap.what == "archive":
                to_stderr(f"{of}{gap.sentence}")


def csv_text(names: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows under these names as CSV; what a row lacks is empty."""
    out = StringIO()
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def titled(text: str, paper: Console) -> None:
    """The title of a part, with a line above it."""
    paper.print()
    paper.print(Text(text, "bold"))


def paper_for(arguments: argparse.Namespace) -> Paper:
    """What a result for people is drawn on: colors only where it goes to a terminal that wants them."""
    return Paper.for_result(arguments.output is None and sys.stdout.isatty())


@contextmanager
def progress(arguments: argparse.Namespace, first: str = "reading the job") -> Iterator[Progress]:
    """A line on standard error that says what is under way; silent with --quiet and where nobody watches."""
    if arguments.quiet or not sys.stderr.isatty():
        yield lambda text: None
        return
    with on_screen(Paper.on(sys.stderr).status(Text(first), spinner="line")) as status:
        yield lambda text: status.update(Text(text))
