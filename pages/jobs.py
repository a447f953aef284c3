"""Jobs: which job needs me? Figures of the account, and one table that fills in place as reviews come in."""

from collections.abc import Hashable, Mapping
from datetime import UTC, datetime

import pandas as pd
import streamlit as st

from monitor import words
from monitor.diagnose.rights import of_list
from monitor.model import Gap, JobSummary
from monitor.review import Snapshot
from monitor.show import accounts_board, data, shell
from monitor.show.compare import choice as compare_address
from monitor.show.drawing import csv_button
from monitor.show.job.header import show_tiles
from monitor.show.job_choice import no_jobs
from monitor.show.jobs import query as jobs_query
from monitor.show.jobs import table as jobs_table
from monitor.show.jobs.query import figures
from monitor.show.pace import IDLE, WAITING, Pace, live
from monitor.show.trouble import advice, calm, plain, show_error, show_rights, show_stale

visit = shell.enter()


def board() -> Pace:
    now = datetime.now(UTC)
    limit = st.session_state.get("jobs-limit", data.JOBS_LIMIT)
    everything = data.find(visit.account, jobs_query.JobFilter().query(now, limit))
    if everything.error and not everything.jobs:
        show_error(everything.error, "jobs", "Listing jobs")
        return IDLE
    if not everything.jobs:
        no_jobs(visit.account)
        return IDLE
    # What is in view is asked for last, and so goes first.
    newest = reviews(everything.jobs, now)
    # Filled when it is known what the table lacks.
    top = st.container()
    show_tiles(figures(everything.jobs, newest, data.own_prices(), everything.more))
    asked = jobs_query.job_filter()
    types = {job.instance_type for job in everything.jobs}
    types |= {snapshot.report.job.instance_type for snapshot in newest.values() if snapshot.report}
    jobs_query.show_filters(
        visit.account,
        asked,
        sorted(filter(None, types)),
        sorted({f"{key}={text}" for job in everything.jobs for key, text in (job.tags or {}).items()}),
        limit,
        has_tags=data.origin(visit.account).archive is None,
    )
    found = everything if asked.is_any else data.find(visit.account, asked.query(now, limit))
    if found.error:
        if not found.jobs:
            show_error(found.error, "found", "Listing jobs")
            return IDLE
        show_stale(found.error, "showing the last list", "Listing jobs")
    if not found.jobs:
        st.info("No job matches these filters.", icon=":material/search_off:")
        return IDLE
    of = (visit.account, asked, limit)
    order = jobs_table.settled_order(of)
    jobs_table.keep_rows(visit.account, newest)
    in_view = jobs_table.row_reviews(visit.account, jobs_table.in_view(found.jobs, order, now))
    reviewed = {**data.reviewed_rows(visit.account), **in_view}
    waits = any(known.is_under_way for known in in_view.values()) or not jobs_table.settled(newest.values())
    reads_on = any(known.is_partial for known in in_view.values())
    glances = data.glances(visit.account, [job for job in found.jobs if job.is_running])
    table = jobs_table.rows(found.jobs, reviewed, now, order, glances.jobs)
    wanted = jobs_table.wanted_order(found.jobs, reviewed, table)
    if not order and (
        jobs_table.sorted_by() or jobs_table.wants_sorting(of) or (not waits and jobs_table.may_move(of))
    ):
        jobs_table.keep_order(of, wanted)
        table, order = jobs_table.rows(found.jobs, reviewed, now, wanted, glances.jobs), wanted
    above(of, table, found, reviewed, is_sorted=bool(order), may_sort=not waits and list(order) != wanted)
    jobs_table.show_table(table, of, visit.zone)
    with st.container(horizontal=True, vertical_alignment="center"):
        below(found, now, limit)
        csv_button(lambda: jobs_table.csv_rows(table), "jobs", "jobs-csv", "This table")
    with top:
        show_rights(of_list(glances.gaps, [each.report for each in newest.values() if each.report]))
    gaps((*found.gaps, *(gap for gap in glances.gaps if not gap.action)))
    return WAITING if waits or reads_on else IDLE


def first_pace() -> Pace:
    now = datetime.now(UTC)
    limit = st.session_state.get("jobs-limit", data.JOBS_LIMIT)
    everything = data.find(visit.account, jobs_query.JobFilter().query(now, limit))
    return IDLE if jobs_table.settled(reviews(everything.jobs, now).values()) else WAITING


def reviews(jobs: tuple[JobSummary, ...], now: datetime) -> dict[str, Snapshot]:
    most = jobs_table.by_urgency(jobs, now)[: jobs_table.REVIEWED]
    return {
        job.name: data.snapshot(visit.account, job.name, jobs_table.REVIEWED + place) for place, job in enumerate(most)
    }


def above(
    of: Hashable,
    table: pd.DataFrame,
    found: data.JobListing,
    reviewed: Mapping[str, jobs_table.RowReview],
    is_sorted: bool,
    may_sort: bool,
) -> None:
    """What the order of the rows means, and what can be done with those that are chosen."""
    chosen = jobs_table.chosen(table)
    done = sum(job.name in reviewed and reviewed[job.name].is_reviewed for job in found.jobs)
    said = words.count(len(found.jobs), "job")
    if found.more:
        said = f"The newest {said}; more match"
    by = jobs_table.sorted_by()
    label = jobs_table.label_of(by[0]) if by else ""
    rank = f"sorted by {label}" if by else "worst first" if is_sorted else "running ones first, then the newest"
    said += (
        f", {rank}"
        if done == len(found.jobs)
        else f". {done} reviewed so far, {rank}; the rest when you scroll to them"
    )
    with st.container(horizontal=True, vertical_alignment="center", height=40, border=False):
        st.caption(f"{plain(said)}.", width="stretch")
        if may_sort:
            st.button(
                f"Re-sort by {label}" if by else f"{'Re-sort' if is_sorted else 'Sort'}, worst first",
                icon=":material/sort:",
                on_click=calm("Sorting the table", jobs_table.sort_again),
                args=(of,),
                type="tertiary",
            )
        if len(chosen) > 1:
            several = chosen[: compare_address.MOST]
            shell.show_link(
                shell.COMPARE_PAGE,
                f"Compare these {len(several)}",
                compare_address.link(*several),
                plain(f"Against {several[0]}, which started first"),
            )
        elif chosen:
            st.caption("Select another one to compare.", width="content")


def below(found: data.JobListing, now: datetime, limit: int) -> None:
    """What the table does not say itself: how old it is, what it cost."""
    if found.more:
        st.button(
            f"List {data.JOBS_LIMIT} more",
            icon=":material/expand_more:",
            on_click=calm("Listing more jobs", list_more),
            args=(limit,),
        )
    parts = ["A click or Enter opens a job, Space selects it."]
    if found.read_at is not None:
        parts.append(f"Listed {words.ago(found.read_at, now)}.")
    if calls := (bill := data.bill(visit.account)).calls:
        cost = words.about_usd(bill.estimated_usd)
        parts.append(f"{words.count(sum(calls.values()), 'call')} to AWS, {cost}, since the dashboard started.")
    st.caption(plain(" ".join(parts)), width="stretch")


def gaps(found: tuple[Gap, ...]) -> None:
    for gap in dict.fromkeys(found):
        said = gap.sentence
        st.caption(f":material/visibility_off: {advice(said)}")


def list_more(limit: int) -> None:
    st.session_state["jobs-limit"] = limit + data.JOBS_LIMIT


if accounts_board.is_wanted():
    accounts_board.show_way_out()
    live(lambda: accounts_board.board(visit.zone), "accounts", accounts_board.pace)
else:
    accounts_board.show_way_in()
    live(board, "jobs", first_pace)
