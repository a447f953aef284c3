"""What can be chosen of a log? The job, the lines that are shown of it, and where to jump to; all of it in the address."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo

import streamlit as st

from monitor.diagnose.log_places import END, Bookmark
from monitor.review.log_lines import NO_LEVEL, ranges
from monitor.show import address, data
from monitor.show.job_choice import choose_job, show_newest
from monitor.show.logs import address as log_address
from monitor.show.logs.address import CHOICES, View
from monitor.show.shell import JOB_PAGE
from monitor.show.trouble import calm


def choose(account: data.Account, view: View) -> str | None:
    """The job, and the way to its page."""
    with st.container(horizontal=True, vertical_alignment="center"):
        choose_job(account, "logs-job", view.job, _other_job)
        if view.job:
            to = address.to(job=view.job)
            st.page_link(JOB_PAGE, label="Open the job", icon=":material/monitoring:", query_params=to)
    return view.job


def newest(account: data.Account) -> None:
    """The newest jobs, to take one with a click."""
    show_newest(account, "logs-newest", _other_job)


def filters(view: View, nodes: Sequence[str]) -> None:
    """Text, level, node and ranks, in the row that is being drawn; what is not chosen leaves no line out."""
    _set({"logs-find": view.find, "logs-level": list(view.levels), "logs-node": view.node, "logs-rank": view.rank})
    st.text_input(
        "Text in the line",
        key="logs-find",
        placeholder="Part of a line",
        icon=":material/search:",
        width=260,
        on_change=calm("Filtering the log", _filtered),
    )
    names = list(nodes) if view.node is None or view.node in nodes else [view.node, *nodes]
    if len(names) > 1 or view.node:
        st.selectbox(
            "Node",
            names,
            index=None,
            key="logs-node",
            placeholder=f"All {len(names)}",
            width=150,
            on_change=calm("Filtering the log", _filtered),
        )
    st.text_input(
        "Ranks",
        key="logs-rank",
        placeholder="All",
        help="Such as 0 or 0, 8-15. Lines of unknown rank are left out.",
        width=110,
        on_change=calm("Filtering the log", _filtered),
    )
    st.pills(
        "Level",
        CHOICES,
        selection_mode="multi",
        key="logs-level",
        format_func=lambda level: "no level" if level == NO_LEVEL else level,
        help="As written in the line. Most training output has no level.",
        on_change=calm("Filtering the log", _filtered),
    )


def misread(view: View) -> None:
    """What of the filters is not understood."""
    if view.rank.strip() and not ranges(view.rank):
        st.warning("Write ranks as numbers: 0, or 0, 8-15.", icon=":material/error:")


def jumps(view: View, places: Sequence[Bookmark], zone: tzinfo) -> None:
    """Places of this log to jump to."""
    by_key = {place.key: place for place in places}
    st.session_state["logs-jump"] = None
    st.selectbox(
        "Jump to",
        list(by_key),
        index=None,
        key="logs-jump",
        format_func=lambda key: _label(by_key[key], zone) if key in by_key else key,
        placeholder="A finding, an error, a phase…",
        icon=":material/my_location:",
        width=300,
        on_change=calm("Jumping in the log", lambda: _jump(by_key.get(st.session_state["logs-jump"] or ""))),
    )


def _label(place: Bookmark, zone: tzinfo) -> str:
    return place.label if place.at is None else f"{place.label} · {moment(place.at, zone, seconds=True)}"


def moment(at: datetime, zone: tzinfo, seconds: bool = False) -> str:
    """``25 Sep, 14:05:03`` without its zone."""
    return f"{at.astimezone(zone):{'%d %b, %H:%M:%S' if seconds else '%d %b, %H:%M'}}".lstrip("0")


def _jump(place: Bookmark | None) -> None:
    if place is not None:
        log_address.move(at=None if place.key == END else place.at, quote=place.quote)


def _other_job(name: str | None) -> None:
    log_address.move(job=name, at=None, node=None, rank="")


def _filtered() -> None:
    log_address.move(
        find=st.session_state["logs-find"].strip(),
        levels=tuple(level for level in CHOICES if level in st.session_state["logs-level"]),
        node=st.session_state.get("logs-node"),
        rank=st.session_state["logs-rank"].strip(),
    )


def _set(values: dict[str, object]) -> None:
    for key, value in values.items():
        st.session_state[key] = value


def clear() -> None:
    """No filter from now on."""
    log_address.move(find="", levels=(), node=None, rank="")
