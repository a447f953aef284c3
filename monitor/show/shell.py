"""The frame around every page: navigation, title, the banner of the demo, and the account that this visitor looks at: region and
profile, chosen in the sidebar, with the account's number in the address.

``app.py`` runs it, pages enter it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import tzinfo
from pathlib import Path

import streamlit as st

from monitor.settings import SAMPLE_SHOWN
from monitor.show import address, data, visitor
from monitor.show.trouble import calm, log_the_rest, plain, show_failed_callbacks, whole

_LEFT_OUT = "profile-left-out"


def chosen() -> data.AccountChoice:
    """The account that the address names; nobody else's choice changes it."""
    member = address.value("member")
    if member is not None and data.members():
        return data.AccountChoice(address.value("region"), None, member)
    if member is not None:
        st.session_state[_LEFT_OUT] = f"account **{plain(member)}**"
        address.keep("member", None)
    profile = address.value("profile")
    if visitor.is_one_profile():
        # A word in an address must not reach other accounts with the keys of whoever started this.
        if profile is not None and profile != data.local_profiles().profile:
            st.session_state[_LEFT_OUT] = f"profile **{plain(profile)}**"
        address.keep("profile", None)
        return data.account_of(address.value("region"), None)
    if profile and address.value("account") and profile not in data.local_profiles().profiles:
        # A profile is a name on the machine of whoever made the link: the account's number tells whether it is the same.
        address.keep("profile", None)
        profile = None
    return data.account_of(address.value("region"), profile)


def complete(account: data.AccountChoice) -> None:
    """Writes into the address which account is looked at, as far as that is known."""
    place = data.origin(account)
    address.complete(region=place.region, account=place.account_number)


def show_other(account: data.AccountChoice, page: st.Page) -> bool:
    """Whether the link is of another account than that of the credentials in use; says so, with the ways out."""
    named = address.value("account")
    if named is None or data.origin(account).archive:
        return False
    own = data.signed_in_to(account)
    if own is None or own == named:
        return False
    known = {} if visitor.is_one_profile() else data.local_profiles().accounts
    profiles = [name for name, number in known.items() if number == named]
    members = [member.name for member in data.members() if member.number == named]
    said = f"This link is for account {named}; you are signed in to {own}."
    if members:
        said = f"{said} The settings file has it as {', '.join(members)}."
    elif visitor.is_one_profile():
        said = f"This link is for account {named}; this dashboard serves account {own} alone."
    else:
        way = "Open it with a profile of that account" if profiles else f"Sign in to {named}, or choose its profile"
        said = f"{said} {way} in the sidebar, top left."
    st.error(
        plain(said),
        title="A link to another account",
        icon=":material/error:",
    )
    with st.container(horizontal=True):
        for name in members:
            to = {**st.query_params.to_dict(), **address.to(member=name, profile=None)}
            st.page_link(page, label=f"Open it in {plain(name)}", icon=":material/hub:", query_params=to)
        for name in profiles:
            to = {**st.query_params.to_dict(), **address.to(profile=name)}
            st.page_link(page, label=f"Use profile {plain(name)}", icon=":material/key:", query_params=to)
        st.button(
            f"Look in account {plain(own)} instead",
            icon=":material/swap_horiz:",
            key="look-in-own-account",
            on_click=calm("Changing the account", address.keep),
            args=("account", None),
        )
    return True


def show_left_out() -> None:
    """Says once that a link's profile is not used here."""
    if (named := st.session_state.pop(_LEFT_OUT, None)) is not None:
        st.warning(
            f"The link names the {named}; this dashboard serves one profile alone, and shows that.",
            icon=":material/key_off:",
        )


def show_choice(account: data.AccountChoice) -> None:
    """The sidebar: account and clock, or the archive that is shown instead of an account."""
    with st.sidebar:
        place = data.origin(account)
        if place.archive:
            st.markdown("**Archive**")
            st.code(place.archive, language=None, wrap_lines=True)
            st.caption("These jobs were archived; no AWS account is asked. It was chosen with `--archive` at startup.")
            address.show_choice()
            return
        found = data.local_profiles()
        if members := data.members():
            _choice(
                "member",
                "Account",
                tuple(member.name for member in members),
                "as configured for boto3",
                "The accounts of the settings file. The page Jobs shows all of them together.",
            )
        if account.member:
            regions = tuple(region for member in members if member.name == account.member for region in member.regions)
            found = replace(found, regions=regions, region=next(iter(regions), None))
        elif not visitor.is_one_profile():
            profile = address.value("profile")
            by_itself, found = found, data.local_profiles(profile)
            _choice(
                "profile",
                "AWS profile",
                by_itself.profiles,
                by_itself.profile or "none is set",
                "Whose credentials are used. Without a profile: the AWS_* variables, or the role of the machine. Profiles are "
                "set up in ~/.aws/config on the machine that runs this dashboard.",
            )
        _choice("region", "Region", found.regions, found.region or "none is set", "Where the training jobs run.")
        address.show_choice()
        st.caption("The address contains all of these: a link shows the same account to everyone who opens it.")


def _choice(name: str, label: str, options: tuple[str, ...], by_itself: str, why: str) -> None:
    chosen = address.value(name)
    address.shown(name, chosen)
    keep = address.bound(name, lambda chosen: (chosen or "").strip() or None)

    def change() -> None:
        if name in {"profile", "member"}:
            # Another profile may be of another account.
            address.keep("account", None)
        if name == "member":
            address.keep("region", None)
            address.keep("profile", None)
        keep["on_change"]()

    st.selectbox(
        label,
        options if chosen is None or chosen in options else (chosen, *options),
        index=None,
        # A link may name one that this machine does not know.
        accept_new_options=True,
        placeholder=by_itself,
        help=plain(why),
        key=keep["key"],
        on_change=calm(f"Choosing the {name}", change),
    )


COMPARE_PAGE = "pages/compare.py"
FLEET_PAGE = "pages/fleet.py"
JOB_PAGE = "pages/job.py"
JOBS_PAGE = "pages/jobs.py"
LOGS_PAGE = "pages/logs.py"
PLAN_PAGE = "pages/plan.py"
THRESHOLDS_PAGE = "pages/thresholds.py"
#: Title, icon and what it is for, in the order of the navigation.
_PAGES: Mapping[str, tuple[str, str, str]] = {
    JOBS_PAGE: ("Jobs", "list_alt", "All training jobs of the account, those that need attention first."),
    JOB_PAGE: ("Job", "monitoring", "One training job: the verdict, what to change, and the figures behind it."),
    LOGS_PAGE: ("Logs", "article", "Log lines of all nodes in order of time, with what was recognized in each line."),
    COMPARE_PAGE: (
        "Compare",
        "compare_arrows",
        "Two or more jobs: what differs, which is faster and how certain that is, and whether a prediction held.",
    ),
    PLAN_PAGE: (
        "Plan",
        "tune",
        "What another configuration would do to step time and GPU memory, before you pay for it.",
    ),
    FLEET_PAGE: (
        "Fleet",
        "stacked_bar_chart",
        "Where the GPU-hours of all archived jobs went: waste by team and cause, week by week, down to the jobs.",
    ),
    THRESHOLDS_PAGE: (
        "Thresholds",
        "notifications",
        "Alert conditions: which jobs cross them now, and what they would have said about past jobs.",
    ),
}
#: The parameters of the address that a page finds as it was left; the account's belong to all.
_OWN: dict[str, tuple[str, ...]] = {
    "": ("search", "status", "instance", "tag", "created", "from", "until", "accounts", "regions", "team"),
    "compare": ("jobs",),
    "fleet": ("time", "by", "owner", "use"),
    "job": ("job", "from", "until", "last", "loss"),
    "thresholds": ("when",),
}
_NAME = re.compile(r"[A-Za-z0-9-]+")
# A file of ours: a Material icon as the tab's icon would be loaded from a font service.
_MARK = str(Path(__file__).with_name("mark.svg"))


@dataclass(frozen=True, slots=True)
class Visit:
    """Who looks: the account they look at, and the time zone that they read."""

    account: data.AccountChoice
    zone: tzinfo


def run() -> None:
    """Draws the frame and, in it, the page that was asked for."""
    log_the_rest()
    # Pages on top and the sidebar closed: a table of jobs needs the width.
    st.set_page_config(page_title="Trainwatch", page_icon=_MARK, layout="wide", initial_sidebar_state="collapsed")
    page = st.navigation(_pages(), position="top")
    address.arrive(page.url_path, _OWN.get(page.url_path, ()), {name for own in _OWN.values() for name in own})
    st.logo(_MARK, size="large")
    if os.environ.get(SAMPLE_SHOWN) == "1":
        st.info(
            "**Simulated sample account: these jobs never ran.** Their metrics and logs are made up; nothing here contacts AWS.",
            icon=":material/science:",
        )
    account = chosen()
    # Nothing in the address of all accounts is about one of them.
    is_of_one = page.url_path != "" or address.value("accounts") is None or not data.members()
    if is_of_one:
        complete(account)
    show_choice(account)
    show_left_out()
    if page.url_path != "plan":  # what a plan starts "from" is no time
        address.show_left_out(st.query_params.to_dict())
    _title((address.value("job") if page.url_path == "job" else None) or page.title, account if is_of_one else None)
    show_failed_callbacks(page.url_path)
    if is_of_one and show_other(account, page):
        return
    st.session_state.framed = True
    try:
        whole("This page", page.run, None)
    finally:
        st.session_state.framed = False
    # What the page was answered names the account.
    if is_of_one:
        complete(account)


def enter() -> Visit:
    """The first line of every page.

    A deep link to a fresh server runs the page's file alone; this starts again through ``app.py``, framed.
    """
    if not st.session_state.get("framed"):
        # Without it the browser takes the page's own icon for the tab's, and asks a font service for it.
        st.set_page_config(page_icon=_MARK)
        st.navigation(_pages(), position="top")
        st.rerun()
    return Visit(chosen(), address.zone())


def _pages() -> list[st.Page]:
    return [
        st.Page(
            page,
            title=title,
            icon=f":material/{icon}:",
            url_path=None if page == JOBS_PAGE else title.lower(),
            default=page == JOBS_PAGE,
            help=help,
        )
        for page, (title, icon, help) in _PAGES.items()
    ]


def show_link(page: str, label: str, to: dict[str, str], help: str | None = None) -> None:
    """A link to a page, with its icon."""
    st.page_link(page, label=label, icon=f":material/{_PAGES[page][1]}:", query_params=to, help=help)


def _title(title: str, account: data.AccountChoice | None) -> None:
    """The page's title, and whose jobs it shows; None for those of all accounts."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.title(_heading(title), anchor=False, width="stretch")
        if account is None:
            st.caption(":material/hub: accounts of the settings file", width="content")
        else:
            _show_origin(account)


def _show_origin(account: data.AccountChoice) -> None:
    place = data.origin(account)
    parts = (place.region or "no region", account.member or account.profile, place.account_number, place.endpoint)
    where = f":material/cloud: {' · '.join(plain(part) for part in parts if part)}"
    if place.archive:
        where = f":material/inventory_2: Archive {plain(place.archive)}"
    can = "region" if visitor.is_one_profile() else "region or profile"
    help = None if place.archive else f"Change {can} in the sidebar, top left."
    st.caption(where, width="content", help=help)


def _heading(text: str) -> str:
    """As Markdown from which a name is copied as it is: two hyphens would be drawn as a dash, but not in code."""
    if not _NAME.fullmatch(text):
        return plain(text)
    return f"`{text}`" if "--" in text else text
