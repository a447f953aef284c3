"""Which jobs are asked for? Filters that the address holds, as inputs and as a query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

import streamlit as st

from monitor.diagnose.headline import status_word
from monitor.fetch.source import JobQuery
from monitor.show import address, data
from monitor.show.clock import moment
from monitor.show.job_choice import the_one
from monitor.show.shell import JOB_PAGE
from monitor.show.trouble import calm

STATUSES = ("InProgress", "Completed", "Failed", "Stopping", "Stopped")
#: As the address has them, and as they are read.
SPANS = {
    "1h": ("the last hour", timedelta(hours=1)),
    "1d": ("the last day", timedelta(days=1)),
    "7d": ("the last week", timedelta(days=7)),
    "30d": ("the last 30 days", timedelta(days=30)),
}
CUSTOM = "custom"
_NAMES = ("search", "status", "instance", "tag", "created", "from", "until")
# A query that moved with the clock would be asked anew at every look.
_STEP_S = 300


@dataclass(frozen=True, slots=True)
class Asked:
    """What the address says of the jobs that are wanted."""

    search: str | None = None
    status: str | None = None
    instance: str | None = None
    tag: str | None = None
    created: str | None = None
    first: date | None = None
    last: date | None = None

    @property
    def is_any(self) -> bool:
        """Whether nothing narrows the list."""
        return self == Asked()

    def query(self, now: datetime, limit: int) -> JobQuery:
        """As of ``now``; days are those of UTC, the last one included."""
        after, before = _start(self.first), _start(self.last)
        if self.created in SPANS:
            step = datetime.fromtimestamp(now.timestamp() // _STEP_S * _STEP_S, UTC)
            after = step - SPANS[self.created][1]
        return JobQuery(
            status=self.status,
            name_contains=self.search,
            created_after=after,
            limit=limit,
            created_before=None if before is None else before + timedelta(days=1),
            instance_type=self.instance,
            tag=self.tag,
        )


def asked() -> Asked:
    """What the address asks for; what it says that no filter means is left out."""
    created, status = address.value("created"), address.value("status")
    first, last = _day(address.value("from")), _day(address.value("until"))
    if created in SPANS:
        first = last = None
    return Asked(
        address.value("search"),
        status if status in STATUSES else None,
        address.value("instance"),
        address.value("tag"),
        created if created in SPANS or created == CUSTOM else CUSTOM if first or last else None,
        first,
        last,
    )


def show_filters(
    account: data.Account, now: Asked, types: Sequence[str], tags: Sequence[str], limit: int, has_tags: bool
) -> None:
    """One row of inputs; an archive has no tags. A part of a name that one job has alone leads to that job."""
    for name, chosen in (
        ("search", now.search or ""),
        ("status", now.status),
        ("instance", now.instance),
        ("tag", now.tag),
        ("created", now.created),
    ):
        address.shown(name, chosen)
    with st.container(horizontal=True, gap="small"):
        # Enter means this one, leaving the input does not: that is what a form can tell.
        with st.form("jobs-search", border=False, width="stretch"), st.container(horizontal=True, gap="xxsmall"):
            st.text_input(
                "Search",
                key="of-search",
                placeholder="Part of a job's name, then Enter",
                icon=":material/search:",
                label_visibility="collapsed",
                width="stretch",
            )
            st.form_submit_button("Search", on_click=calm("Searching for jobs", _search), args=(account, now, limit))
        show_status()
        st.selectbox(
            "Instance type",
            _with(types, now.instance),
            index=None,
            accept_new_options=True,
            placeholder="Any instance",
            label_visibility="collapsed",
            width=180,
            **address.bound("instance"),
        )
        if has_tags:
            st.selectbox(
                "Tag",
                _with(tags, now.tag),
                index=None,
                accept_new_options=True,
                placeholder="Any tag: key or key=value",
                label_visibility="collapsed",
                width=220,
                **address.bound("tag"),
            )
        st.selectbox(
            "Created",
            (*SPANS, CUSTOM),
            index=None,
            format_func=lambda span: SPANS[span][0].capitalize() if span in SPANS else "Between two days",
            placeholder="Created any time",
            label_visibility="collapsed",
            width=175,
            **address.bound("created"),
        )
        if now.created == CUSTOM:
            st.session_state["of-days"] = tuple(each for each in (now.first, now.last) if each)
            st.date_input(
                "Days of UTC",
                key="of-days",
                on_change=calm("Choosing the days", _days),
                label_visibility="collapsed",
                format="YYYY-MM-DD",
                width=220,
            )
        if not now.is_any:
            show_clear(clear, "clear-filters")


def show_status() -> None:
    """Which status jobs are to have, for the address."""
    st.selectbox(
        "Status",
        STATUSES,
        index=None,
        format_func=status_word,
        placeholder="Any status",
        label_visibility="collapsed",
        width=140,
        **address.bound("status"),
    )


def show_clear(clear: Callable[[], None], key: str) -> None:
    """A button that takes all filters away."""
    st.button(
        "Clear filters",
        icon=":material/filter_alt_off:",
        on_click=calm("Clearing the filters", clear),
        key=key,
    )


def _search(account: data.Account, now: Asked, limit: int) -> None:
    text = st.session_state["of-search"].strip()
    if text:
        found = data.find(account, replace(now, search=text).query(datetime.now(UTC), limit))
        if not found.more and (name := the_one([job.name for job in found.jobs], text)):
            st.switch_page(JOB_PAGE, query_params=address.to(job=name))
            return
    address.keep("search", text or None)


def _with(options: Sequence[str], chosen: str | None) -> Sequence[str]:
    """An address may name what is not in the list."""
    return options if chosen is None or chosen in options else (chosen, *options)


def clear() -> None:
    """No filter any more."""
    for name in _NAMES:
        address.keep(name, None)


def _days() -> None:
    chosen = st.session_state["of-days"]
    days = chosen if isinstance(chosen, tuple) else (chosen,)
    address.keep("from", days[0].isoformat() if days else None)
    address.keep("until", days[1].isoformat() if len(days) > 1 else None)


def _day(text: str | None) -> date | None:
    found = moment(None if text is None else text[:10])
    return None if found is None else found.date()


def _start(day: date | None) -> datetime | None:
    return None if day is None else datetime(day.year, day.month, day.day, tzinfo=UTC)
