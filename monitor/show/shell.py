"""The frame around every page: navigation, title, account, the banner of the demo. ``app.py`` runs it, pages enter it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path

import streamlit as st

from monitor import words
from monitor.show import data
from monitor.show.plain import plain

JOB_PAGE = "pages/job.py"
JOBS_PAGE = "pages/jobs.py"
PLAN_PAGE = "pages/plan.py"
THRESHOLDS_PAGE = "pages/thresholds.py"
_DEMO_VARIABLE = "TRAINWATCH_DEMO"
# A file of ours: a Material icon as the tab's icon would be loaded from a font service.
_MARK = str(Path(__file__).with_name("mark.svg"))


@dataclass(frozen=True, slots=True)
class Visit:
    """Who looks: the account they look at, and the time zone of their browser."""

    account: data.Account
    zone: tzinfo

    @property
    def zone_name(self) -> str:
        """The zone's own name: ``Europe/Berlin``, ``UTC``."""
        return getattr(self.zone, "key", None) or "UTC"


def run() -> None:
    """Draws the frame and, in it, the page that was asked for."""
    st.set_page_config(page_title="Trainwatch", page_icon=_MARK, layout="wide")
    # On top: a table of jobs needs the width that a sidebar takes.
    page = st.navigation(_pages(), position="top")
    st.logo(_MARK, size="large")
    if os.environ.get(_DEMO_VARIABLE) == "1":
        st.info(
            "**Simulated sample account: these jobs never ran.** Their metrics and logs are made up; nothing here reaches AWS.",
            icon=":material/science:",
        )
    _title(page.title)
    st.session_state.framed = True
    try:
        page.run()
    finally:
        st.session_state.framed = False


def enter() -> Visit:
    """The first line of every page.

    A deep link to a fresh server runs the page's file alone; this starts again through ``app.py``, framed.
    """
    if not st.session_state.get("framed"):
        st.navigation(_pages(), position="top")
        st.rerun()
    return Visit(data.Account(), words.zone(st.context.timezone))


def _pages() -> list[st.Page]:
    return [
        st.Page(
            JOBS_PAGE,
            title="Jobs",
            icon=":material/list_alt:",
            default=True,
            help="All training jobs of the account, those that need somebody first.",
        ),
        st.Page(
            JOB_PAGE,
            title="Job",
            icon=":material/monitoring:",
            url_path="job",
            help="One training job: the verdict, what to change, and the figures behind it.",
        ),
        st.Page(
            PLAN_PAGE,
            title="Plan",
            icon=":material/tune:",
            url_path="plan",
            help="What another configuration would do to step time and GPU memory, before anybody pays for it.",
        ),
        st.Page(
            THRESHOLDS_PAGE,
            title="Thresholds",
            icon=":material/notifications:",
            url_path="thresholds",
            help="What you want to be told of: which jobs cross it now, and what it would have said of past ones.",
        ),
    ]


def _title(title: str) -> None:
    place = data.place(data.Account())
    parts = (place.region or "no region", place.account_number, place.endpoint)
    account = f":material/cloud: {' · '.join(plain(part) for part in parts if part)}"
    if place.archive:
        account = f":material/inventory_2: Archive {plain(place.archive)}"
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.title(title, width="stretch")
        st.caption(account, width="content")
