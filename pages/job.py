"""Job: is it healthy, what does it waste, what do I change? The verdict first, then what stands behind it."""

from datetime import UTC, datetime, timedelta

import streamlit as st

from monitor.review import Snapshot
from monitor.show import data, plan_address, shell
from monitor.show.figures import show_figures
from monitor.show.findings import show_answer
from monitor.show.header import show_header
from monitor.show.job_tables import show_configuration, show_coverage, show_nodes
from monitor.show.pace import DONE, IDLE, RUNNING, WAITING, Pace, live
from monitor.show.pictures import show_pictures
from monitor.show.plain import plain
from monitor.show.trouble import is_lasting, show_error, show_gaps, show_stale

SETTLED_AFTER = timedelta(minutes=2)
visit = shell.enter()


def choose() -> str | None:
    listing = data.jobs(visit.account)
    with st.container(horizontal=True, vertical_alignment="center"):
        chosen = st.selectbox(
            "Job",
            [job.name for job in listing.jobs],
            index=None,
            key="job",
            bind="query-params",
            # A link may name a job older than the list.
            accept_new_options=True,
            placeholder="Choose a job, or type its full name",
            icon=":material/search:",
            label_visibility="collapsed",
        )
        if chosen:
            to = plan_address.link(chosen)
            st.page_link(shell.PLAN_PAGE, label="Plan a change", icon=":material/tune:", query_params=to)
    if listing.error and not chosen:
        show_error(listing.error, "list")
    return chosen


def board(name: str) -> Pace:
    snapshot = data.snapshot(visit.account, name)
    report = snapshot.report
    if report is None:
        return no_report(snapshot)
    now = report.reviewed_at if report.archive else datetime.now(UTC)
    show_header(report, snapshot, visit.zone, now)
    if snapshot.error is not None:
        show_stale(snapshot.error)
    show_answer(report, visit.zone)
    show_gaps(report)
    show_figures(report, now)
    if report.job.started is not None:
        show_pictures(report, visit.zone)
    show_nodes(report)
    with st.expander("Configuration", icon=":material/tune:", key="configuration-part"):
        show_configuration(report)
    show_coverage(report, visit.zone)
    if report.archive:
        return DONE
    if report.job.is_running:
        return RUNNING
    # The last minute of metrics and lines comes late.
    ended = report.job.ended
    return DONE if ended is None or report.reviewed_at - ended > SETTLED_AFTER else IDLE


def no_report(snapshot: Snapshot) -> Pace:
    if snapshot.error is not None:
        show_error(snapshot.error, "job")
        to_all_jobs()
        return DONE if is_lasting(snapshot.error) else IDLE
    st.caption(f":material/hourglass_empty: {plain(snapshot.progress or 'Reviewing the job')}…")
    with st.grid(5, min_column_width=130):
        for _ in range(5):
            st.skeleton(96)
    st.skeleton(240)
    return WAITING


def to_all_jobs() -> None:
    st.page_link(shell.JOBS_PAGE, label="See all jobs", icon=":material/list_alt:")


if name := choose():
    chosen = name
    st.set_page_config(page_title=f"{chosen} · Trainwatch")
    live(lambda: board(chosen), f"job-{chosen}")
else:
    to_all_jobs()
