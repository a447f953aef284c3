"""Job: is it healthy, what does it waste, what should I change? The verdict first, then what it is based on."""

from collections.abc import Sequence
from datetime import UTC, datetime

import streamlit as st

from monitor.diagnose.rights import of_report
from monitor.model import JobSummary
from monitor.review import Snapshot
from monitor.review.run_names import previous
from monitor.show import address, data, shell
from monitor.show.compare import choice as compare_address
from monitor.show.job.findings import show_answer
from monitor.show.job.header import has_console, show_figures, show_header, show_links, show_save, tab_title
from monitor.show.job.pictures import show_pictures
from monitor.show.job.tables import show_configuration, show_coverage, show_files, show_nodes_with_gpus
from monitor.show.job_choice import choose_job, show_alike, show_newest
from monitor.show.logs import address as log_address
from monitor.show.pace import Pace, live, pace_of
from monitor.show.plan import inputs as plan_address
from monitor.show.trouble import part, plain, show_error, show_gaps, show_rights, show_stale
from monitor.words import instant

visit = shell.enter()


def choose() -> str | None:
    named = address.value("job")
    with st.container(horizontal=True, vertical_alignment="center"):
        choose_job(visit.account, "of-job", named, lambda name: address.keep("job", name))
        if named:
            shell.show_link(shell.PLAN_PAGE, "Plan a change", address.to(**plan_address.link(named)))
            shell.show_link(shell.LOGS_PAGE, "Logs", log_address.link(named))
            # With the run before it, where the list knows one; else with what is chosen there.
            earlier = previous(named, [job.name for job in data.jobs(visit.account).jobs])
            to = compare_address.link(*filter(None, (earlier, named)))
            with_what = f"With the previous run, {earlier}" if earlier else "With another job"
            shell.show_link(shell.COMPARE_PAGE, "Compare", to, plain(with_what))
            show_save(visit.account, named)
    if not named:
        show_newest(visit.account, "job-newest", lambda name: address.keep("job", name))
    return named


def board(name: str, listed: Sequence[JobSummary]) -> Pace:
    snapshot = data.snapshot(visit.account, name)
    report = snapshot.report
    if report is None:
        return no_report(name, snapshot)
    st.set_page_config(page_title=tab_title(report))
    now = report.reviewed_at if report.archive else datetime.now(UTC)
    part(report, "Missing rights", show_rights, of_report(report))
    part(report, "Header", show_header, report, snapshot, visit.zone, now)
    names = [job.name for job in listed]
    more = part(report, "Links of the job", show_links, report, visit.account, names)
    if snapshot.error is not None:
        show_stale(snapshot.error, f"data from {instant(report.reviewed_at, visit.zone)}")
    part(report, "Verdict and findings", show_answer, report, visit.zone)
    part(report, "What could not be read", show_gaps, report)
    part(report, "Figures", show_figures, report)
    if report.job.started is not None:
        show_pictures(report, visit.zone)
    part(report, "Nodes", show_nodes_with_gpus, report, has_console(report, visit.account), visit.zone)
    with st.expander("Configuration", icon=":material/tune:", key="configuration-part"):
        part(report, "Configuration", show_configuration, report)
    tags = next((job.tags for job in listed if job.name == name), None) or {}
    if report.job.source == "aws" or tags:
        with st.expander("Inputs, outputs and tags", icon=":material/folder:", key="files-part"):
            part(report, "Inputs, outputs and tags", show_files, report, tags, has_console(report, visit.account))
    part(report, "Coverage", show_coverage, report, visit.zone)
    return pace_of(snapshot, bool(more))


def no_report(name: str, snapshot: Snapshot) -> Pace:
    if snapshot.error is not None:
        show_error(snapshot.error, "job")
        show_alike(visit.account, name, snapshot.error, shell.JOB_PAGE, lambda other: address.to(job=other))
        to_all_jobs()
        return pace_of(snapshot)
    st.caption(f":material/hourglass_empty: {plain(snapshot.progress or 'Reviewing the job')}…")
    with st.grid(6, min_column_width=190):
        for _ in range(6):
            st.skeleton(96)
    st.skeleton(240)
    return pace_of(snapshot)


def to_all_jobs() -> None:
    st.page_link(shell.JOBS_PAGE, label="See all jobs", icon=":material/list_alt:", query_params=address.to())


if name := choose():
    chosen = name
    st.set_page_config(page_title=chosen)
    # As of this visit: a refresh of the board asks for no list.
    listed = data.jobs(visit.account).jobs
    live(lambda: board(chosen, listed), f"job-{chosen}", lambda: pace_of(data.snapshot(visit.account, chosen)))
else:
    to_all_jobs()
