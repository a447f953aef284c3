"""Which part of which log is looked at? One value that an address holds and restores: a place, and what is filtered.

``/logs?job=NAME&at=20260925T140503.120&level=error&find=nccl``. Without a place it is the end, which follows a running job.
Times are UTC. Inputs are drawn from the address and move it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any, cast

import streamlit as st

from monitor.model import LogAsk
from monitor.parse.levels import LEVELS
from monitor.review.log_lines import NO_LEVEL, LogFilter, ranges
from monitor.show import address
from monitor.show.clock import event, moment

_ASKED = "logs-asked"
_LONGEST = 200
_NODE = re.compile(r"algo-[1-9]\d{0,5}")
_TIMES = ("at", "start", "end")
CHOICES = (*LEVELS, NO_LEVEL)


@dataclass(frozen=True, slots=True)
class View:
    """What is looked at. ``at``, ``start`` and ``end`` are as in ``LogAsk``."""

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
    def ask(self) -> LogAsk:
        """What must be read for it."""
        return LogAsk(self.node, self.at, self.start, self.end)

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
