"""By whose clock are times written? The viewer's own or UTC, as the address says; texts, tables and charts alike."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

import streamlit as st

from monitor import words
from monitor.show import address

#: What the address says where UTC was chosen; without it times are the viewer's own.
IN_UTC = "utc"
_LOCAL = "local"


def zone() -> tzinfo:
    """The time zone that times are written in; UTC itself where it was chosen, and where the browser names no zone."""
    return UTC if address.value("zone") == IN_UTC else _own()


def _own() -> tzinfo:
    """The browser's."""
    return words.zone(st.context.timezone)


def show_choice() -> None:
    """The two clocks, in the sidebar."""
    own = _own()
    name = getattr(own, "key", None) or "UTC"
    labels = {_LOCAL: f"Your local time ({name}, now {words.zone_name(datetime.now(UTC), own)})", IN_UTC: "UTC"}
    address.shown("zone", IN_UTC if address.value("zone") == IN_UTC else _LOCAL)
    st.radio(
        "Times",
        tuple(labels),
        format_func=labels.__getitem__,
        **address.bound("zone", lambda chosen: IN_UTC if chosen == IN_UTC else None),
    )
