"""How does a viewer save a report? As a page, as Markdown, as JSON, or its tables; built when it is asked for."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime

import streamlit as st

from monitor import settings
from monitor.archive.document import as_json, report_document
from monitor.export.markdown import markdown
from monitor.export.tables import TABLES
from monitor.model import Report
from monitor.show import data

SAMPLE = "Simulated sample account: this job never ran. Its metrics and logs are made up."
_TABLE_NAMES = {
    "steps": "Steps",
    "metrics": "Metrics",
    "findings": "Findings",
    "phases": "Phases",
    "nodes": "Nodes",
    "configuration": "Configuration",
}


def show_save(account: data.Account, name: str) -> None:
    """The button behind which the ways are; of a job without a report yet it does nothing."""
    nothing_yet = data.snapshot(account, name).report is None

    def button(label: str, end: str, mime: str, make: Callable[[Report], str], icon: str | None, about: str) -> None:
        st.download_button(
            label,
            _newest(account, name, make),
            f"{name}{end}",
            mime,
            key=f"save{end}",
            help=about,
            icon=icon,
            # The page stays as it is while the file is made.
            on_click="ignore",
            type="secondary" if icon else "tertiary",
            width="stretch" if icon else "content",
        )

    with st.popover("Save report", icon=":material/download:", key="save-report", disabled=nothing_yet):
        button("Page with charts (HTML)", ".html", "text/html", page, ":material/web:", "One file that opens offline.")
        button("Text for a ticket (Markdown)", ".md", "text/markdown", markdown, ":material/notes:", "Without charts.")
        button(
            "Data (JSON)",
            ".json",
            "application/json",
            document,
            ":material/data_object:",
            "Same as `report --format json`.",
        )
        st.caption("Tables (CSV)")
        with st.container(horizontal=True, gap="small"):
            for table, label in _TABLE_NAMES.items():
                button(label, f"-{table}.csv", "text/csv", TABLES[table], None, f"The {table} of this job as CSV.")


def page(report: Report) -> str:
    # Imported late: what draws the charts is large, and most visits save nothing.
    from monitor.export.html import html

    return html(report, datetime.now(UTC), SAMPLE if os.environ.get(settings.SAMPLE_SHOWN) == "1" else "")


def document(report: Report) -> str:
    """The report as ``report --format json`` prints it."""
    return as_json(report_document(report))


def _newest(account: data.Account, name: str, make: Callable[[Report], str]) -> Callable[[], bytes]:
    """What is made of the report that is the newest when somebody clicks."""

    def made() -> bytes:
        report = data.snapshot(account, name).report
        if report is None:
            raise ValueError(f"The report of {name} is no longer available: reload the page.")
        return make(report).encode("utf-8")

    return made
