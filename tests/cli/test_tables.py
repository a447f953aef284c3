"""A table has room in any terminal: what is first is whole, the rest goes by its rank, and nothing is cut."""

from __future__ import annotations

from io import StringIO

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from monitor.cli.output import Column, table

COLUMNS = (
    Column("JOB"),
    Column("STATUS"),
    Column("VERDICT", goes=1, wraps=True, below=True),
    Column("RAN", goes=2, right=True),
    Column("CREATED", goes=3),
)
LONG = "llm-pretrain-" + "x" * 47 + "-07"
ROW = (LONG, "completed", "GPU memory ran out on algo-3 and 2 more nodes", "1 h 5 min", "23 Nov 2026, 05:16 UTC")


def printed(width: int, *rows: tuple[str | Text, ...], columns: tuple[Column, ...] = COLUMNS) -> str:
    out = StringIO()
    paper = Console(file=out, width=width, color_system=None)
    paper.print(table(columns, rows, width), crop=False)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def test_columns_go_by_rank_and_the_verdict_moves_below_the_name() -> None:
    assert printed(200, ROW).splitlines()[1] == "  ".join(ROW)
    assert "CREATED" not in printed(125, ROW)
    assert printed(125, ROW).splitlines()[1].endswith("1 h 5 min")
    assert printed(80, ROW).splitlines() == [
        f"JOB{' ' * 62}STATUS",
        f"{LONG}  completed",
        "  GPU memory ran out on algo-3 and 2 more nodes",
    ]
    # Narrower than the name the name is whole, too; what never goes stays.
    assert f"{LONG}  completed" in printed(40, ROW)


def test_markup_in_a_cell_is_text_and_styles_stay() -> None:
    assert "[red]x[/red]" in printed(80, ("[red]x[/red]", "running", Text("fine", "green"), "", ""))


def test_what_stands_below_a_short_name_is_not_cut() -> None:
    columns = (Column("NAME"), Column("NOTIFY", goes=1, below=True))
    said = printed(20, ("idle", "slack:env:SLACK_WEBHOOK_OF_THE_TEAM"), columns=columns)
    assert "".join(said.split()).endswith("slack:env:SLACK_WEBHOOK_OF_THE_TEAM")


_WORDS = st.text(st.sampled_from("abc -ü漢"), max_size=40).map(lambda text: " ".join(text.split()))
_NAMES = st.text(st.sampled_from("abcdefghij-0123456789"), min_size=1, max_size=63)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(_NAMES, _NAMES, _WORDS, _WORDS, _WORDS), min_size=1, max_size=5), st.integers(30, 200))
def test_names_are_whole_at_any_width_and_lines_fit(rows: list[tuple[str, ...]], width: int) -> None:
    said = printed(width, *rows)
    lines = said.splitlines()
    for row in rows:
        assert any(line.startswith(row[0]) and row[1] in line for line in lines)
    # Four cells: an indented letter of two has to fit below a name.
    least = max(4, *(len(row[0]) for row in rows)) + 2 + max(len("STATUS"), *(len(row[1]) for row in rows))
    assert max(map(cell_len, lines)) <= max(width, least)
    # A verdict is there in whole, beside the name or below it.
    letters = "".join(said.split())
    for row in rows:
        for word in row[2].split():
            assert word in said or word in letters
