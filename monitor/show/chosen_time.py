"""Which part of the time does a page show? It stands in the address, ``from`` and ``until`` in UTC, on every page alike."""

from __future__ import annotations

from datetime import UTC, datetime

import streamlit as st

from monitor.charts.time_axis import Span

FROM, UNTIL = "from", "until"
_FORM = "%Y%m%dT%H%M%SZ"


def written(at: datetime) -> str:
    """``20260925T120500Z``: no sign that an address would have to escape."""
    return at.astimezone(UTC).strftime(_FORM)


def read(text: str | None) -> datetime | None:
    """The moment that a text names, with or without separators; UTC where it says no zone; None where it is none."""
    try:
        found = datetime.fromisoformat((text or "").strip())
    except ValueError:
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def asked() -> Span | None:
    """The part of the time that the address names; None where it names none. One end alone reaches as far as can be."""
    start, end = read(st.query_params.get(FROM)), read(st.query_params.get(UNTIL))
    if start is None and end is None:
        return None
    start, end = start or datetime.min.replace(tzinfo=UTC), end or datetime.max.replace(tzinfo=UTC)
    return (start, end) if start < end else None


def within(span: Span) -> Span | None:
    """The part of ``span`` that the address names; None for all of it, and where the two have nothing in common."""
    part = asked()
    if part is None or part[0] >= span[1] or part[1] <= span[0]:
        return None
    found = max(part[0], span[0]), min(part[1], span[1])
    return None if found == span else found


def choose(part: Span | None) -> None:
    """Puts a part of the time into the address, or takes it out."""
    for name, at in zip((FROM, UNTIL), part or (None, None), strict=True):
        if at is None:
            st.query_params.pop(name, None)
        else:
            st.query_params[name] = written(at)
