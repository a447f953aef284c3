"""Where does a link within Trainwatch lead? The page's own parameters, and the account that the viewer chose."""

from __future__ import annotations

import streamlit as st

#: Parameters of the frame: they go with every link, so that a link means the same account for whoever opens it.
ACCOUNT = ("region", "profile")


def to(**parts: str | None) -> dict[str, str]:
    """The query parameters of a link; a part that is None is left out."""
    known = {name: st.session_state.get(name) for name in ACCOUNT}
    return {name: str(value) for name, value in {**known, **parts}.items() if value}
