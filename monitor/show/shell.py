"""The frame around every page: navigation, title, account and the choice of it, the banner of the demo.

``app.py`` runs it, pages enter it.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path

import streamlit as st

from monitor.settings import SAMPLE_SHOWN
from monitor.show import account_choice, address, clock, data, visitor
from monitor.show.trouble import log_the_rest, plain, show_failed_callbacks, whole

COMPARE_PAGE = "pages/compare.py"
FLEET_PAGE = "pages/fleet.py"
JOB_PAGE = "pages/job.py"
JOBS_PAGE = "pages/jobs.py"
LOGS_PAGE = "pages/logs.py"
PLAN_PAGE = "pages/plan.py"
THRESHOLDS_PAGE = "pages/thresholds.py"
#: The parameters of the address that a page finds as it was left; the account's belong to all.
_OWN: dict[str, tuple[str, ...]] = {
    "": ("search", "status", "instance", "tag", "created", "from", "until", "accounts", "regions", "team"),
    "compare": ("jobs",),
    "fleet": ("time", "by", "owner", "use"),
    "job": ("job", "from", "until", "last", "loss"),
    "thresholds": ("when",),
}
_PLAN = "plan"
_NAME = re.compile(r"[A-Za-z0-9-]+")
# A file of ours: a Material icon as the tab's icon would be loaded from a font service.
_MARK = str(Path(__file__).with_name("mark.svg"))


@dataclass(frozen=True, slots=True)
class Visit:
    """Who looks: the account they look at, and the time zone that they read."""

    account: data.Account
    zone: tzinfo


def run() -> None:
    """Draws the frame and, in it, the page that was asked for."""
    log_the_rest()
    # Pages on top and the sidebar closed: a table of jobs needs the width.
    st.set_page_config(page_title="Trainwatch", page_icon=_MARK, layout="wide", initial_sidebar_state="collapsed")
    page = st.navigation(_pages(), position="top")
    address.arrive(page.url_path, _OWN.get(page.url_path, ()), {name for own in _OWN.values() for name in own})
    st.logo(_MARK, size="large")
    if os.environ.get(SAMPLE_SHOWN) == "1":
        st.info(
            "**Simulated sample account: these jobs never ran.** Their metrics and logs are made up; nothing here contacts AWS.",
            icon=":material/science:",
        )
    account = account_choice.chosen()
    # Nothing in the address of all accounts is about one of them.
    is_of_one = page.url_path != "" or address.value("accounts") is None or not data.members()
    if is_of_one:
        account_choice.complete(account)
    account_choice.show_choice(account)
    account_choice.show_left_out()
    if page.url_path != _PLAN:  # what a plan starts "from" is no time
        clock.show_left_out(st.query_params.to_dict())
    _title((address.value("job") if page.url_path == "job" else None) or page.title, account if is_of_one else None)
    show_failed_callbacks(page.url_path)
    if is_of_one and account_choice.show_other(account, page):
        return
    st.session_state.framed = True
    try:
        whole("This page", page.run, None)
    finally:
        st.session_state.framed = False
    # What the page was answered names the account.
    if is_of_one:
        account_choice.complete(account)


def enter() -> Visit:
    """The first line of every page.

    A deep link to a fresh server runs the page's file alone; this starts again through ``app.py``, framed.
    """
    if not st.session_state.get("framed"):
        # Without it the browser takes the page's own icon for the tab's, and asks a font service for it.
        st.set_page_config(page_icon=_MARK)
        st.navigation(_pages(), position="top")
        st.rerun()
    return Visit(account_choice.chosen(), clock.zone())


def _pages() -> list[st.Page]:
    return [
        st.Page(
            JOBS_PAGE,
            title="Jobs",
            icon=":material/list_alt:",
            default=True,
            help="All training jobs of the account, those that need attention first.",
        ),
        st.Page(
            JOB_PAGE,
            title="Job",
            icon=":material/monitoring:",
            url_path="job",
            help="One training job: the verdict, what to change, and the figures behind it.",
        ),
        st.Page(
            LOGS_PAGE,
            title="Logs",
            icon=":material/article:",
            url_path="logs",
            help="Log lines of all nodes in order of time, with what was recognized in each line.",
        ),
        st.Page(
            COMPARE_PAGE,
            title="Compare",
            icon=":material/compare_arrows:",
            url_path="compare",
            help="Two or more jobs: what differs, which is faster and how certain that is, and whether a prediction held.",
        ),
        st.Page(
            PLAN_PAGE,
            title="Plan",
            icon=":material/tune:",
            url_path=_PLAN,
            help="What another configuration would do to step time and GPU memory, before you pay for it.",
        ),
        st.Page(
            FLEET_PAGE,
            title="Fleet",
            icon=":material/stacked_bar_chart:",
            url_path="fleet",
            help="Where the GPU-hours of all archived jobs went: waste by team and cause, week by week, down to the jobs.",
        ),
        st.Page(
            THRESHOLDS_PAGE,
            title="Thresholds",
            icon=":material/notifications:",
            url_path="thresholds",
            help="Alert conditions: which jobs cross them now, and what they would have said about past jobs.",
        ),
    ]


def _title(title: str, account: data.Account | None) -> None:
    """The page's title, and whose jobs it shows; None for those of all accounts."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.title(_heading(title), anchor=False, width="stretch")
        if account is None:
            st.caption(":material/hub: accounts of the settings file", width="content")
        else:
            _show_place(account)


def _show_place(account: data.Account) -> None:
    place = data.place(account)
    parts = (place.region or "no region", account.member or account.profile, place.account_number, place.endpoint)
    where = f":material/cloud: {' · '.join(plain(part) for part in parts if part)}"
    if place.archive:
        where = f":material/inventory_2: Archive {plain(place.archive)}"
    can = "region" if visitor.is_one_profile() else "region or profile"
    help = None if place.archive else f"Change {can} in the sidebar, top left."
    st.caption(where, width="content", help=help)


def _heading(text: str) -> str:
    """As Markdown from which a name is copied as it is: two hyphens would be drawn as a dash, but not in code."""
    if not _NAME.fullmatch(text):
        return plain(text)
    return f"`{text}`" if "--" in text else text
