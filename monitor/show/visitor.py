"""What somebody may do who opens this dashboard. Its owner sits at the machine that runs it; a visitor only reads, and sees
what one profile of that machine may see.
"""

from __future__ import annotations

import os

import streamlit as st

from monitor.errors import BadCall
from monitor.serve import is_this_machine_alone
from monitor.settings import ONE_PROFILE, READ_ONLY

#: Beside what cannot be changed here.
READ_ONLY_WORDS = "This dashboard is read-only"


def is_read_only() -> bool:
    """Whether thresholds and mutes stay as they are: as the command said, else wherever others can get in."""
    said = os.environ.get(READ_ONLY)
    if said in {"0", "1"}:
        return said == "1"
    # Started by Streamlit's own command; without an address it listens on all.
    host = st.get_option("server.address")
    return not host or not is_this_machine_alone(str(host))


def refuse_if_read_only(what: str) -> None:
    """Raises BadCall where nothing may be written: what a page does not offer, nobody does either."""
    if is_read_only():
        raise BadCall(
            f"{READ_ONLY_WORDS}: {what} can't be changed here.",
            "Whoever runs it can change them on its machine, or start it with --no-read-only.",
        )


def is_one_profile() -> bool:
    """Whether only the credentials that it was started with are used, whatever profile an address names."""
    return os.environ.get(ONE_PROFILE) == "1" or is_read_only()
