"""How far are the predictions from published measurements? Rows that a constant was fitted to stand apart from the others.

``python -m benchmarks.predictions --write-docs`` puts the table into ``docs/predictions.md``.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

from benchmarks.published import coverage, memories, memory_ranges, networks, schedules
from benchmarks.published.claim import HEADER, Claim

PAGE = Path(__file__).parents[1] / "docs" / "predictions.md"
_BLOCK = re.compile(
    r"(<!-- generated: python -m benchmarks\.predictions --write-docs -->\n).*?(<!-- end -->)", re.DOTALL
)


@cache
def claims() -> tuple[Claim, ...]:
    """Every claim, held against its measurements."""
    return tuple(claim for part in (schedules, memories, networks, coverage, memory_ranges) for claim in part.claims())


def rows() -> list[tuple[str, ...]]:
    """A claim a row, with the errors on fitted rows and on others, the line it must pass, and whether it does."""
    return [HEADER, *(claim.cells() for claim in claims())]


def failures() -> list[str]:
    """The claims that do not pass their line."""
    return [claim.name for claim in claims() if claim.passed is False]


def markdown() -> str:
    """The table of the page."""
    head, *rest = rows()
    return "\n".join(line(cells) for cells in [head, ("---",) * len(head), *rest]) + "\n"


def line(cells: tuple[str, ...]) -> str:
    """One line of it."""
    return f"| {' | '.join(cells)} |"


def write(page: Path = PAGE) -> None:
    """Puts the table where the page has its generated block."""
    text = page.read_text(encoding="utf-8")
    page.write_text(_BLOCK.sub(lambda found: found[1] + "\n" + markdown() + "\n" + found[2], text), encoding="utf-8")


if __name__ == "__main__":
    if "--write-docs" in sys.argv[1:]:
        write()
    else:
        sys.exit("python -m benchmarks predictions prints the table; this takes --write-docs")
