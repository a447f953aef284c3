"""How often does the live part of a page look again? Quick while something is under way, calm later, never when done.

A fragment's interval can only be set by a full run, so a fragment that wants another one asks for a full run once.
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

#: Seconds between looks; None is never.
Pace = float | None

WAITING: Pace = 2.0
RUNNING: Pace = 5.0
IDLE: Pace = 20.0
DONE: Pace = None


def live(part: Callable[[], Pace], key: str) -> None:
    """Draws ``part`` as the page's one timed fragment; what it returns is how soon it wants to be drawn again."""
    slot = f"pace-{key}"
    pace: Pace = st.session_state.setdefault(slot, WAITING)

    def draw() -> None:
        wanted = part()
        if wanted != pace:
            st.session_state[slot] = wanted
            st.rerun()

    st.fragment(draw, run_every=pace)()
