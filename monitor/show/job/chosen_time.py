"""Which part of the time does a page show? It stands in the address: ``from`` and ``until`` in UTC, on every page alike, or
``last=15m``, which moves along with a running job."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import streamlit as st

from monitor.charts.elements import Span
from monitor.show.clock import length, moment

FROM, UNTIL, LAST = "from", "until", "last"
_FORM = "%Y%m%dT%H%M%SZ"

Asked = Span | timedelta
"""What an address names: a part of the time, or the newest part, of this length."""


def written(at: datetime) -> str:
    """``20260925T120500Z``: no sign that an address would have to escape."""
    return at.astimezone(UTC).strftime(_FORM)


def written_last(lasts: timedelta) -> str:
    """``15m``, ``90s``."""
    seconds = round(lasts.total_seconds())
    return f"{seconds // 60}m" if seconds % 60 == 0 else f"{seconds}s"


def asked() -> Asked | None:
    """The part of the time that the address names; None where it names none. One end alone reaches as far as can be."""
    if lasts := length(st.query_params.get(LAST)):
        return lasts
    start, end = moment(st.query_params.get(FROM)), moment(st.query_params.get(UNTIL))
    if start is None and end is None:
        return None
    start, end = start or datetime.min.replace(tzinfo=UTC), end or datetime.max.replace(tzinfo=UTC)
    return (start, end) if start < end else None


def within(span: Span) -> Span | None:
    """The part of ``span`` that the address names; None for all of it, and where the two have nothing in common."""
    part = asked()
    if isinstance(part, timedelta):
        part = span[1] - min(part, span[1] - span[0]), span[1]
    if part is None or part[0] >= span[1] or part[1] <= span[0]:
        return None
    found = max(part[0], span[0]), min(part[1], span[1])
    return None if found == span else found


def choose(part: Asked | None) -> None:
    """Puts a part of the time into the address, or takes it out."""
    wanted: dict[str, str] = {}
    if isinstance(part, timedelta):
        wanted[LAST] = written_last(part)
    elif part is not None:
        wanted = {FROM: written(part[0]), UNTIL: written(part[1])}
    for name in (FROM, UNTIL, LAST):
        if name not in wanted:
            st.query_params.pop(name, None)
    st.query_params.update(wanted)
