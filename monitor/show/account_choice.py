"""Which account does this visitor look at? Profile and region, chosen in the sidebar and kept in the address."""

from __future__ import annotations

import streamlit as st

from monitor.show import address, data
from monitor.show.plain import plain


def show_choice(account: data.Account) -> None:
    """The sidebar: two choices, or the archive that is shown instead of an account."""
    with st.sidebar:
        place = data.place(account)
        if place.archive:
            st.markdown("**Archive**")
            st.code(place.archive, language=None, wrap_lines=True)
            st.caption("These jobs were archived; no AWS account is asked. `--archive` chose it at the start.")
            return
        profile = address.value("profile")
        by_itself, found = data.known_places(), data.known_places(profile)
        _choice(
            "profile",
            "AWS profile",
            by_itself.profiles,
            by_itself.profile or "none is named",
            "Whose credentials are used; without one those of the AWS_* variables or of the machine's role. Profiles are set "
            "up in ~/.aws/config of the machine that runs this dashboard.",
        )
        _choice("region", "Region", found.regions, found.region or "none is set", "Where the training jobs run.")
        st.caption("Both stand in the address: a link shows the same account to whoever opens it.")


def _choice(name: str, label: str, options: tuple[str, ...], by_itself: str, why: str) -> None:
    chosen = address.value(name)
    address.shown(name, chosen)
    st.selectbox(
        label,
        options if chosen is None or chosen in options else (chosen, *options),
        index=None,
        # A link may name one that this machine does not know.
        accept_new_options=True,
        placeholder=by_itself,
        help=plain(why),
        **address.bound(name, lambda chosen: (chosen or "").strip() or None),
    )
