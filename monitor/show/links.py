"""Where does a link within Trainwatch lead? The page's own parameters, plus the account and clock of whoever follows
it."""

from __future__ import annotations

import streamlit as st

#: Parameters of the frame: they go with every link, so that a link means the same account for whoever opens it.
#: ``account`` is its number, by which another machine tells whether it is signed in to the same one; ``profile`` is a name
#: on this machine, and ``zone`` the clock (UTC, or the viewer's own).
#: ``member`` is the name of an account in the settings file.
FRAME = ("region", "account", "profile", "member", "zone")


def to(**parts: str | None) -> dict[str, str]:
    """The query parameters of a link; a part that is None is left out."""
    known = {name: st.session_state.get(name) for name in FRAME}
    return {name: str(value) for name, value in {**known, **parts}.items() if value}
