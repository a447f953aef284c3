"""What does a plan start from? A job, a published configuration, or nothing."""

from __future__ import annotations

import streamlit as st

from monitor.predict.presets import PRESETS
from monitor.show import data, links, plan_address
from monitor.show.plan_address import JOB, NOTHING, Asked
from monitor.show.shell import JOB_PAGE
from monitor.show.trouble import show_error

_NAMES = {
    JOB: "a job",
    **{each.name: each.title.partition(" on ")[0].partition(" with ")[0] for each in PRESETS},
    NOTHING: "nothing",
}


NEWEST = 12


def show_source(account: data.Account, asked: Asked) -> str | None:
    """The choice in one row; gives the name of the job, where it is one and one is chosen."""
    st.session_state["plan-source"] = asked.source
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("Start from", width="content")
        st.segmented_control(
            "Start from",
            list(_NAMES),
            format_func=_NAMES.__getitem__,
            required=True,
            key="plan-source",
            label_visibility="collapsed",
            on_change=_moved,
        )
        if asked.source != JOB:
            source = next((each.source for each in PRESETS if each.name == asked.source), "")
            st.caption(source or "Enter the model's shape and the cluster; nothing is read from AWS.", width="stretch")
            return None
        listing = data.jobs(account)
        st.session_state["plan-job"] = asked.job
        st.selectbox(
            "Job",
            [job.name for job in listing.jobs],
            index=None,
            key="plan-job",
            # A link may name a job older than the list.
            accept_new_options=True,
            placeholder="Choose a job, or type its full name",
            icon=":material/search:",
            label_visibility="collapsed",
            # As wide as a name: on a narrow window it goes into a row of its own.
            width=480,
            on_change=_other_job,
        )
        if asked.job is not None:
            st.page_link(JOB_PAGE, label="Open it", icon=":material/monitoring:", query_params=links.to(job=asked.job))
    if listing.error and not asked.job:
        show_error(listing.error, "list")
    elif not asked.job:
        _newest([job.name for job in listing.jobs[:NEWEST]])
    return asked.job


def _newest(names: list[str]) -> None:
    """The newest jobs, to take one with a click."""
    st.session_state["plan-newest"] = None
    st.pills("The newest jobs", names, key="plan-newest", on_change=_take)


def _take() -> None:
    plan_address.ask(plan_address.started(JOB, st.session_state["plan-newest"]))


def _moved() -> None:
    plan_address.ask(plan_address.started(st.session_state["plan-source"]))


def _other_job() -> None:
    """What was stated of one job does not hold of another."""
    plan_address.ask(plan_address.started(JOB, st.session_state["plan-job"]))
