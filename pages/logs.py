"""Logs: what did the nodes say, and when? One stream of all nodes in time, with what was recognized in each line."""

from datetime import UTC, datetime

import streamlit as st

from monitor.show import data, shell
from monitor.show.job_choice import show_alike
from monitor.show.logs import address as log_address
from monitor.show.logs.address import choose, context_of, filters, jumps, misread, newest, node_names
from monitor.show.logs.board import finds_first_error, pace_of, show_log, show_search
from monitor.show.pace import EMPTY, Pace, live

visit = shell.enter()


def board(name: str) -> Pace:
    if waits(name):
        log_address.write()
        show_search(name, data.snapshot(visit.account, name))
        return EMPTY
    snapshot = data.lines(visit.account, name, log_address.current().request)
    reviewed = data.snapshot(visit.account, name)
    log_address.write()
    pace = show_log(snapshot, reviewed, visit.zone, datetime.now(UTC))
    show_alike(visit.account, name, snapshot.error, shell.LOGS_PAGE, log_address.link)
    return pace


def waits(name: str) -> bool:
    status = next((job.status for job in data.jobs(visit.account).jobs if job.name == name), None)
    if status is None and (job := data.lines(visit.account, name, log_address.current().request).job) is not None:
        status = job.status
    return finds_first_error(name, status, data.snapshot(visit.account, name))


def soon(name: str) -> Pace:
    if waits(name):
        return EMPTY
    return pace_of(data.lines(visit.account, name, log_address.current().request), data.snapshot(visit.account, name))


view = log_address.current()
# What is asked from here on moves what the address says.
log_address.write()
chosen = choose(visit.account, view)
if chosen is None:
    st.caption("All nodes of a training job in one stream, by time. Choose a job, or open a line from a finding.")
    newest(visit.account)
else:
    st.set_page_config(page_title=f"{chosen} · Logs · Trainwatch")
    reviewed = data.snapshot(visit.account, chosen)
    report = reviewed.report
    with st.container(horizontal=True, vertical_alignment="top"):
        filters(view, node_names(report))
        jumps(context_of(report).bookmarks, visit.zone)
    misread(view)
    name = chosen
    live(lambda: board(name), f"logs-{name}", lambda: soon(name))
