"""The head of a job: its status, where it runs and since when, what it cost, how old the figures are."""

from __future__ import annotations

from datetime import datetime, tzinfo

import streamlit as st

from monitor import words
from monitor.diagnose.headline import facts, status_word
from monitor.diagnose.outlook import outlook
from monitor.model import Report
from monitor.review import Snapshot
from monitor.show.plain import plain
from monitor.show.severity import Colour

_STATUS_COLOURS: dict[str, Colour] = {"InProgress": "blue", "Completed": "green", "Failed": "red"}


def show_header(report: Report, snapshot: Snapshot, zone: tzinfo, now: datetime) -> None:
    """One line of facts and, of a running job, one of how it goes on."""
    job = report.job
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge(status_word(job.status), color=_STATUS_COLOURS.get(job.status or "", "gray"))
        st.markdown(plain(" · ".join(facts(report, zone))), width="stretch")
        if snapshot.updated_at is not None:
            st.caption(_updated(report, snapshot.updated_at, snapshot.working, zone, now), width="content")
    if clauses := outlook(report, zone):
        st.caption(plain(" · ".join(clauses)))


def _updated(report: Report, at: datetime, working: bool, zone: tzinfo, now: datetime) -> str:
    """How old the figures are; a time of day where the page does not go on, since "12 s ago" would stand for ever."""
    if report.archive or not report.job.is_running:
        return f"Reviewed {words.instant(at, zone)}"
    return f"Updated {words.ago(at, now)}{', refreshing' if working else ''}"
