"""How does a comparison leave the page? As the command gives it, as tables, and as the command to copy."""

from __future__ import annotations

import shlex
from functools import partial

import streamlit as st

from monitor.archive.comparison_document import comparison_document
from monitor.archive.document import as_json, without_trailing_spaces
from monitor.archive.pairs import Record, record
from monitor.diagnose.comparison.compare import Comparison, pairs_of
from monitor.export.comparison import TABLES, markdown
from monitor.installed import PROGRAM
from monitor.show import data

_FILE = "comparison"


def show_export(account: data.Account, comparison: Comparison) -> None:
    """One button with all forms behind it."""
    earlier = earlier_of(comparison)
    with st.popover("Save", icon=":material/download:", key="compare-save"):
        with st.container(horizontal=True):
            _button("JSON", "json", "application/json", partial(json_of, comparison, earlier))
            _button("Markdown", "md", "text/markdown", partial(markdown_of, comparison, earlier))
        st.caption("As CSV")
        with st.container(horizontal=True):
            for name, make in TABLES.items():
                _button(name.capitalize(), "csv", "text/csv", partial(make, comparison), name)
        st.caption("The same at a terminal")
        st.code(command(account, comparison), language="sh", wrap_lines=True)


def earlier_of(comparison: Comparison) -> Record:
    """How predictions did on the user's own pairs that were kept, without these."""
    return record(data.kept_pairs(), pairs_of(comparison, max(report.reviewed_at for report in comparison.reports)))


def json_of(comparison: Comparison, earlier: Record | None) -> str:
    """What ``compare --format json`` prints."""
    return as_json(comparison_document(comparison, earlier))


def markdown_of(comparison: Comparison, earlier: Record | None) -> str:
    """What ``compare --format markdown`` prints."""
    return without_trailing_spaces(markdown(comparison, earlier))


def command(account: data.Account, comparison: Comparison) -> str:
    """What gives the same at a terminal."""
    archive = data.place(account).archive
    names = [
        f"archive:{archive.rstrip('/')}/{job.name}" if archive is not None else job.name for job in comparison.jobs
    ]
    words = [*PROGRAM.split(), "compare", *names]
    for option, value in (("--region", account.region), ("--profile", account.profile)):
        if value is not None and archive is None:
            words += [option, value]
    return shlex.join(words)


def _button(label: str, ending: str, mime: str, make: partial[str], part: str = "") -> None:
    name = f"{_FILE}-{part.replace(' ', '-')}" if part else _FILE
    st.download_button(
        label,
        make,
        f"{name}.{ending}",
        mime,
        key=f"compare-save-{part or ending}",
        on_click="ignore",
        icon=":material/download:",
    )
