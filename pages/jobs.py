"""Jobs: which job needs me? Figures of the account, and one table that fills in place as reviews come in."""

from datetime import UTC, datetime

import streamlit as st

from monitor import words
from monitor.diagnose.rights import of_list
from monitor.model import Gap, JobSummary
from monitor.review import Snapshot
from monitor.show import data, jobs_query, jobs_table, shell
from monitor.show.csv import csv_button
from monitor.show.jobs_figures import figures, show_jobs_figures
from monitor.show.pace import IDLE, WAITING, Pace, live
from monitor.show.plain import advice, plain
from monitor.show.trouble import show_error, show_rights, show_stale

visit = shell.enter()


def board() -> Pace:
    now = datetime.now(UTC)
    limit = st.session_state.get("jobs-limit", data.JOBS_LIMIT)
    everything = data.find(visit.account, jobs_query.Asked().query(now, limit))
    if everything.error and not everything.jobs:
        show_error(everything.error, "jobs", "Listing jobs")
        return IDLE
    if not everything.jobs:
        no_jobs()
        return IDLE
    newest = reviews(everything.jobs, now)
    # Filled when it is known what the table lacks.
    top = st.container()
    show_jobs_figures(figures(everything.jobs, newest, data.own_prices(), everything.more))
    asked = jobs_query.asked()
    types = {job.instance_type for job in everything.jobs}
    types |= {snapshot.report.job.instance_type for snapshot in newest.values() if snapshot.report}
    jobs_query.show_filters(
        asked,
        sorted(filter(None, types)),
        sorted({f"{key}={text}" for job in everything.jobs for key, text in job.tags.items()}),
        has_tags=data.place(visit.account).archive is None,
    )
    found = everything if asked.is_any else data.find(visit.account, asked.query(now, limit))
    if found.error:
        if not found.jobs:
            show_error(found.error, "found", "Listing jobs")
            return IDLE
        show_stale(found.error, "showing the last list", "Listing jobs")
    if not found.jobs:
        st.info("No job matches.", icon=":material/search_off:")
        return IDLE
    shown = newest if found is everything else reviews(found.jobs, now)
    settled = jobs_table.settled(shown) and jobs_table.settled(newest)
    running = [job for job in found.jobs if jobs_table.is_running(job)]
    glances = data.glances(visit.account, running)
    order = jobs_table.kept_order((visit.account, asked, limit), found.jobs, shown, settled)
    table = jobs_table.rows(found.jobs, shown, now, order, glances.jobs)
    jobs_table.show_table(table)
    if order and order != jobs_table.worst_first(found.jobs, shown) and settled:
        st.button("Worst first again", icon=":material/sort:", on_click=jobs_table.sort_again, type="tertiary")
    with st.container(horizontal=True, vertical_alignment="center"):
        below(found, shown, now, limit)
        csv_button(lambda: jobs_table.csv_rows(table), "jobs", "jobs-csv", "This table")
    with top:
        show_rights(of_list(glances.gaps, [each.report for each in shown.values() if each.report]))
    gaps((*found.gaps, *(gap for gap in glances.gaps if not gap.action)))
    return IDLE if settled else WAITING


def first_pace() -> Pace:
    now = datetime.now(UTC)
    limit = st.session_state.get("jobs-limit", data.JOBS_LIMIT)
    everything = data.find(visit.account, jobs_query.Asked().query(now, limit))
    return IDLE if jobs_table.settled(reviews(everything.jobs, now)) else WAITING


def reviews(jobs: tuple[JobSummary, ...], now: datetime) -> dict[str, Snapshot]:
    return {job.name: data.snapshot(visit.account, job.name) for job in jobs_table.to_review(jobs, now)}


def below(found: data.Listing, shown: dict[str, Snapshot], now: datetime, limit: int) -> None:
    """What the table does not say itself: what is not in it, how old it is, what it cost."""
    if found.more:
        st.button(f"List {data.JOBS_LIMIT} more", icon=":material/expand_more:", on_click=list_more, args=(limit,))
    parts = [f"The newest {len(found.jobs)} of the jobs that match are listed."] if found.more else []
    parts += ["A click on a row opens the job."]
    if len(found.jobs) > len(shown):
        parts.append(
            f"{len(shown)} of {len(found.jobs)} are reviewed unasked: those that run, failed today, or are the newest. "
            "Open any other to review it."
        )
    if found.read_at is not None:
        parts.append(f"Listed {words.ago(found.read_at, now)}.")
    if calls := (bill := data.bill(visit.account)).calls:
        cost = f"${bill.estimated_usd:.3f}" if bill.estimated_usd < 1 else words.usd(bill.estimated_usd)
        parts.append(f"{words.count(sum(calls.values()), 'call')} to AWS, {cost}, since the dashboard was started.")
    st.caption(plain(" ".join(parts)), width="stretch")


def gaps(found: tuple[Gap, ...]) -> None:
    for gap in dict.fromkeys(found):
        said = " ".join(part for part in (gap.why, gap.remedy) if part)
        st.caption(f":material/visibility_off: {advice(said)}")


def list_more(limit: int) -> None:
    st.session_state["jobs-limit"] = limit + data.JOBS_LIMIT


def no_jobs() -> None:
    place = data.place(visit.account)
    if place.archive:
        st.info(
            "Archive some with `python -m monitor archive`.", title="No jobs in this archive", icon=":material/inbox:"
        )
        return
    region = place.region
    st.info(
        "Choose another region or profile in the sidebar, top left, or look at sample jobs with "
        "`python -m monitor demo`.",
        title=f"No training jobs in {plain(region)}" if region else "No training jobs",
        icon=":material/inbox:",
    )


live(board, "jobs", first_pace)
