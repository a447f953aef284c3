"""What does a plan start from? A job, a published configuration, or nothing."""

from __future__ import annotations

import streamlit as st

from monitor.predict.presets import PRESETS
from monitor.show import data, links
from monitor.show.callbacks import calm
from monitor.show.job_choice import choose_job, show_newest
from monitor.show.plan import address as plan_address
from monitor.show.plan.address import JOB, NOTHING, Asked
from monitor.show.shell import JOB_PAGE

_NAMES = {
    JOB: "a job",
    **{each.name: each.model for each in PRESETS},
    NOTHING: "nothing",
}


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
            on_change=calm("Choosing the starting point", _moved),
        )
        if asked.source != JOB:
            source = next((each.source for each in PRESETS if each.name == asked.source), "")
            st.caption(source or "Enter the model's shape and the cluster; nothing is read from AWS.", width="stretch")
            return None
        # As wide as a name: on a narrow window it goes into a row of its own.
        choose_job(account, "plan-job", asked.job, _take, width=480)
        if asked.job is not None:
            st.page_link(
                JOB_PAGE, label="Open the job", icon=":material/monitoring:", query_params=links.to(job=asked.job)
            )
    if asked.job is None:
        show_newest(account, "plan-newest", _take)
    return asked.job


def _take(name: str | None) -> None:
    """What was stated of one job does not hold of another."""
    plan_address.ask(plan_address.started(JOB, name))


def _moved() -> None:
    plan_address.ask(plan_address.started(st.session_state["plan-source"]))
