"""By whose clock are times written? The viewer's own or UTC, as the address says; texts, tables and charts alike.

An address can name the moments that a job can have; what else stands there is said, and left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo

import streamlit as st

from monitor import words
from monitor.show import address
from monitor.show.trouble import plain

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


# SageMaker began in 2017; nobody looks ahead further than this.
_FIRST, _END = datetime(2017, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
_LONGEST = timedelta(days=366)
_LASTS = re.compile(r"(\d{1,6})(s|m|h|d)", re.ASCII)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_EVENT = re.compile(r"(\d{12,14})-([0-9a-f]{8})", re.ASCII)
_TIMES = ("from", "until", "at")
_SHOWN = 40


def moment(text: str | None) -> datetime | None:
    """The moment that a text names, with or without separators; UTC where it says no zone; None where it is none that a job
    can have."""
    try:
        found = datetime.fromisoformat((text or "").strip())
        found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return found if _FIRST <= found < _END else None


def length(text: str | None) -> timedelta | None:
    """The length that a text names: ``15m``, ``90s``, ``6h``, ``1d``; None where it is none, or beyond a year."""
    found = _LASTS.fullmatch((text or "").strip())
    lasts = timedelta(**{_UNITS[found[2]]: int(found[1])}) if found else None
    return lasts if lasts and lasts <= _LONGEST else None


def event(text: str) -> tuple[int, int] | None:
    """The time in ms and the digest of a line; None where it is none."""
    found = _EVENT.fullmatch(text)
    if found is None or not _FIRST.timestamp() <= int(found[1]) / 1000 < _END.timestamp():
        return None
    return int(found[1]), int(found[2], 16)


def show_left_out(parameters: Mapping[str, str]) -> None:
    """One sentence on what of an address is no time."""
    wrong = [name for name in _TIMES if parameters.get(name) and moment(parameters[name]) is None]
    wrong += ["last"] if parameters.get("last") and length(parameters["last"]) is None else []
    wrong += ["event"] if parameters.get("event") and event(parameters["event"]) is None else []
    if wrong:
        said = " and ".join(f"{name}={plain(parameters[name][:_SHOWN])}" for name in wrong)
        st.warning(
            f"The address says {said}, which is no time that a job can have. It is left out.",
            icon=":material/event_busy:",
        )
