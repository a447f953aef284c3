"""How far are the predictions from published measurements? Rows that a constant was fitted to stand apart from the others.

``python -m benchmarks.predictions --write-docs`` puts the tables into ``docs/predictions.md``: that of the claims, and that of
what each range promises.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

from benchmarks.published import coverage, memories, memory_ranges, networks, paces, schedules
from benchmarks.published.claim import HEADER, Claim

PAGE = Path(__file__).parents[1] / "docs" / "predictions.md"
_BLOCK = re.compile(
    r"(<!-- generated: python -m benchmarks\.predictions --write-docs -->\n).*?(<!-- end -->)", re.DOTALL
)
_RANGES = ("changed", "promised", "held, of the pairs of others", "width")


@cache
def claims() -> tuple[Claim, ...]:
    """Every claim, held against its measurements."""
    return tuple(
        claim for part in (schedules, memories, networks, coverage, memory_ranges, paces) for claim in part.claims()
    )


def rows() -> list[tuple[str, ...]]:
    """A claim a row, with the errors on fitted rows and on others, the line it must pass, and whether it does."""
    return [HEADER, *(claim.cells() for claim in claims())]


def failures() -> list[str]:
    """The claims that do not pass their line."""
    return [claim.name for claim in claims() if claim.passed is False]


def markdown() -> str:
    """The table of the claims."""
    return _table(rows())


def ranges() -> list[tuple[str, ...]]:
    """What each range promises, on what it was held, and how wide it is, a kind of change a row."""
    return [_RANGES, *coverage.promises(), *memory_ranges.promises(), *paces.promises()]


def _table(cells: list[tuple[str, ...]]) -> str:
    head, *rest = cells
    return "\n".join(line(each) for each in [head, ("---",) * len(head), *rest]) + "\n"


def line(cells: tuple[str, ...]) -> str:
    """One line of it."""
    return f"| {' | '.join(cells)} |"


def write(page: Path = PAGE) -> None:
    """Puts the tables where the page has its generated blocks."""
    tables = iter((markdown(), _table(ranges())))
    text = page.read_text(encoding="utf-8")
    page.write_text(_BLOCK.sub(lambda found: found[1] + "\n" + next(tables) + "\n" + found[2], text), encoding="utf-8")


if __name__ == "__main__":
    if "--write-docs" in sys.argv[1:]:
        write()
    else:
        sys.exit("python -m benchmarks predictions prints the table; this takes --write-docs")
