"""Thresholds: which are saved, which jobs cross them now, and would a new one have fired in time?"""

from __future__ import annotations

import streamlit as st

from monitor.alert.conditions import AlertRule
from monitor.alert.rules import saved, saved_file
from monitor.errors import BadCall
from monitor.model import Report
from monitor.review import Snapshot
from monitor.show import data, shell, visitor
from monitor.show.jobs import table as jobs_table
from monitor.show.pace import IDLE, WAITING, Pace, live
from monitor.show.thresholds.board import show_last, show_saved, show_try, show_undelivered
from monitor.show.thresholds.crossings import show_wrong
from monitor.show.trouble import part, plain, show_error, show_stale
from monitor.words import count

visit = shell.enter()


def board() -> Pace:
    listing = data.jobs(visit.account)
    newest = reviews(listing)
    reports = [snapshot.report for snapshot in newest if snapshot.report is not None]
    name = listing.jobs[0].name if listing.jobs else None
    rules = saved_rules()
    if listing.error and listing.jobs:
        show_stale(listing.error, "showing the last list", "Listing jobs")
    elif listing.error:
        show_error(listing.error, "thresholds", "Listing jobs")
    show_last()
    part(None, "Alerts that were not delivered", show_undelivered, visit.zone)
    # On top, where what a card's Try brings is seen.
    waiting = bool(part(None, "Trying a threshold", show_try, rules, reports, visit.zone, name))
    if rules is not None:
        waiting = bool(part(None, "Saved thresholds", show_saved, rules, reports, name)) or waiting
        about(rules, newest, len(listing.jobs), bool(listing.error))
    return WAITING if waiting else first_pace(newest)


def reviews(listing: data.JobListing) -> list[Snapshot]:
    return [data.snapshot(visit.account, job.name) for job in listing.jobs[: jobs_table.REVIEWED]]


def first_pace(newest: list[Snapshot]) -> Pace:
    under_way = any(snapshot.report is None and snapshot.error is None for snapshot in newest)
    return WAITING if under_way else IDLE


def saved_rules() -> tuple[AlertRule, ...] | None:
    """The saved thresholds; None where their file cannot be used, which is said."""
    try:
        return saved()
    except BadCall as error:
        show_wrong(error, "Can't use the saved thresholds")
        return None


def about(rules: tuple[AlertRule, ...], newest: list[Snapshot], listed: int, refused: bool) -> None:
    """What they were checked on, and where they are kept."""
    if not rules:
        return
    parts = [
        f"{visitor.READ_ONLY_WORDS}; thresholds are changed on the machine that runs it."
        if visitor.is_read_only()
        else f"Kept in {saved_file()}."
    ]
    if listed:
        parts.append(against(newest, listed))
    elif not refused:
        parts.append("There is no training job yet to check them on.")
    st.caption(plain(" ".join(parts)) + " `python -m monitor alert JOB` checks all of them in a terminal.")


def against(newest: list[Snapshot], listed: int) -> str:
    done: list[Report] = [snapshot.report for snapshot in newest if snapshot.report is not None]
    failed = sum(snapshot.report is None and snapshot.error is not None for snapshot in newest)
    left = len(newest) - len(done) - failed
    said = f"Checked on {count(len(done), 'job')}"
    said += f", the newest of {listed}" if listed > len(newest) else ""
    said += f"; {left} still under review" if left else ""
    said += f"; {failed} could not be reviewed" if failed else ""
    return f"{said}; running ones as of now, finished ones as of their end."


live(board, "thresholds", lambda: first_pace(reviews(data.jobs(visit.account))))
