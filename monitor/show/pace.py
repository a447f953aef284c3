"""How often the live part of a page is drawn again. Quick while something is under way, calm later, never when done.

A fragment's interval can only be set by a full run, so a fragment that wants another one asks for a full run once: before it
draws, as far as it knows. What appears is then drawn by the full run alone, and a click on it meets no second run that would
put the page's former address back.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import streamlit as st

from monitor.review import Snapshot
from monitor.show.trouble import is_lasting, whole

#: Seconds between looks; None is never. A page with nothing on it yet costs nothing to draw.
Pace = float | None

EMPTY: Pace = 0.6
WAITING: Pace = 2.0
RUNNING: Pace = 5.0
IDLE: Pace = 20.0
DONE: Pace = None


def live(part: Callable[[], Pace], key: str, soon: Callable[[], Pace]) -> None:
    """Draws ``part`` as the page's one timed fragment; what it returns is how soon it wants to be drawn again.

    ``soon`` is what it will want as far as that is known without drawing; where it is wrong, the page is drawn twice.
    """
    first = soon()
    slot, known = f"pace-{key}", f"first-pace-{key}"
    if slot not in st.session_state or st.session_state[known] != first:
        st.session_state[slot] = st.session_state[known] = first
    pace: Pace = st.session_state[slot]

    def draw() -> None:
        if soon() != first:
            st.rerun()
        # A page that fails is drawn again as often as before: what comes next may do.
        wanted = whole("This page", part, pace)
        if wanted != pace:
            st.session_state[slot] = wanted
            st.rerun()

    st.fragment(draw, run_every=pace)()


# Metrics and lines of the last minutes come late.
_SETTLED_AFTER = timedelta(minutes=2)


def pace_of(snapshot: Snapshot, more: bool = False) -> Pace:
    """Never, once the job is over and all of it is read; ``more`` says that something beside the report is under way."""
    report = snapshot.report
    if report is None:
        return EMPTY if snapshot.error is None else DONE if is_lasting(snapshot.error) else IDLE
    if report.job.is_running and not report.archive:
        return RUNNING
    # Of a job that is over, what is there may be its newest lines alone.
    if more or snapshot.working:
        return WAITING
    if report.archive:
        return DONE
    ended = report.job.ended
    return DONE if ended is None or report.reviewed_at - ended > _SETTLED_AFTER else IDLE
