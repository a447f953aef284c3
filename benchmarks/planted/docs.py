"""Where does the table stand in the documentation? Between two marks, of which the rest of the page knows nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.planted.table import Row, markdown

BEGIN, END = "<!-- planted faults: begin -->", "<!-- planted faults: end -->"


def write(table: Sequence[Row], page: Path) -> None:
    """Puts the table between the marks; a page without them gets them at its end."""
    text = page.read_text(encoding="utf-8") if page.exists() else "# Diagnosis, measured\n"
    if BEGIN not in text:
        text = f"{text.rstrip()}\n\n{BEGIN}\n{END}\n"
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n{markdown(table)}\n{END}{after}", encoding="utf-8")
