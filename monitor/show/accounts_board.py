"""The jobs of all accounts on one page: what runs where, and which accounts could not be read. One list in the background,
for all viewers; filters, which the address holds, ask for nothing anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any
from urllib.parse import urlencode

import pandas as pd
import streamlit as st

from monitor import settings, words
from monitor.accounts import AccountRegion, chosen
from monitor.archive.cache import CachedVerdict, user_cache
from monitor.choices import STATUSES
from monitor.diagnose.headline import status_word
from monitor.errors import TrainwatchError
from monitor.model import BEGINNING
from monitor.review.across import Across, AcrossSnapshot, LocatedJob, Missing
from monitor.show import address, data
from monitor.show.drawing import csv_button
from monitor.show.grid import GridColumn, GridRow, show_grid
from monitor.show.job.header import Tile, show_tiles
from monitor.show.jobs.query import show_clear, show_status
from monitor.show.jobs.table import instances_words
from monitor.show.pace import IDLE, WAITING, Pace
from monitor.show.shell import JOB_PAGE, JOBS_PAGE
from monitor.show.trouble import LOOKS, advice, calm, plain
from monitor.words import duration

_TABLE, _MORE = "accounts_table", "accounts-limit"
_HEIGHT_PX = 735
# So many accounts that could not be read are named at once; the others when they are opened.
_NAMED = 3
_RECENT = timedelta(days=1)
_COLUMNS = (
    GridColumn("name", "Job", "minmax(150px,8fr)", "name"),
    GridColumn("account", "Account", "minmax(90px,3fr)"),
    GridColumn("region", "Region", "108px"),
    GridColumn("status", "Status", "88px"),
    GridColumn("level", "Verdict", "88px", "badge", "Of the last review, where there was one.", 760),
    GridColumn("stands_out", "What stands out", "minmax(150px,6fr)", room_px=900),
    GridColumn("started", "Started", "104px", "number", room_px=640),
    GridColumn("ran", "Ran for", "80px", "number", room_px=560),
    GridColumn("nodes", "Nodes", "130px", room_px=1000),
    GridColumn("team", "Team", "100px", "text", "By the job's tag, else by the account.", 1240),
)
_OF_REVIEWS = frozenset({"level", "stands_out"})


def show_way_in() -> None:
    """On the page of one account: the way to all of them."""
    if count := len(data.members()):
        st.page_link(
            JOBS_PAGE,
            label=f"All {count} accounts" if count > 1 else "The account of the settings file",
            icon=":material/hub:",
            query_params=address.to(**{PARAMETER: ALL}),
        )


def show_way_out() -> None:
    """On the page of all accounts: the way to the one that is looked at by itself, or was last."""
    st.page_link(JOBS_PAGE, label="One account", icon=":material/cloud:", query_params=address.to())


def jobs_now() -> AcrossSnapshot:
    """What is known of all accounts right now."""
    return data.across(_pairs()).snapshot()


def pace() -> Pace:
    """How soon the board wants to be drawn again."""
    return WAITING if jobs_now().is_first else IDLE


def board(zone: tzinfo) -> Pace:
    now, snapshot = datetime.now(UTC), jobs_now()
    asked, across = accounts_filter(), snapshot.across
    pairs = [where for where in _pairs() if asked.takes(where)]
    rows = sorted((row for row in across.rows if asked.takes(row.where)), key=lambda row: _urgency(row, now))
    show_tiles(figures(rows, across, pairs, now))
    _show_missing([one for one in across.missing if asked.takes(one.where)], now)
    show_filters(asked)
    rows = [row for row in rows if asked.takes_job(row)]
    limit = st.session_state.get(_MORE, data.JOBS_LIMIT)
    shown = rows[:limit]
    kept = _cached_verdicts(shown)
    _above(rows, shown, snapshot, pairs)
    if not rows:
        waits = f"Listing the jobs of {words.count(len(pairs), 'account and region', 'accounts and regions')}…"
        st.info(waits if snapshot.is_first else "No job matches these filters.", icon=":material/search_off:")
    else:
        _show_table(shown, kept, zone, now)
    with st.container(horizontal=True, vertical_alignment="center"):
        if len(rows) > limit:
            st.button(
                f"Show {data.JOBS_LIMIT} more",
                icon=":material/expand_more:",
                on_click=calm("Showing more jobs", _show_more),
                args=(limit,),
            )
        _below(snapshot, now)
        csv_button(
            lambda: csv_rows(rows, _cached_verdicts(rows), now),
            "jobs-of-all-accounts",
            "accounts-csv",
            "All of these jobs",
        )
    return WAITING if snapshot.is_first else IDLE


def figures(
    rows: Sequence[LocatedJob], across: Across, pairs: Sequence[AccountRegion], now: datetime
) -> tuple[Tile, ...]:
    running = [row for row in rows if row.job.is_running]
    failed = [row for row in rows if _failed(row, now)]
    nodes = [row.job.instance_count for row in running]
    down = [one for one in across.missing if one.where in pairs]
    heard = len([where for where in across.asked if where in pairs]) - len(down)
    several = "account and region", "accounts and regions"
    return (
        Tile(
            "Running", f"{len(running):,}", f"of {'the newest ' if across.more else ''}{words.count(len(rows), 'job')}"
        ),
        Tile(
            "Nodes running",
            f"{sum(filter(None, nodes)):,}",
            f"not known for {nodes.count(None)}" if None in nodes else "all running jobs",
        ),
        Tile(
            "Failed in 24 h",
            f"{len(failed):,}",
            f"in {words.count(len({row.where for row in failed}), *several)}" if failed else "none",
        ),
        Tile("Accounts × regions", f"{heard:,}", f"of {len(pairs):,} answered"),
    )


def csv_rows(rows: Sequence[LocatedJob], verdicts: Sequence[CachedVerdict | None], now: datetime) -> pd.DataFrame:
    """The table for a spreadsheet."""
    return pd.DataFrame(
        [
            {
                "account": row.where.account.name,
                "region": row.where.region,
                "job": row.job.name,
                "status": status_word(row.job.status),
                "verdict": one.headline if one else None,
                "started": row.job.started or row.job.created,
                "ran_s": _ran_s(row, now),
                "instance_type": row.job.instance_type,
                "nodes": row.job.instance_count,
                "team": _team(row),
            }
            for row, one in zip(rows, verdicts, strict=True)
        ]
    )


def link(row: LocatedJob) -> dict[str, str]:
    """The parameters of the page of a job, wherever it is."""
    number = row.where.account.number
    return address.to(
        job=row.job.name, region=row.where.region, member=row.where.account.name, account=number, profile=None
    )


def _pairs() -> tuple[AccountRegion, ...]:
    return chosen(data.members())


def _urgency(row: LocatedJob, now: datetime) -> tuple[int, float]:
    """What runs, then what failed within a day, then the rest, the newest first."""
    rank = 0 if row.job.is_running else 1 if _failed(row, now) else 2
    return rank, -(row.job.created or BEGINNING).timestamp()


def _failed(row: LocatedJob, now: datetime) -> bool:
    return row.job.status == "Failed" and now - (row.job.ended or row.job.created or BEGINNING) < _RECENT


def _cached_verdicts(rows: Sequence[LocatedJob]) -> list[CachedVerdict | None]:
    """The verdict of each one's last review on this machine; no call. What they share is asked once: there may be thousands."""
    try:
        cache = user_cache(settings.read().cache_bytes)
    except TrainwatchError:
        cache = None
    if cache is None:
        return [None for _ in rows]
    sweep = data.across(_pairs()).sweep
    endpoints = {where: sweep.endpoint(where) for where in {row.where for row in rows}}
    found = [cache.verdicts.of(endpoints[row.where], row.job.name, row.job.created) for row in rows]
    return [
        one if one is not None and one.status == row.job.status else None for row, one in zip(rows, found, strict=True)
    ]


def _show_missing(missing: Sequence[Missing], now: datetime) -> None:
    """Each account and region that could not be read, with its reason."""
    if not missing:
        return
    said = f"{words.count(len(missing), 'account and region', 'accounts and regions')} could not be read"
    with st.container(border=True, key="accounts-missing"):
        st.markdown(f":material/cloud_off: **{said}**")
        for one in missing[:_NAMED]:
            _show_one(one, now)
        if len(missing) > _NAMED:
            with st.expander(f"{len(missing) - _NAMED} more"):
                for one in missing[_NAMED:]:
                    _show_one(one, now)


def _show_one(one: Missing, now: datetime) -> None:
    old = f" Its jobs are those of {words.ago(one.rows_of, now)}." if one.rows_of else ""
    st.caption(f"**{plain(str(one.where))}**: {advice(f'{one.error}{old}')}")


def _above(
    rows: Sequence[LocatedJob], shown: Sequence[LocatedJob], snapshot: AcrossSnapshot, pairs: Sequence[AccountRegion]
) -> None:
    said = (
        f"The first {len(shown):,} of {len(rows):,} jobs" if len(shown) < len(rows) else words.count(len(rows), "job")
    )
    part = (
        f"; {len(snapshot.across.asked):,} of {len(_pairs()):,} accounts and regions have answered so far"
        if snapshot.is_first
        else ""
    )
    more = sum(where in pairs for where in snapshot.across.more)
    older = f" {more} have older ones beyond the newest {data.JOBS_LIMIT}." if more else ""
    st.caption(f"{plain(said)}: running ones, then those that failed within a day, then the newest{part}.{older}")


def _below(snapshot: AcrossSnapshot, now: datetime) -> None:
    listed = f"Listed {words.ago(snapshot.looked_at, now)}. " if snapshot.looked_at else ""
    st.caption(
        f"{listed}A click or Enter opens a job. One call for each account and region, every 20 s while this page is open."
    )


def _show_more(limit: int) -> None:
    st.session_state[_MORE] = limit + data.JOBS_LIMIT


def _show_table(
    rows: Sequence[LocatedJob], verdicts: Sequence[CachedVerdict | None], zone: tzinfo, now: datetime
) -> None:
    by_key = {_key(row): row for row in rows}
    # Of jobs that nobody reviewed on this machine two columns would be empty.
    places = [place for place, column in enumerate(_COLUMNS) if any(verdicts) or column.name not in _OF_REVIEWS]
    show_grid(
        _TABLE,
        [_COLUMNS[place] for place in places],
        [
            GridRow(_key(row), [_cells(row, one, zone, now)[place] for place in places], f"job?{urlencode(link(row))}")
            for row, one in zip(rows, verdicts, strict=True)
        ],
        alt="Training jobs of all accounts. Arrow keys move, Enter opens a job.",
        height_px=_HEIGHT_PX,
        opened=lambda key: st.switch_page(JOB_PAGE, query_params=link(by_key[key])),
    )


def _key(row: LocatedJob) -> str:
    return f"{row.where.account.name}/{row.where.region}/{row.job.name}"


def _cells(row: LocatedJob, verdict: CachedVerdict | None, zone: tzinfo, now: datetime) -> tuple[Any, ...]:
    job, started = row.job, row.job.started or row.job.created
    look = LOOKS.get(verdict.level) if verdict else None  # type: ignore[call-overload]
    return (
        job.name,
        row.where.account.name,
        row.where.region,
        status_word(job.status),
        (look.word, look.colour) if look else "",
        verdict.headline if verdict else "",
        f"{started.astimezone(zone):%d %b, %H:%M}".lstrip("0") if started else None,
        None if (ran_s := _ran_s(row, now)) is None else duration(ran_s),
        instances_words(job.instance_count, job.instance_type),
        _team(row),
    )


def _ran_s(row: LocatedJob, now: datetime) -> float | None:
    return None if row.job.started is None else ((row.job.ended or now) - row.job.started).total_seconds()


def _team(row: LocatedJob) -> str | None:
    return row.job.tag("team") or row.where.account.team


#: The parameter that turns one account's list into that of several; this value is all of them.
PARAMETER, ALL = "accounts", "all"
_NAMES = ("search", "status", "regions", "team")


@dataclass(frozen=True, slots=True)
class AccountsFilter:
    """What the address says; an empty filter lets all pass."""

    accounts: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    team: str | None = None
    search: str | None = None
    status: str | None = None

    @property
    def is_any(self) -> bool:
        return self == AccountsFilter()

    def takes(self, where: AccountRegion) -> bool:
        return (
            (not self.accounts or where.account.name in self.accounts)
            and (not self.regions or where.region in self.regions)
            and (self.team is None or where.account.team == self.team)
        )

    def takes_job(self, row: LocatedJob) -> bool:
        return (not self.status or row.job.status == self.status) and (self.search or "") in row.job.name


def is_wanted() -> bool:
    """Whether several accounts are to be shown, and there are some that this visitor may see."""
    return address.value(PARAMETER) is not None and bool(data.members())


def accounts_filter() -> AccountsFilter:
    """What the address asks for; names that mean nothing are left out."""
    members, status = data.members(), address.value("status")
    names = _several(PARAMETER, [member.name for member in members])
    regions = _several("regions", [region for member in members for region in member.regions])
    team = address.value("team")
    known = team if team in {member.team for member in members} else None
    return AccountsFilter(names, regions, known, address.value("search"), status if status in STATUSES else None)


def show_filters(now: AccountsFilter) -> None:
    """One row of inputs."""
    members = data.members()
    for name, value in (("search", now.search or ""), ("status", now.status), ("team", now.team)):
        address.shown(name, value)
    address.shown(PARAMETER, list(now.accounts))
    address.shown("regions", list(now.regions))
    with st.container(horizontal=True, gap="small"):
        st.text_input(
            "Search",
            placeholder="Part of a job's name",
            icon=":material/search:",
            label_visibility="collapsed",
            width=240,
            **address.bound("search"),
        )
        show_status()
        names = [member.name for member in members]
        _multiple(PARAMETER, "Accounts", names, "All accounts", ALL)
        _multiple(
            "regions", "Regions", _unique(region for member in members for region in member.regions), "All regions"
        )
        if teams := _unique(member.team for member in members if member.team):
            st.selectbox(
                "Team",
                teams,
                index=None,
                placeholder="Any team",
                label_visibility="collapsed",
                width=150,
                **address.bound("team"),
            )
        if not now.is_any:
            show_clear(clear, "clear-account-filters")


def clear() -> None:
    """All jobs of all accounts."""
    for name in _NAMES:
        address.keep(name, None)
    address.keep(PARAMETER, ALL)


def _multiple(name: str, label: str, options: Sequence[str], by_itself: str, otherwise: str | None = None) -> None:
    st.multiselect(
        label,
        options,
        placeholder=by_itself,
        label_visibility="collapsed",
        width=210,
        **address.bound(name, lambda chosen: ",".join(chosen) or otherwise),
    )


def _several(name: str, known: Sequence[str]) -> tuple[str, ...]:
    given = (address.value(name) or "").split(",")
    return tuple(dict.fromkeys(each for each in given if each in known))


def _unique(names: object) -> list[str]:
    return list(dict.fromkeys(names))  # type: ignore[call-overload]
