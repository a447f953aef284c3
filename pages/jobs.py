"""Jobs: which job needs me? Figures of the account, and one table that fills in place as reviews come in."""

from datetime import UTC, datetime

import streamlit as st

from monitor import words
from monitor.diagnose.headline import status_word
from monitor.model import JobSummary
from monitor.review import Snapshot
from monitor.show import data, jobs_table, shell
from monitor.show.pace import IDLE, WAITING, Pace, live
from monitor.show.plain import plain
from monitor.show.trouble import show_error, show_stale

STATUSES = ("InProgress", "Completed", "Failed", "Stopping", "Stopped")
visit = shell.enter()


def board() -> Pace:
    everything = data.jobs(visit.account)
    if everything.error and not everything.jobs:
        show_error(everything.error, "jobs")
        return IDLE
    if not everything.jobs:
        no_jobs()
        return IDLE
    newest = reviews(everything.jobs)
    figures(everything.jobs, newest)
    search, status = filters()
    found = data.jobs(visit.account, search, status) if search or status else everything
    if found.error:
        show_stale(found.error)
    if not found.jobs:
        no_match()
        return IDLE
    shown = newest if found is everything else reviews(found.jobs)
    settled = jobs_table.settled(shown) and jobs_table.settled(newest)
    now = datetime.now(UTC)
    # Rows change places once, when all reviews are in, and not under the mouse while they come.
    jobs_table.show_table(jobs_table.rows(found.jobs, shown, now, visit.zone, worst_first=settled))
    caption(found, shown, now)
    return IDLE if settled else WAITING


def reviews(jobs: tuple[JobSummary, ...]) -> dict[str, Snapshot]:
    return {job.name: data.snapshot(visit.account, job.name) for job in jobs[: jobs_table.REVIEWED]}


def figures(jobs: tuple[JobSummary, ...], reviewed: dict[str, Snapshot]) -> None:
    levels = [jobs_table.standing(snapshot).level for snapshot in reviewed.values()]
    done = len(levels) - levels.count("waiting")
    newest = f"of the newest {len(jobs)} jobs" if len(jobs) > 1 else "of one job"
    so_far = f"of {done} reviewed" if done == len(levels) else f"of {done} reviewed so far"
    with st.grid(4, min_column_width=130):
        st.metric("Running", sum(job.status == "InProgress" for job in jobs), delta_description=newest, border=True)
        st.metric("Critical", levels.count("critical"), delta_description=so_far, border=True)
        st.metric("Warning", levels.count("warning"), delta_description=so_far, border=True)
        st.metric("Healthy", levels.count("healthy"), delta_description="as far as can be seen", border=True)


def filters() -> tuple[str, str | None]:
    with st.container(horizontal=True):
        search = st.text_input(
            "Search",
            key="search",
            bind="query-params",
            placeholder="Part of a job's name",
            icon=":material/search:",
            label_visibility="collapsed",
            width="stretch",
        )
        status = st.selectbox(
            "Status",
            STATUSES,
            index=None,
            key="status",
            bind="query-params",
            format_func=status_word,
            placeholder="Any status",
            label_visibility="collapsed",
            width=200,
        )
    return search, status


def caption(found: data.Listing, shown: dict[str, Snapshot], now: datetime) -> None:
    parts = [
        "A click on a row opens the job. GPU and GPU memory are means of one device over the time of work; "
        "step time is the median."
    ]
    if len(found.jobs) > len(shown):
        parts.append(f"The newest {len(shown)} are reviewed; open any other to review it.")
    if len(found.jobs) >= data.JOBS_LIMIT:
        parts.append(f"The newest {data.JOBS_LIMIT} are listed; search to find older ones.")
    parts.append(f"Times are {visit.zone_name}.")
    if found.read_at is not None:
        parts.append(f"Listed {words.ago(found.read_at, now)}.")
    st.caption(" ".join(parts))


def no_jobs() -> None:
    place = data.place(visit.account)
    if place.archive:
        st.info(
            "Archive some with `python -m monitor archive`.", title="No jobs in this archive", icon=":material/inbox:"
        )
        return
    region = place.region
    st.info(
        "Choose another region with AWS_REGION or --region, or look at sample jobs with `python -m monitor demo`.",
        title=f"No training jobs in {plain(region)}" if region else "No training jobs",
        icon=":material/inbox:",
    )


def no_match() -> None:
    st.info("No job matches.", icon=":material/search_off:")
    st.button("Clear the filters", icon=":material/filter_alt_off:", on_click=clear)


def clear() -> None:
    st.session_state.search = ""
    st.session_state.status = None


live(board, "jobs")
