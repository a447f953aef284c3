"""The part of a log that is looked at. One value that an address holds and restores: a place, and what is filtered; the inputs
that change it, and the places that the newest report knows.

``/logs?job=NAME&at=20260925T140503.120&level=error&find=nccl``. Without a place it is the end, which follows a running job.
Times are UTC. Inputs are drawn from the address and move it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, tzinfo
from typing import Any, cast

import streamlit as st

from monitor.diagnose.bookmarks import END, Bookmark, LogContext, Quote, log_context
from monitor.model import Evidence, LogRequest, Report
from monitor.parse.lines.levels import LEVELS
from monitor.review.log_lines import NO_LEVEL, LogFilter, ranges
from monitor.show import address, data
from monitor.show.address import event, moment
from monitor.show.job_choice import choose_job, show_newest
from monitor.show.shell import JOB_PAGE, show_link
from monitor.show.trouble import calm

_ASKED = "logs-asked"
_LONGEST = 200
_NODE = re.compile(r"algo-[1-9]\d{0,5}")
_TIMES = ("at", "start", "end")
CHOICES = (*LEVELS, NO_LEVEL)


@dataclass(frozen=True, slots=True)
class View:
    """What is looked at. ``at``, ``start`` and ``end`` are as in ``LogRequest``."""

    job: str | None = None
    find: str = ""
    levels: tuple[str, ...] = ()
    node: str | None = None
    rank: str = ""
    at: datetime | None = None
    start: datetime | None = None
    end: datetime | None = None
    event: tuple[int, int] | None = None
    """The line that is looked at: its time in ms and its digest."""
    quote: str | None = None
    """The line that a finding quotes."""

    @property
    def request(self) -> LogRequest:
        """What must be read for it."""
        return LogRequest(self.node, self.at, self.start, self.end)

    @property
    def wanted(self) -> LogFilter:
        """What is shown of it."""
        return LogFilter(self.find, self.levels, self.node, ranges(self.rank))

    @property
    def is_placed(self) -> bool:
        """Whether it says where to look, or at which lines."""
        return not self.wanted.is_open or any((self.at, self.start, self.end, self.event, self.quote))

    def parameters(self) -> dict[str, str]:
        found = {
            "job": self.job,
            "find": self.find,
            "level": ",".join(self.levels),
            "node": self.node,
            "rank": self.rank,
            "at": _written(self.at),
            "from": _written(self.start),
            "until": _written(self.end),
            "event": f"{self.event[0]}-{self.event[1]:08x}" if self.event else None,
            "quote": self.quote,
        }
        return {name: value for name, value in found.items() if value}


_NAMES = ("job", "find", "level", "node", "rank", "at", "from", "until", "event", "quote")


def link(job: str, at: datetime | None = None, quote: str | None = None, find: str = "") -> dict[str, str]:
    """The query parameters of a link to a job's log, at a moment or at its end."""
    return address.to(**View(job, find=find, at=at, quote=quote).parameters())


def of_parameters(parameters: Mapping[str, str]) -> View:
    """What an address asks for; what makes no sense is passed over."""
    get = {name: value[:_LONGEST] for name, value in parameters.items() if name in _NAMES}
    node = get.get("node", "")
    at, start, end = (moment(get.get(name)) for name in ("at", "from", "until"))
    key = event(get.get("event", ""))
    if key is not None and at is start is end is None:
        at = datetime.fromtimestamp(key[0] / 1000, UTC)
    return View(
        get.get("job") or None,
        get.get("find", ""),
        tuple(level for level in CHOICES if level in get.get("level", "").split(",")),
        node if _NODE.fullmatch(node) else None,
        get.get("rank", ""),
        at,
        None if at else start,
        None if at else end,
        key,
        get.get("quote"),
    )


def current() -> View:
    """What this visitor looks at: the address, where it says something new, else what was looked at last."""
    mine = address.mine(_NAMES.__contains__)
    looked_at = address.last("job")
    if address.is_news(mine, "logs"):
        view = of_parameters(mine)
        st.session_state[_ASKED] = view if view.job else replace(view, job=looked_at)
    elif _ASKED not in st.session_state or (not mine and looked_at and looked_at != st.session_state[_ASKED].job):
        st.session_state[_ASKED] = View(looked_at)
    return cast(View, st.session_state[_ASKED])


def move(**changes: Any) -> None:
    """Another view from now on; a move to another place lets go of the line that was looked at."""
    unknown = set(changes) - {field.name for field in fields(View)}
    assert not unknown, unknown
    if set(_TIMES) & set(changes):
        # As exact as the address is.
        changes = {name: moment(_written(value)) if name in _TIMES else value for name, value in changes.items()}
        changes = {"at": None, "start": None, "end": None, "event": None, "quote": None} | changes
    st.session_state[_ASKED] = replace(current(), **changes)


def write() -> None:
    """Brings the address in line with what is looked at."""
    address.write(current().parameters(), "logs", _NAMES.__contains__)


def _written(at: datetime | None) -> str | None:
    if at is None:
        return None
    utc = at.astimezone(UTC)
    return f"{utc:%Y%m%dT%H%M%S}.{utc.microsecond // 1000:03d}"


NOTHING = LogContext((), (), None, (), {})
# So much of a line is looked for where its time is not known.
_FIND = 60


def context_of(report: Report | None) -> LogContext:
    """Quotes, places, ranks; nothing as long as there is no report."""
    return NOTHING if report is None else data.of_report(report, "log", lambda: log_context(report))


def node_names(report: Report | None) -> tuple[str, ...]:
    """The nodes by name, as far as they are known."""
    return () if report is None else tuple(name for name in report.job.node_names if name)


def link_of(report: Report, finding_id: str, fact: Evidence, number: int) -> dict[str, str]:
    """The query parameters of the log at the line that a fact quotes; where its time is not known, a search for it."""
    quote: Quote | None = next(
        (quote for quote in context_of(report).quotes if quote.key == f"{finding_id}.{number}"), None
    )
    at: datetime | None = quote.at if quote is not None else fact.start
    if at is not None:
        return link(report.job.name, at, f"{finding_id}.{number}")
    text = " ".join((fact.line or "").split()).removesuffix("…")[:_FIND]
    return link(report.job.name, report.job.started or report.job.created, find=text)


def choose(account: data.AccountChoice, view: View) -> str | None:
    """The job, and the way to its page."""
    with st.container(horizontal=True, vertical_alignment="center"):
        choose_job(account, "logs-job", view.job, _other_job)
        if view.job:
            to = address.to(job=view.job)
            show_link(JOB_PAGE, "Open the job", to)
    return view.job


def newest(account: data.AccountChoice) -> None:
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


def jumps(places: Sequence[Bookmark], zone: tzinfo) -> None:
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
    return place.label if place.at is None else f"{place.label} · {moment_words(place.at, zone, seconds=True)}"


def moment_words(at: datetime, zone: tzinfo, seconds: bool = False) -> str:
    """``25 Sep, 14:05:03`` without its zone."""
    return f"{at.astimezone(zone):{'%d %b, %H:%M:%S' if seconds else '%d %b, %H:%M'}}".lstrip("0")


def _jump(place: Bookmark | None) -> None:
    if place is not None:
        move(at=None if place.key == END else place.at, quote=place.quote)


def _other_job(name: str | None) -> None:
    move(job=name, at=None, node=None, rank="")


def _filtered() -> None:
    move(
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
    move(find="", levels=(), node=None, rank="")
