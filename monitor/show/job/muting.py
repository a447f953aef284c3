"""How does a viewer mute a finding, with a reason, and undo that? What is muted stays on the page, in a closed list."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

import streamlit as st

from monitor.diagnose.words.mutes import muted_words
from monitor.errors import TrainwatchError
from monitor.model import Finding, Mute, Report
from monitor.review.muted import LONGEST_REASON, base_of_runs, can_mute, mute, unmute
from monitor.show import visitor
from monitor.show.callbacks import calm
from monitor.show.data_mutes import mutes
from monitor.show.plain import advice, plain
from monitor.show.severity import LOOKS
from monitor.words import count

_TROUBLE = "mute-trouble"
_THIS = "This job only"


def offer_mute(finding: Finding, report: Report) -> None:
    """The button, and behind it the question why and for which jobs."""
    if not can_mute(finding) or visitor.is_read_only():
        return
    with st.popover("Mute", icon=":material/notifications_off:", type="tertiary", key=f"mute-{finding.id}"):
        st.caption("It stays on this page with your reason, and in saved reports. Alerts are not affected.")
        base = base_of_runs(report.job.name)
        with st.form(f"mute-form-{finding.id}", border=False, enter_to_submit=True):
            st.text_input(
                "Why?",
                key=f"mute-reason-{finding.id}",
                max_chars=LONGEST_REASON,
                placeholder="Example: the data loader is being rewritten",
            )
            if base is not None:
                st.radio("For which jobs?", (_THIS, _all_runs(base)), key=f"mute-jobs-{finding.id}")
            st.form_submit_button(
                "Mute this finding",
                key=f"mute-save-{finding.id}",
                on_click=calm("Muting the finding", _mute),
                args=(finding.id, report.job.name, base),
            )
        trouble = st.session_state.get(_TROUBLE)
        if trouble is not None and trouble[0] == finding.id:
            st.error(advice(str(trouble[1])), icon=":material/error:")


def show_muted(report: Report, zone: tzinfo) -> None:
    """The findings of this job that are muted: why, since when, and the way back; and why they are not known."""
    error = mutes()[1]
    if error is not None:
        st.caption(f":material/notifications_off: {advice(str(error))}")
    trouble = st.session_state.get(_TROUBLE)
    if trouble is not None and trouble[0] in report.muted:
        st.error(advice(str(trouble[1])), icon=":material/error:")
    if not report.muted:
        return
    silenced = [finding for finding in report.findings if finding.id in report.muted]
    with st.expander(count(len(silenced), "muted finding"), icon=":material/notifications_off:", key="muted"):
        for finding in silenced:
            with st.container(border=True, gap="xsmall", key=f"muted-{finding.id}"):
                look = LOOKS[finding.severity]
                with st.container(horizontal=True, vertical_alignment="center"):
                    st.badge(look.word, icon=look.icon, color="gray")
                    st.markdown(f"**{plain(finding.title)}**", width="stretch")
                    if not visitor.is_read_only():
                        st.button(
                            "Unmute",
                            icon=":material/notifications:",
                            key=f"unmute-{finding.id}",
                            on_click=calm("Unmuting the finding", _unmute),
                            args=(finding.id, report.muted[finding.id]),
                        )
                st.caption(plain(muted_words(report.muted[finding.id], zone)))
                st.text(finding.summary)


def _all_runs(base: str) -> str:
    return f"All runs of {plain(base)}"


def _mute(finding: str, job: str, base: str | None) -> None:
    state = st.session_state
    all_runs = base is not None and state.get(f"mute-jobs-{finding}") not in (None, _THIS)
    made = Mute(
        finding,
        base if all_runs and base is not None else job,
        state.get(f"mute-reason-{finding}") or "",
        datetime.now(UTC).replace(microsecond=0),
        all_runs,
    )
    state.pop(_TROUBLE, None)
    try:
        visitor.refuse_if_read_only("mutes")
        mute(made)
    except TrainwatchError as error:
        state[_TROUBLE] = (finding, error)


def _unmute(finding: str, gone: Mute) -> None:
    st.session_state.pop(_TROUBLE, None)
    try:
        visitor.refuse_if_read_only("mutes")
        unmute(gone)
    except TrainwatchError as error:
        st.session_state[_TROUBLE] = (finding, error)
