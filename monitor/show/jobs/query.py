"""The jobs that are asked for, and what all of them run, cost, and could save. Filters that the address holds, as inputs and as a
query, and the tiles above the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

import streamlit as st

from monitor.choices import STATUSES
from monitor.diagnose.headline import status_word
from monitor.diagnose.stakes import stakes_usd, total_usd
from monitor.diagnose.words.report import OVERHEAD_MEANS, RECOVERABLE_MEANS
from monitor.fetch.source import JobQuery
from monitor.model import JobSummary
from monitor.review import Snapshot
from monitor.show import address, data
from monitor.show.address import moment
from monitor.show.job.header import Tile
from monitor.show.job_choice import the_one
from monitor.show.jobs.table import REVIEWED, standing
from monitor.show.shell import JOB_PAGE
from monitor.show.trouble import calm
from monitor.words import DASH, count, usd

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
class JobFilter:
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
        return self == JobFilter()

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


def job_filter() -> JobFilter:
    """What the address asks for; what it says that no filter means is left out."""
    created, status = address.value("created"), address.value("status")
    first, last = _day(address.value("from")), _day(address.value("until"))
    if created in SPANS:
        first = last = None
    return JobFilter(
        address.value("search"),
        status if status in STATUSES else None,
        address.value("instance"),
        address.value("tag"),
        created if created in SPANS or created == CUSTOM else CUSTOM if first or last else None,
        first,
        last,
    )


def show_filters(
    account: data.AccountChoice, now: JobFilter, types: Sequence[str], tags: Sequence[str], limit: int, has_tags: bool
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


def _search(account: data.AccountChoice, now: JobFilter, limit: int) -> None:
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


def figures(
    jobs: Sequence[JobSummary], reviewed: Mapping[str, Snapshot], prices: Mapping[str, float], more: bool = False
) -> tuple[Tile, ...]:
    """The tiles; ``prices`` are those that a user set, USD per instance-hour. What is not known is said, and is no 0."""
    running = [job for job in jobs if job.is_running]
    reports = {name: snapshot.report for name, snapshot in reviewed.items() if snapshot.report is not None}
    known = dict(prices)
    for report in reports.values():
        if report.cost.price_usd_per_instance_hour is not None and report.job.instance_type:
            known[report.job.instance_type] = report.cost.price_usd_per_instance_hour
    costs = [_hour(job, reviewed.get(job.name), known) for job in running]
    going = [reports[job.name] for job in running if job.name in reports]
    over = [report for report in reports.values() if not report.job.is_running]
    overheads = [report.cost.overhead_usd for report in going]
    gains = [stakes_usd(report) for report in going]
    recovered = total_usd(stakes_usd(report) for report in over)
    levels = [standing(snapshot).level for snapshot in reviewed.values()]
    waiting = levels.count("waiting")
    done = len(levels) - waiting
    is_whole = len(gains) - gains.count(None) == len(running)
    stalled = sum(any(finding.id == "stall" for finding in report.warnings) for report in going)
    return (
        Tile("Running", f"{len(running)}", f"of {'the newest ' if more else ''}{count(len(jobs), 'job')}"),
        Tile("Cost / h", _usd(total_usd(costs), running), _of(costs, running), _priced(costs, running)),
        Tile(
            "Overhead so far",
            _usd(total_usd(overheads), running),
            _of(overheads, running),
            _explained(f"Running jobs: {OVERHEAD_MEANS}", overheads, running),
        ),
        Tile(
            "Recoverable / h",
            _usd(total_usd(gains), running),
            f"finished: {usd(recovered)}" if recovered and is_whole else _of(gains, running),
            _explained(
                f"Running jobs, an hour, if they go on as now: {RECOVERABLE_MEANS} Of the finished ones among those reviewed, "
                f"in all: {DASH if recovered is None else usd(recovered)}.",
                gains,
                running,
            ),
        ),
        Tile(
            "Critical",
            f"{levels.count('critical')}",
            _reviewed(stalled, done, waiting),
        ),
    )


_PRICES = "On-demand prices: from the settings file, else from AWS's price list (looked up when a job is reviewed)."


def _hour(job: JobSummary, snapshot: Snapshot | None, known: Mapping[str, float]) -> float | None:
    report = None if snapshot is None else snapshot.report
    kind = job.instance_type or (report.job.instance_type if report else None)
    number = job.instance_count or (report.job.instance_count if report else None)
    return None if kind is None or not number or kind not in known else known[kind] * number


def _usd(value: float | None, running: Sequence[JobSummary]) -> str:
    return "$0" if not running else DASH if value is None else usd(value)


def _of(values: Sequence[float | None], running: Sequence[JobSummary]) -> str:
    """Which running jobs are in a sum of what is known of those reviewed."""
    known = len(values) - values.count(None)
    if not running:
        return "nothing is running"
    return "all running jobs" if known == len(running) else f"for {known} of {len(running)} running"


def _reviewed(stalled: int, done: int, waiting: int) -> str:
    """``1 stalled, 15 reviewed``, and while reviews are under way ``1 stalled of 15 so far``."""
    if waiting:
        return f"{stalled} stalled of {done} so far" if stalled else f"of {done} reviewed so far"
    return f"{stalled} stalled, {done} reviewed" if stalled else f"of {done} reviewed"


def _explained(means: str, values: Sequence[float | None], running: Sequence[JobSummary]) -> str:
    """What a tile means and, where jobs are missing from its sum, why."""
    out = [means]
    if len(values) < len(running):
        out.append(
            f"{len(values)} of {count(len(running), 'running job')} reviewed; these tiles cover at most the {REVIEWED} most "
            "urgent jobs of the list."
        )
    if unknown := values.count(None):
        out.append(f"Not known for {unknown} of those reviewed.")
    return " ".join(out)


def _priced(costs: Sequence[float | None], running: Sequence[JobSummary]) -> str:
    """Where prices come from, and which are missing."""
    missing = [job for job, cost in zip(running, costs, strict=True) if cost is None]
    if not missing:
        return _PRICES
    types = sorted({(job.instance_type or "").removeprefix("ml.") for job in missing} - {""})
    which = f" ({', '.join(types[:2])}{', …' if len(types) > 2 else ''})" if types else ""
    return f"{_PRICES} No price yet for {count(len(missing), 'running job')}{which}."
