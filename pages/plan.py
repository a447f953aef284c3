"""Plan: what would a change do? The answer first, then what can be changed, and the pictures behind the answer."""

from __future__ import annotations

import streamlit as st

from monitor.model import Report
from monitor.review import Snapshot
from monitor.show import data, shell
from monitor.show.job_choice import show_alike
from monitor.show.pace import DONE, EMPTY, Pace, live
from monitor.show.plan import inputs as plan_address
from monitor.show.plan.board import show_plan
from monitor.show.plan.inputs import show_source
from monitor.show.trouble import plain, show_error, whole

visit = shell.enter()


def board(name: str | None) -> Pace:
    """The plan of a job, or of none; a job is waited for."""
    report: Report | None = None
    if name is not None:
        snapshot = data.snapshot(visit.account, name)
        report = snapshot.report
        if report is None:
            plan_address.write()
            if snapshot.error is not None:
                show_error(snapshot.error, "job")
                show_alike(visit.account, name, snapshot.error, shell.PLAN_PAGE, plan_address.link)
                return DONE
            st.caption(f":material/hourglass_empty: {plain(snapshot.progress or 'Reviewing the job')}…")
            st.skeleton(96)
            st.skeleton(240)
            return EMPTY
    show_plan(report)
    return DONE


def pace_of(snapshot: Snapshot) -> Pace:
    return EMPTY if snapshot.report is None and snapshot.error is None else DONE


asked = plan_address.current()
chosen = show_source(visit.account, asked)
if asked.source != plan_address.JOB:
    st.fragment(lambda: whole("This page", lambda: board(None), DONE))()
elif chosen:
    name = chosen
    live(lambda: board(name), f"plan-{name}", lambda: pace_of(data.snapshot(visit.account, name)))
else:
    plan_address.write()
