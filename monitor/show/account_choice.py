"""Which account does this visitor look at? Region and profile are chosen in the sidebar; the address contains them
and the account's number, so that a link shows the same to whoever opens it, or says why it cannot."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from monitor.show import address, clock, data, visitor
from monitor.show.trouble import calm, plain

_LEFT_OUT = "profile-left-out"


def chosen() -> data.Account:
    """The account that the address names; nobody else's choice changes it."""
    member = address.value("member")
    if member is not None and data.members():
        return data.Account(address.value("region"), None, member)
    if member is not None:
        st.session_state[_LEFT_OUT] = f"account **{plain(member)}**"
        address.keep("member", None)
    profile = address.value("profile")
    if visitor.is_one_profile():
        # A word in an address must not reach other accounts with the keys of whoever started this.
        if profile is not None and profile != data.known_places().profile:
            st.session_state[_LEFT_OUT] = f"profile **{plain(profile)}**"
        address.keep("profile", None)
        return data.account_of(address.value("region"), None)
    if profile and address.value("account") and profile not in data.known_places().profiles:
        # A profile is a name on the machine of whoever made the link: the account's number tells whether it is the same.
        address.keep("profile", None)
        profile = None
    return data.account_of(address.value("region"), profile)


def complete(account: data.Account) -> None:
    """Writes into the address which account is looked at, as far as that is known."""
    place = data.place(account)
    address.complete(region=place.region, account=place.account_number)


def show_other(account: data.Account, page: st.Page) -> bool:
    """Whether the link is of another account than that of the credentials in use; says so, with the ways out."""
    named = address.value("account")
    if named is None or data.place(account).archive:
        return False
    own = data.signed_in_to(account)
    if own is None or own == named:
        return False
    known = {} if visitor.is_one_profile() else data.known_places().accounts
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


def show_choice(account: data.Account) -> None:
    """The sidebar: account and clock, or the archive that is shown instead of an account."""
    with st.sidebar:
        place = data.place(account)
        if place.archive:
            st.markdown("**Archive**")
            st.code(place.archive, language=None, wrap_lines=True)
            st.caption("These jobs were archived; no AWS account is asked. It was chosen with `--archive` at startup.")
            clock.show_choice()
            return
        found = data.known_places()
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
            by_itself, found = found, data.known_places(profile)
            _choice(
                "profile",
                "AWS profile",
                by_itself.profiles,
                by_itself.profile or "none is set",
                "Whose credentials are used. Without a profile: the AWS_* variables, or the role of the machine. Profiles are "
                "set up in ~/.aws/config on the machine that runs this dashboard.",
            )
        _choice("region", "Region", found.regions, found.region or "none is set", "Where the training jobs run.")
        clock.show_choice()
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
