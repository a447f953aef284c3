"""Which accounts and regions does the Jobs page show together? Filters that the address holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from monitor.accounts import AccountRegion
from monitor.review.across import Placed
from monitor.show import address, data
from monitor.show.jobs.query import STATUSES, show_clear, show_status

#: The parameter that turns one account's list into that of several; this value is all of them.
PARAMETER, ALL = "accounts", "all"
_NAMES = ("search", "status", "regions", "team")


@dataclass(frozen=True, slots=True)
class AskedAccounts:
    """What the address says; an empty filter lets all pass."""

    accounts: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    team: str | None = None
    search: str | None = None
    status: str | None = None

    @property
    def is_any(self) -> bool:
        return self == AskedAccounts()

    def takes(self, where: AccountRegion) -> bool:
        return (
            (not self.accounts or where.account.name in self.accounts)
            and (not self.regions or where.region in self.regions)
            and (self.team is None or where.account.team == self.team)
        )

    def takes_job(self, row: Placed) -> bool:
        return (not self.status or row.job.status == self.status) and (self.search or "") in row.job.name


def is_asked() -> bool:
    """Whether several accounts are to be shown, and there are some that this visitor may see."""
    return address.value(PARAMETER) is not None and bool(data.members())


def asked() -> AskedAccounts:
    """What the address asks for; names that mean nothing are left out."""
    members, status = data.members(), address.value("status")
    names = _several(PARAMETER, [member.name for member in members])
    regions = _several("regions", [region for member in members for region in member.regions])
    team = address.value("team")
    known = team if team in {member.team for member in members} else None
    return AskedAccounts(names, regions, known, address.value("search"), status if status in STATUSES else None)


def show_filters(now: AskedAccounts) -> None:
    """One row of inputs."""
    members = data.members()
    for name, chosen in (("search", now.search or ""), ("status", now.status), ("team", now.team)):
        address.shown(name, chosen)
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
